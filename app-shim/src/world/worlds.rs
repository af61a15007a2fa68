//! The two worlds: the one of the whole job, and the one of the application's ranks alone.

use crate::family::{Comm, RawHandle};
use crate::resolve::predefined::fortran_number;
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// The application's world as a raw handle, 0 until the split.
static APPLICATION_WORLD: AtomicUsize = AtomicUsize::new(0);
/// The world of the whole job as a raw handle.
static JOB_WORLD: AtomicUsize = AtomicUsize::new(0);
static TOOL_COMM: AtomicUsize = AtomicUsize::new(0);
/// Fortran's numbers of the application's world and of the job's.
static FORTRAN_NUMBERS: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];

/// Both worlds.
#[derive(Clone, Copy)]
pub struct Worlds {
    /// `MPI_COMM_WORLD`, by which the application calls its world; MPI's own has the tool processes
    /// in it, too.
    pub job: Comm,
    /// The application's ranks alone.
    pub application: Comm,
    /// Fortran's number of `job`.
    pub fortran_job: i32,
    /// Fortran's number of `application`.
    pub fortran_application: i32,
}

/// Both worlds, or nothing before the split.
pub fn worlds() -> Option<Worlds> {
    let application = application_world()?;
    Some(Worlds {
        job: Comm(JOB_WORLD.load(Ordering::Relaxed) as RawHandle),
        application,
        fortran_job: FORTRAN_NUMBERS[1].load(Ordering::Relaxed),
        fortran_application: FORTRAN_NUMBERS[0].load(Ordering::Relaxed),
    })
}

/// Keeps the communicators that start-up made.
pub fn set_comms(job: Comm, application: Comm, tool: Comm) {
    for (number, comm) in FORTRAN_NUMBERS.iter().zip([application, job]) {
        number.store(fortran_number(comm), Ordering::Relaxed);
    }
    TOOL_COMM.store(tool.bits() as usize, Ordering::Relaxed);
    APPLICATION_WORLD.store(application.bits() as usize, Ordering::Release);
    // Last: from here on one is replaced by the other.
    JOB_WORLD.store(job.bits() as usize, Ordering::Release);
}

/// The communicator of ranks and places.
pub fn tool_comm() -> Comm {
    Comm(TOOL_COMM.load(Ordering::Relaxed) as RawHandle)
}

/// The application's world, or nothing before the split.
pub fn application_world() -> Option<Comm> {
    match APPLICATION_WORLD.load(Ordering::Relaxed) {
        0 => None,
        raw => Some(Comm(raw as RawHandle)),
    }
}

/// The communicator of the MPI library's call: the application's world for `MPI_COMM_WORLD`, for
/// all others themselves.
#[inline(always)]
pub fn substituted(comm: Comm) -> Comm {
    // Before the split both are 0, and a 0 stays one.
    let application = APPLICATION_WORLD.load(Ordering::Relaxed);
    if comm.bits() as usize == JOB_WORLD.load(Ordering::Relaxed) {
        Comm(application as RawHandle)
    } else {
        comm
    }
}

/// Whether it is the application's world, by the handle that the MPI library gave to it.
#[inline(always)]
pub fn is_application(comm: Comm) -> bool {
    comm.bits() as usize == APPLICATION_WORLD.load(Ordering::Relaxed)
}
