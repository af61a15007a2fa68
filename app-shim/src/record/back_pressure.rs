//! What a thread does that needs a packet while none is free: wait within bounds, then drop.
//!
//! The pool is the memory bound, so something has to give. Unless another policy was asked for the
//! record waits, but never long: at most [`BACK_PRESSURE_WAIT_MAX_NS`] at a time and one part in
//! [`BACK_PRESSURE_WAIT_PART`] of the run in all; then records are dropped and counted until a
//! packet comes back.

use super::location::Location;
use super::{packet_pool, parked, poll, send_queue};
use crate::clock::{monotonic_ns, sleep_us};
use crate::doorbell;
use crate::limits::{BACK_PRESSURE_WAIT_MAX_NS, BACK_PRESSURE_WAIT_PART, PACKET_POLL_US};
use crate::track::definitions;
use core::sync::atomic::{AtomicU64, Ordering};
use invivo_proto::shm::{back_pressure, recording};

/// Time waited for packets so far, over all threads, in ns.
static WAITED_NS: AtomicU64 = AtomicU64::new(0);

/// Closes the location's packet, if it has one, and opens the next, whose times begin at
/// `base_time`. False where none can be had now. For a thread that is in a call of MPI.
#[cold]
#[inline(never)]
pub fn next_packet(location: &mut Location, base_time: u64) -> bool {
    if location.is_overflow {
        return false;
    }
    packet_pool::close(location);
    if packet_pool::open(location, base_time) {
        return true;
    }
    parked::leave_packets();
    let started = monotonic_ns();
    let left = match location.control.back_pressure.load(Ordering::Relaxed) {
        back_pressure::DROP => 0,
        back_pressure::BLOCK => u64::MAX,
        _ => {
            let budget = (started - send_queue::started_ns()) / BACK_PRESSURE_WAIT_PART;
            let waited = WAITED_NS.load(Ordering::Relaxed);
            budget.saturating_sub(waited).min(BACK_PRESSURE_WAIT_MAX_NS)
        }
    };

    // Waiting in small sleeps: a spinning rank would take the processor from the place.
    let mut opened = false;
    let mut waited = 0;
    // Nobody takes packets once recording is off, nor when the measurement was shut down.
    while !opened
        && waited < left
        && recording::is_on(location.control.recording.load(Ordering::Relaxed))
    {
        // Each time: it may have gone to rest again.
        doorbell::ring();
        sleep_us(PACKET_POLL_US);
        poll::poll_for_packet(location);
        opened = packet_pool::open(location, base_time);
        waited = monotonic_ns() - started;
    }
    if waited != 0 {
        WAITED_NS.fetch_add(waited, Ordering::Relaxed);
    }
    opened
}

/// The same for a thread that is not in MPI, which regions need: nothing is sent, the packet is
/// left to the place, and calls find some free ones. Only where nothing is to be dropped it waits,
/// and not for long.
#[cold]
#[inline(never)]
pub fn next_packet_outside(location: &mut Location, base_time: u64) -> bool {
    if location.is_overflow {
        return false;
    }
    let policy = location.control.back_pressure.load(Ordering::Relaxed);
    let started = monotonic_ns();
    loop {
        if packet_pool::has_to_spare() {
            packet_pool::leave_behind(location);
            if packet_pool::open(location, base_time) {
                return true;
            }
        }
        doorbell::ring();
        let waited = monotonic_ns() - started;
        if policy != back_pressure::BLOCK || waited >= BACK_PRESSURE_WAIT_MAX_NS {
            return false;
        }
        sleep_us(PACKET_POLL_US);
        definitions::flush();
    }
}
