//! What the whole process shares: the mapped memory, the communicators, and whether we observe at
//! all.

use crate::callbacks::{self, Passing};
use crate::family::{AttributeFn, Comm, HandlerFn, RawHandle, fortran_number};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use invivo_proto::shm::{Page, Region};

/// States of the shim; they only grow.
pub mod state {
    /// Before `MPI_Init`.
    pub const NEW: u32 = 0;
    /// The world is split, calls are recorded.
    pub const OBSERVING: u32 = 1;
    /// All is shipped; the world stays substituted, nothing is recorded.
    pub const DRAINED: u32 = 2;
    /// Something was wrong, or this is a forked child.
    pub const SILENT: u32 = 3;
}

static STATE: AtomicU32 = AtomicU32::new(state::NEW);
static REGION: AtomicPtr<Region> = AtomicPtr::new(core::ptr::null_mut());
static PAGE: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());
/// The application's world as a raw handle, 0 until the split.
static APPLICATION_WORLD: AtomicUsize = AtomicUsize::new(0);
/// The real world as a raw handle.
static REAL_WORLD: AtomicUsize = AtomicUsize::new(0);
static TOOL_COMM: AtomicUsize = AtomicUsize::new(0);
/// Fortran's numbers of the application's world and of the real one.
static FORTRAN_NUMBERS: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];
/// The kernel's id of the thread that initialised MPI.
pub static MAIN_THREAD: AtomicI32 = AtomicI32::new(0);
/// The thread level that MPI provides.
pub static THREAD_LEVEL: AtomicI32 = AtomicI32::new(0);
/// Whether several threads may be in MPI at once.
pub static MULTIPLE: AtomicBool = AtomicBool::new(false);

/// The present state.
#[inline(always)]
pub fn state() -> u32 {
    STATE.load(Ordering::Relaxed)
}

/// Moves on; never back.
pub fn enter_state(next: u32) {
    STATE.fetch_max(next, Ordering::Relaxed);
}

/// Whether calls are observed.
#[inline(always)]
pub fn observing() -> bool {
    state() == state::OBSERVING
}

/// Takes over the rank's memory, once.
pub fn set_region(region: Region) {
    PAGE.store(
        core::ptr::from_ref(region.page()).cast_mut(),
        Ordering::Relaxed,
    );
    REGION.store(Box::into_raw(Box::new(region)), Ordering::Release);
}

/// The rank's memory.
pub fn region() -> Option<&'static Region> {
    // SAFETY: null, or a box that is never freed.
    unsafe { REGION.load(Ordering::Acquire).as_ref() }
}

/// The rank's page.
#[inline(always)]
pub fn page() -> Option<&'static Page> {
    // SAFETY: null, or an address inside the mapping, which is never unmapped.
    unsafe { PAGE.load(Ordering::Relaxed).as_ref() }
}

/// The world as the application knows it, and the one that stands in for it.
#[derive(Clone, Copy)]
pub struct Worlds {
    /// `MPI_COMM_WORLD`.
    pub known: Comm,
    /// The application's ranks alone.
    pub ours: Comm,
    /// Fortran's `MPI_COMM_WORLD`.
    pub number_of_known: i32,
    /// Fortran's number of the one that stands in.
    pub number_of_ours: i32,
}

/// Both worlds, or nothing before the split.
pub fn worlds() -> Option<Worlds> {
    let ours = application_world()?;
    Some(Worlds {
        known: Comm(REAL_WORLD.load(Ordering::Relaxed) as RawHandle),
        ours,
        number_of_known: FORTRAN_NUMBERS[1].load(Ordering::Relaxed),
        number_of_ours: FORTRAN_NUMBERS[0].load(Ordering::Relaxed),
    })
}

/// Keeps the communicators that start-up made.
pub fn set_comms(real: Comm, application: Comm, tool: Comm) {
    for (number, comm) in FORTRAN_NUMBERS.iter().zip([application, real]) {
        number.store(fortran_number(comm), Ordering::Relaxed);
    }
    REAL_WORLD.store(real.bits() as usize, Ordering::Relaxed);
    TOOL_COMM.store(tool.bits() as usize, Ordering::Relaxed);
    APPLICATION_WORLD.store(application.bits() as usize, Ordering::Release);
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

/// What stands in for an argument in the real call: for the real world the application's, for
/// everything else itself.
pub trait Real: Copy {
    /// The argument of the real call.
    #[inline(always)]
    fn real(self) -> Self {
        self
    }
}

impl Real for Comm {
    #[inline(always)]
    fn real(self) -> Self {
        let application = APPLICATION_WORLD.load(Ordering::Relaxed);
        if application != 0 && self.bits() as usize == REAL_WORLD.load(Ordering::Relaxed) {
            Comm(application as RawHandle)
        } else {
            self
        }
    }
}
impl Real for HandlerFn {
    #[inline(always)]
    fn real(self) -> Self {
        HandlerFn(callbacks::entry(self.0, Passing::Pointer))
    }
}
impl Real for AttributeFn {
    #[inline(always)]
    fn real(self) -> Self {
        AttributeFn(callbacks::entry(self.0, Passing::Value))
    }
}
impl Real for crate::family::Datatype {}
impl Real for crate::family::Request {}
impl Real for crate::family::Message {}
impl Real for crate::family::Handle {}
impl Real for core::ffi::c_int {}
impl Real for i64 {}
impl Real for f64 {}
impl<T> Real for *const T {}
impl<T> Real for *mut T {}
