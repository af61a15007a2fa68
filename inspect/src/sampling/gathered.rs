//! What a sampler has seen so far, and keeps within bounds.

use crate::sampling::answer::{Answering, Folded, Names};
use crate::sampling::namer::Namer;
use crate::sampling::path::{Modules, Step};
use crate::sampling::paths::{PATHS_MAX, Paths, Seen};
use invivo_proto::control::profile::Sampled;

/// What was seen so far.
pub struct Gathered {
    /// Files that paths go through.
    pub modules: Modules,
    namer: Namer,
    paths: Paths,
    folded: Folded,
    all: Seen,
    lost: u64,
}

impl Gathered {
    /// Nothing yet. A thread is started, which looks for names.
    pub fn new() -> Gathered {
        Gathered {
            modules: Modules::default(),
            namer: Namer::start(),
            paths: Paths::default(),
            folded: Folded::default(),
            all: Seen::default(),
            lost: 0,
        }
    }

    /// What is needed to name it.
    pub fn names(&self) -> Names<'_> {
        Names {
            namer: &self.namer,
            modules: &self.modules,
        }
    }

    /// Adds a sample that stands for so many ns.
    pub fn add(&mut self, path: &[Step], ns: u64) {
        let seen = Seen { samples: 1, ns };
        self.all.add(seen);
        if !self.paths.add(path, seen) {
            return;
        }
        self.want(path);
        if self.paths.is_full() || self.namer.is_full() {
            self.make_room();
        }
    }

    /// Asks for the names of a path.
    fn want(&mut self, path: &[Step]) {
        for step in path {
            if let Step::Code { module, offset } = *step
                && let Some(file) = self.modules.get(module)
            {
                self.namer.want((module, offset), file);
            }
        }
    }

    fn make_room(&mut self) {
        if self.folded.is_full() {
            self.paths.shorten(PATHS_MAX / 2);
        } else {
            let paths = self.paths.take();
            let mut folded = std::mem::take(&mut self.folded);
            let added = folded.add(&paths, &self.names());
            self.folded = folded;
            for (path, seen) in &paths[added..] {
                self.paths.add(path, *seen);
            }
            if added < paths.len() {
                self.paths.shorten(PATHS_MAX / 2);
            }
        }
        if self.namer.is_full() {
            self.namer.clear();
            // Those that stay are named again.
            for (path, _) in self.paths.all() {
                self.want(&path);
            }
        }
    }

    /// Adds samples that were lost.
    pub fn add_lost(&mut self, lost: u64) {
        self.lost = self.lost.saturating_add(lost);
    }

    /// How often the rank was interrupted: for samples, and for those that were lost.
    pub fn taken(&self) -> u64 {
        self.all.samples.saturating_add(self.lost)
    }

    /// Begins an answer of all that was seen, with what is known of the sampling.
    pub fn answering(&self, profile: u32, sampling: Sampled) -> Answering {
        let seen = Sampled {
            samples: self.all.samples,
            lost: self.lost,
            cpu_ns: self.all.ns,
            ..sampling
        };
        Answering::new(profile, seen, self.folded.clone(), self.paths.all())
    }
}
