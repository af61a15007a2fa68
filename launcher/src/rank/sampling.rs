//! What a supervisor has of its rank's sampling.

use invivo_inspect::sampling::Sampler;
use invivo_proto::control::profile::NoSamples;
use rustix::event::{PollFd, PollFlags};
use std::time::Duration;

/// What of sampling there is.
pub struct Sampling {
    pub sampler: Option<Sampler>,
    /// Why there is no sampler.
    pub without: NoSamples,
    /// The question that the sampler has not answered whole.
    pub asked: Option<u32>,
    /// A part of its answer could not be passed on.
    pub is_cut: bool,
    /// Time on a processor that samplers took which are gone.
    pub spent: Duration,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            sampler: None,
            without: NoSamples::Off,
            asked: None,
            is_cut: false,
            spent: Duration::ZERO,
        }
    }
}

impl Sampling {
    /// Time on a processor that all samplers took.
    pub fn cost(&self) -> Duration {
        let now = self.sampler.as_ref().map(Sampler::cpu_time);
        self.spent + now.unwrap_or_default()
    }

    /// The sampler is of no use any more.
    pub fn discard(&mut self) {
        self.spent = self.cost();
        self.sampler = None;
    }

    /// What tells that the sampler has something to say.
    pub fn poll_fd(&self) -> Option<PollFd<'_>> {
        let sampler = self.sampler.as_ref()?;
        Some(PollFd::new(sampler, PollFlags::IN))
    }
}
