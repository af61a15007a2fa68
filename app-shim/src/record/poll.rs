//! Polls what is on its way: packets over MPI, definitions.

use super::location::{Location, add};
use super::{overflow, send_queue};
use crate::clock::ticks;
use crate::limits::POLLED_CALLS;
use crate::track::definitions;

impl Location {
    /// What is not done at each leave. `end` is when the real call came back.
    #[cold]
    #[inline(never)]
    pub fn poll(&mut self, end: u64) {
        if core::mem::take(&mut self.is_sampled) {
            add(&self.status.overhead_ticks, self.own + (ticks() - end));
            add(&self.status.overhead_samples, 1);
        }
        self.until_poll = POLLED_CALLS;
        // Whoever looks from outside sees by both whether the thread goes on.
        add(&self.status.polls, 1);
        poll(self);
    }
}

/// Takes back packets that have arrived, and gives waiting definitions another chance.
fn poll(location: &Location) {
    definitions::flush();
    if location.may_call_mpi() {
        send_queue::poll();
    }
    // An overflow thread polls at the leave of each call; see `overflow::enter`.
    if location.is_overflow {
        overflow::out_of_mpi();
    }
}

/// Polls for a thread that needs a packet.
pub fn poll_for_packet(location: &Location) {
    definitions::flush();
    if location.may_call_mpi() {
        send_queue::take_back();
    }
}
