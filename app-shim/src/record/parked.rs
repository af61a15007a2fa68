//! Locations whose threads have ended, for the threads that come.
//!
//! A program that starts a thread per task has few at once and thousands in all: each takes the
//! location of one that has ended, and goes on in its packet. A record says where the next thread's
//! calls begin.

use super::location::Here;
use super::packet_pool;
use crate::limits::{LOCATIONS, PARKED_PACKETS_PART};
use crate::process;
use crate::spin_lock::SpinLock;
use core::sync::atomic::{AtomicUsize, Ordering};
use invivo_proto::shm::Region;

static PARKED: SpinLock<Vec<Here>> = SpinLock::new(Vec::new());
/// How many there are, so that threads without a location need not take the lock at each call.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Prepares, once, so that later nothing is allocated.
pub fn start() {
    PARKED.with(|parked| parked.reserve(LOCATIONS));
}

/// Keeps the location of a thread that has ended and makes no calls any more.
pub fn park(mut here: Here) {
    let packets = process::region().map_or(0, Region::packets);
    let open = PARKED.with(|parked| parked.iter().filter(|here| here.packet.is_open()).count());
    // The next thread goes on in the packet; but those that live need some, too.
    if open >= packets / PARKED_PACKETS_PART {
        packet_pool::leave_behind(&mut here);
    }
    // The thread's id may be another's soon.
    here.status.tid.store(0, Ordering::Release);
    PARKED.with(|parked| {
        parked.push(here);
        COUNT.store(parked.len(), Ordering::Relaxed);
    });
}

/// Takes a location, one with an open packet first: fewer packets are in use then.
pub fn take() -> Option<Here> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    PARKED.with(|parked| {
        let with_packet = parked.iter().rposition(|here| here.packet.is_open());
        let at = with_packet.or(parked.len().checked_sub(1))?;
        let here = parked.swap_remove(at);
        COUNT.store(parked.len(), Ordering::Relaxed);
        Some(here)
    })
}

/// Leaves the packets of all of them to the place: somebody needs one, and none is free.
#[cold]
pub fn leave_packets() {
    if COUNT.load(Ordering::Relaxed) != 0 {
        PARKED.with(|parked| {
            parked
                .iter_mut()
                .for_each(|here| packet_pool::leave_behind(here))
        });
    }
}
