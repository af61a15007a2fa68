//! Saves what was recorded before `MPI_Abort` ends the job.

use super::fault;
use super::supervisor;
use crate::clock::ticks;
use crate::limits::ABORT_WAIT_NS;
use crate::process;
use crate::record::location::Here;
use crate::record::thread_location;
use crate::registers::Registers;
use core::ffi::c_int;
use core::sync::atomic::Ordering;
use invivo_proto::channel::ABORTING;
use invivo_proto::mpi::ABORT;
use invivo_proto::shm::{inside, phase};

/// Reports to the supervisor that `MPI_Abort` was called, and waits until the place has taken what
/// there is.
///
/// `MPI_Abort` may kill every process of the job before any of them can do anything (MPICH's
/// launcher does), so this comes first. It makes only system calls that a signal handler may make:
/// programs abort in them.
pub fn aborting(code: c_int) {
    let Some(page) = process::page().filter(|_| process::observing()) else {
        return;
    };
    page.abort_code.store(code as u32, Ordering::Relaxed);

    // Within a callback the call around it stays the one that the thread is in.
    let is_outside =
        |here: &Here| here.status.inside.load(Ordering::Relaxed) == inside::APPLICATION;
    if let Some(here) = thread_location::known().filter(is_outside) {
        here.status.entered_at.store(ticks(), Ordering::Relaxed);
        here.status
            .region
            .store(u32::from(ABORT.0), Ordering::Relaxed);
    }

    // Of two threads that abort, or one that faults meanwhile, one is followed.
    fault::note(page, 0, 0, 0, Registers::here());

    // Behind the stores above: who sees the phase reads them.
    page.phase.store(phase::ABORTING, Ordering::Release);
    if supervisor::send(ABORTING) {
        supervisor::wait_for_answer(ABORT_WAIT_NS);
    }
}
