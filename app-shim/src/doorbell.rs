//! Wakes the tool place, which rests for long while nobody watches, when packets or definitions
//! wait for it.
//!
//! A resting place has put its process into [`Control::bell`](invivo_proto::shm::Control). It is
//! sent `SIGURG`, which processes ignore by default: if the place has died and another process has
//! its number, that one notices nothing. No descriptor is needed, which the program could close.

use crate::process;
use core::sync::atomic::{Ordering, fence};
use invivo_proto::shm::owner;

/// The place is woken when one part in this many of the packets is not free: the others are for
/// what is recorded until it has taken them.
const WAITING_PART: usize = 4;

/// Wakes the place if it rests.
#[cold]
pub fn ring() {
    let Some(page) = process::page() else { return };
    // What it is woken for comes before the look: a place that goes to rest looks for it once more
    // behind its asking to be woken.
    fence(Ordering::SeqCst);
    let bell = &page.control.bell;
    if bell.load(Ordering::Relaxed) == 0 {
        return;
    }
    // Only one of those who wait rings.
    let place = bell.swap(0, Ordering::Relaxed);
    // Anything else is no process: 0 and negative numbers are groups of them.
    if (2..=i32::MAX as u32).contains(&place) {
        // SAFETY: the system call takes two numbers; the thread's own error number is put back, as
        // the application may look at it.
        unsafe {
            let error = libc::__errno_location();
            let before = *error;
            libc::syscall(libc::SYS_kill, place, libc::SIGURG);
            *error = before;
        }
    }
}

/// Wakes the place if it rests and the free packets become few.
pub fn ring_if_short() {
    let (Some(page), Some(region)) = (process::page(), process::region()) else {
        return;
    };
    if page.control.bell.load(Ordering::Relaxed) == 0 {
        return;
    }
    let waits = |index: &usize| {
        let slot = region.slot(*index);
        let owner = slot.map_or(owner::FREE, |slot| slot.owner.load(Ordering::Relaxed));
        matches!(owner, owner::MPI | owner::PLACE)
    };
    let packets = region.packets();
    if (0..packets).filter(waits).count() >= packets.div_ceil(WAITING_PART) {
        ring();
    }
}
