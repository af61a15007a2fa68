//! The gate: where the threads of a paused rank wait, when they enter or leave MPI.
//!
//! It opens by itself when its time is over (the place pushes the time on as long as the root lives
//! and the lease lasts), so that no death on our side keeps a rank here.

use super::location::Location;
use super::overflow;
use crate::clock::monotonic_ns;
use crate::limits::GATE_RECHECK_NS;
use core::sync::atomic::{Ordering, compiler_fence};
use invivo_proto::shm::inside;

/// Waits until the gate is open; `held` says on which side of the call.
#[cold]
#[inline(never)]
pub fn hold(location: &Location, held: u32) {
    let control = location.control;
    // At the leave the poll has counted the thread out of MPI already.
    let is_counted = location.is_overflow && held == inside::HELD_AT_ENTER;
    loop {
        location.status.inside.store(held, Ordering::Release);
        if is_counted {
            overflow::out_of_mpi();
        }
        loop {
            let generation = control.gate.load(Ordering::Acquire);
            let (now, until) = (
                monotonic_ns(),
                control.gate_until_ns.load(Ordering::Acquire),
            );
            if generation == 0 || now >= until {
                break;
            }
            let wait = (until - now).min(GATE_RECHECK_NS);
            let time = libc::timespec {
                tv_sec: (wait / 1_000_000_000) as i64,
                tv_nsec: (wait % 1_000_000_000) as i64,
            };
            // The generation is what the futex compares with: a gate that opens, or opens and
            // closes again, ends the wait. One that ends early, by a signal, is only repeated.
            // SAFETY: the word lies in the shared mapping, which is never unmapped; not the private
            // variant, because the waker is another process.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    control.gate.as_ptr(),
                    libc::FUTEX_WAIT,
                    generation,
                    &time,
                    0,
                    0,
                );
            }
        }
        // A gate that closes from here on finds the thread outside of MPI.
        if held == inside::HELD_AT_LEAVE {
            location
                .status
                .inside
                .store(inside::APPLICATION, Ordering::Release);
            return;
        }
        // On the way in: show that we are in MPI before the gate is read for the last time.
        location.status.inside.store(inside::MPI, Ordering::Relaxed);
        if is_counted {
            overflow::into_mpi();
        }
        compiler_fence(Ordering::SeqCst);
        if control.gate.load(Ordering::Acquire) == 0
            || monotonic_ns() >= control.gate_until_ns.load(Ordering::Acquire)
        {
            return;
        }
    }
}
