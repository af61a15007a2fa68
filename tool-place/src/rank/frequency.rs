//! Halves a thread's sampling frequency when its buffer gives up every second sample.
//!
//! ```text
//! buffer gives up a level -> `halvings` in the location's status page
//!     -> the thread reads it at one of its next calls, and confirms it in `halvings_known`
//!     -> its samples come on the coarser grid
//! ```
//!
//! The notice is a state and not a step, so it may be written twice or missed in between. It goes
//! through shared memory because a rank that computes has to get it, too. Until it is confirmed,
//! samples of a closed level are given up and counted: what is kept does not depend on the delay.

use super::RankRecords;
use invivo_proto::shm::Status;
use std::sync::atomic::Ordering;

/// More halvings than a number of samples has bits mean nothing.
const HALVINGS_MAX: u32 = 63;

impl RankRecords {
    /// Writes a new number of halvings to a thread's status page.
    pub(super) fn tell_frequency(&self, thread: usize) {
        let Some(status) = self.page_of(thread) else {
            return;
        };
        let halvings = self.locations[thread].store.halvings().unwrap_or(0);
        // Written only on a change: the thread's cache line is left alone otherwise.
        if status.halvings.load(Ordering::Relaxed) != halvings {
            status.halvings.store(halvings, Ordering::Release);
        }
    }

    /// Passes the confirmed halvings on to the producer of the thread's samples.
    pub(super) fn hear_frequency(&mut self, thread: usize) {
        let known = self.halvings_known(thread);
        self.locations[thread].store.hear(known);
    }

    /// The halvings that those have confirmed who take a thread's samples; 0 without its memory.
    pub(super) fn halvings_known(&self, thread: usize) -> u32 {
        if let Some(halvings) = self.samples.halvings {
            return halvings.min(HALVINGS_MAX);
        }
        let known = self
            .page_of(thread)
            .map(|status| status.halvings_known.load(Ordering::Acquire));
        known.unwrap_or(0).min(HALVINGS_MAX)
    }

    /// How often its samples are to be halved: as the buffer wants it that holds the most.
    pub fn halvings_wanted(&self) -> u32 {
        let wanted = self.locations.iter().filter_map(|one| one.store.halvings());
        wanted.max().unwrap_or(0)
    }

    fn page_of(&self, thread: usize) -> Option<&Status> {
        self.memory.as_ref()?.page().status.get(thread)
    }
}
