//! What a supervisor has of its rank's sampling.

use crate::rank::passed::Passed;
use crate::rank::spent::Cost;
use invivo_inspect::sampling::Sampler;
use invivo_proto::control::profile::NoSamples;
use rustix::event::{PollFd, PollFlags};

/// What of sampling there is.
pub struct RankSampling {
    pub sampler: Option<Sampler>,
    /// Why there is no sampler.
    pub without: NoSamples,
    /// The question that the sampler has not answered whole.
    pub asked: Option<u32>,
    /// A part of its answer could not be passed on.
    pub is_cut: bool,
    /// What of single samples could be.
    pub passed: Passed,
    /// What samplers took which are gone.
    pub spent: Cost,
}

impl Default for RankSampling {
    fn default() -> RankSampling {
        RankSampling {
            sampler: None,
            without: NoSamples::Off,
            asked: None,
            is_cut: false,
            passed: Passed::default(),
            spent: Cost::default(),
        }
    }
}

impl RankSampling {
    /// What all samplers took, and their samples from the rank.
    pub fn cost(&self) -> Cost {
        let Some(sampler) = &self.sampler else {
            return self.spent;
        };
        Cost {
            beside: self.spent.beside + sampler.cpu_time(),
            in_rank: self.spent.in_rank + sampler.in_rank().unwrap_or_default(),
        }
    }

    /// The sampler is of no use any more.
    pub fn discard(&mut self) {
        self.spent = self.cost();
        self.sampler = None;
        self.passed.begin_anew();
    }

    /// What tells that the sampler has something to say.
    pub fn poll_fd(&self) -> Option<PollFd<'_>> {
        let sampler = self.sampler.as_ref()?;
        Some(PollFd::new(sampler, PollFlags::IN))
    }
}
