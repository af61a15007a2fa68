//! Polls what is on its way: packets over MPI, definitions.

use super::location::Location;
use super::{overflow, send_queue};
use crate::track::definitions;

/// Polls now and then, at the leave of a call: takes back packets that have arrived, and gives
/// waiting definitions another chance.
#[cold]
#[inline(never)]
pub fn poll(location: &Location) {
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
