//! Where the ranks are. Each supervisor tells its rank's paths as addresses in files; ranks run the
//! same program, so most addresses are those of others. The place remembers what is at them and
//! asks for each new one once, of the supervisor of a rank that was there: it has the program's
//! files before it, and reads their tables for the whole node. So a question costs each node one
//! reading of the symbols, in a tool process, and the answer that climbs holds functions.
//!
//! ```text
//! Query -> Walk to each supervisor -> UnwoundThread of each thread -> Name what is new -> Named -> the answer
//! ```
//!
//! Who does not answer in time is told as silent; a name that comes too late is in the next answer.

use super::{Life, Now, Place};
use invivo_analysis::stacks::{self as analysis, Path, Thread};
use invivo_proto::control::local::{
    Module, Named, OFFSETS_MAX, Step, THREADS_MAX, ToSupervisor, UnwoundThread,
};
use invivo_proto::control::stacks::{Chosen, Frame, Stacks, UnstoppedReason};
use invivo_proto::control::tree::{Partial, Up};
use invivo_proto::ids::{Rank, WaveId};
use invivo_tbon::node::Input;
use std::collections::{BTreeMap, BTreeSet};

/// How long paths are waited for: a supervisor begins with no thread after three quarters of it,
/// and mostly has one within a tenth of a millisecond.
const PATHS_NS: u64 = 400_000_000;
/// How long the whole may take: well below what a wave may. Reading the tables of a large program
/// takes longer, once.
const PATIENCE_NS: u64 = 750_000_000;
/// Addresses whose names are kept, about 2 MB: a job is at some hundred places.
const NAMES_MAX: usize = 8192;

/// Addresses of files, by the files' numbers here.
type Address = (usize, u64);

/// Questions that wait for supervisors, and names so far.
#[derive(Default)]
pub(super) struct Walks {
    last: u32,
    under_way: Vec<Walk>,
    modules: Vec<Module>,
    names: BTreeMap<Address, Vec<Named>>,
    /// Asked for, so that nobody brings names that nobody wants.
    wanted: BTreeSet<Address>,
}

struct Walk {
    id: u32,
    wave: WaveId,
    begun_ns: u64,
    awaited: BTreeSet<Rank>,
    seen: BTreeMap<Rank, Seen>,
    /// Addresses whose names are to come; nothing until all paths are there.
    unnamed: Option<BTreeSet<Address>>,
}

/// What a supervisor has told so far.
#[derive(Default)]
struct Seen {
    threads: Vec<UnwoundThread>,
    /// Threads that are to come.
    rest: u32,
}

impl Place {
    /// Begins to answer where ranks are.
    pub(super) fn look_at_stacks(
        &mut self,
        now: Now,
        wave: WaveId,
        chosen: Chosen,
        threads: bool,
    ) -> Option<Up> {
        self.walks.last = self.walks.last.wrapping_add(1);
        let mut walk = Walk {
            id: self.walks.last,
            wave,
            begun_ns: now.ns,
            awaited: BTreeSet::new(),
            seen: BTreeMap::new(),
            unnamed: None,
        };
        for index in 0..self.ranks.len() {
            let rank = Rank(self.first + index as u32);
            if !chosen.holds(rank) {
                continue;
            }
            let is_over = self.ranks[index].ended.is_some();
            if !is_over
                && self.tell(
                    rank,
                    &ToSupervisor::Unwind {
                        unwinding: walk.id,
                        threads,
                    },
                )
            {
                walk.awaited.insert(rank);
                continue;
            }
            let why = match self.ranks[index].life {
                _ if is_over => UnstoppedReason::Ended,
                Life::Absent => UnstoppedReason::Starting,
                Life::Finished => UnstoppedReason::Ended,
                Life::Alive | Life::Ending => UnstoppedReason::Silent,
            };
            let threads = vec![UnwoundThread::unknown(why)];
            walk.seen.insert(rank, Seen { threads, rest: 0 });
        }
        if walk.awaited.is_empty() {
            return Some(self.stacks(now, walk));
        }
        self.walks.under_way.push(walk);
        None
    }

    /// A supervisor has seen a thread.
    pub(super) fn walked(
        &mut self,
        now: Now,
        rank: Rank,
        id: u32,
        walked: UnwoundThread,
        rest: u32,
    ) {
        let Some(walk) = self.walks.under_way.iter_mut().find(|walk| walk.id == id) else {
            return;
        };
        if !walk.awaited.contains(&rank) {
            return;
        }
        let seen = walk.seen.entry(rank).or_default();
        if seen.threads.len() < THREADS_MAX {
            seen.threads.push(walked);
        }
        seen.rest = rest;
        if rest == 0 {
            walk.awaited.remove(&rank);
        }
        self.answer_walks(now);
    }

    /// A supervisor knows what is at these addresses.
    pub(super) fn named(&mut self, now: Now, module: &Module, named: Vec<(u64, Vec<Named>)>) {
        let walks = &mut self.walks;
        let Some(of) = walks.modules.iter().position(|known| known == module) else {
            return;
        };
        for (offset, functions) in named {
            let address = (of, offset);
            if walks.wanted.remove(&address) {
                walks.names.insert(address, functions);
            }
        }
        self.answer_walks(now);
    }

    /// Answers what is complete or has waited for long enough.
    pub(super) fn answer_walks(&mut self, now: Now) {
        let mut waiting = std::mem::take(&mut self.walks.under_way);
        for walk in &mut waiting {
            let age_ns = now.ns.saturating_sub(walk.begun_ns);
            if walk.unnamed.is_none() && (walk.awaited.is_empty() || age_ns >= PATHS_NS) {
                let unnamed = self.ask_names(&walk.seen);
                walk.unnamed = Some(unnamed);
            }
        }
        let names = &self.walks.names;
        let is_due = |walk: &mut Walk| {
            let is_named = |unnamed: &BTreeSet<Address>| {
                unnamed.iter().all(|address| names.contains_key(address))
            };
            walk.unnamed.as_ref().is_some_and(is_named)
                || now.ns.saturating_sub(walk.begun_ns) >= PATIENCE_NS
        };
        let due: Vec<Walk> = waiting.extract_if(.., is_due).collect();
        waiting.append(&mut self.walks.under_way);
        self.walks.under_way = waiting;
        for walk in due {
            let answer = self.stacks(now, walk);
            self.run(now, Input::Local(answer));
        }
    }

    /// Asks for the names of addresses that nobody has had yet; says which these are.
    fn ask_names(&mut self, seen: &BTreeMap<Rank, Seen>) -> BTreeSet<Address> {
        let walks = &mut self.walks;
        if walks.names.len() + walks.wanted.len() > NAMES_MAX {
            (walks.modules, walks.names, walks.wanted) = Default::default();
        }
        // Which rank was at each of them: the lowest.
        let mut new: BTreeMap<usize, BTreeMap<u64, Rank>> = BTreeMap::new();
        for (rank, seen) in seen {
            for walked in &seen.threads {
                for step in &walked.path {
                    let Some((module, offset)) = code(walked, *step) else {
                        continue;
                    };
                    let of = walks.number(module);
                    if !walks.names.contains_key(&(of, offset)) {
                        new.entry(of).or_default().entry(offset).or_insert(*rank);
                    }
                }
            }
        }
        let mut asked = BTreeSet::new();
        for (of, offsets) in new {
            let mut by_rank: BTreeMap<Rank, Vec<u64>> = BTreeMap::new();
            for (offset, rank) in offsets {
                by_rank.entry(rank).or_default().push(offset);
            }
            for (rank, offsets) in by_rank {
                for offsets in offsets.chunks(OFFSETS_MAX) {
                    let question = ToSupervisor::Name {
                        module: self.walks.modules[of].clone(),
                        offsets: offsets.to_vec(),
                    };
                    if self.tell(rank, &question) {
                        asked.extend(offsets.iter().map(|offset| (of, *offset)));
                    }
                }
            }
        }
        self.walks.wanted.extend(&asked);
        asked
    }

    fn stacks(&mut self, now: Now, walk: Walk) -> Up {
        let mut stacks = Stacks::default();
        for rank in walk.awaited {
            // One that began to answer has answered in part.
            if !walk.seen.contains_key(&rank) {
                analysis::add(
                    &mut stacks,
                    rank,
                    vec![
                        self.walks
                            .thread(UnwoundThread::unknown(UnstoppedReason::Silent)),
                    ],
                    0,
                );
            }
        }
        for (rank, seen) in walk.seen {
            let threads = seen.threads.into_iter();
            let left_out = threads
                .as_slice()
                .iter()
                .map(|walked| u64::from(walked.left_out));
            let left_out = u64::from(seen.rest) + left_out.sum::<u64>();
            let threads = threads.map(|walked| self.walks.thread(walked)).collect();
            analysis::add(&mut stacks, rank, threads, left_out);
        }
        Up::Partial {
            wave: walk.wave,
            partial: Partial::Stacks(Box::new(stacks)),
            coverage: self.coverage(now),
            missing: Vec::new(),
        }
    }
}

/// The file and the address of a step.
fn code(walked: &UnwoundThread, step: Step) -> Option<(&Module, u64)> {
    match step {
        Step::Code { module, offset } => Some((walked.modules.get(usize::from(module))?, offset)),
        Step::Nowhere | Step::LeftOut => None,
    }
}

impl Walks {
    /// The number of a file.
    fn number(&mut self, module: &Module) -> usize {
        let known = self.modules.iter().position(|known| known == module);
        known.unwrap_or_else(|| {
            self.modules.push(module.clone());
            self.modules.len() - 1
        })
    }

    /// What was seen of a thread, with names.
    fn thread(&self, walked: UnwoundThread) -> Thread {
        let mut path = Path::new();
        let mut unnamed = false;
        if !walked.path.is_empty() && !walked.is_whole {
            path.push((Frame::Lost, None));
        }
        for step in walked.path.iter().rev() {
            match (code(&walked, *step), step) {
                (Some((module, offset)), _) => unnamed |= !self.name(module, offset, &mut path),
                (None, Step::LeftOut) => path.push((Frame::LeftOut, None)),
                (None, _) => path.push((function("", ""), None)),
            }
        }
        Thread {
            way: walked.way,
            path,
            stop_ns: walked.stop_ns,
            unnamed,
        }
    }

    /// Adds what is at an address, the outermost first; false where nobody has said it yet.
    fn name(&self, module: &Module, offset: u64, path: &mut Path) -> bool {
        let file = module.path.rsplit('/').next().unwrap_or(&module.path);
        let of = self.modules.iter().position(|known| known == module);
        let named = of.and_then(|of| self.names.get(&(of, offset)));
        let at_least = || (function(file, ""), Some(format!("+{offset:#x}")));
        match named {
            None => path.push(at_least()),
            Some(named) if named.is_empty() => path.push(at_least()),
            Some(named) => path.extend(named.iter().rev().map(|one| {
                let line = Some(one.line.clone()).filter(|line| !line.is_empty());
                let is_known = !one.function.is_empty() || line.is_some();
                let line = line.or_else(|| (!is_known).then(|| format!("+{offset:#x}")));
                (function(file, &one.function), line)
            })),
        }
        named.is_some()
    }
}

fn function(module: &str, name: &str) -> Frame {
    Frame::Function {
        module: module.to_owned(),
        name: name.to_owned(),
    }
}
