//! What the whole process shares: the rank's memory, the shim's state, MPI's thread level.

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use invivo_proto::shm::{Page, Region};

/// States of the shim; they only grow.
pub mod state {
    /// Before `MPI_Init`.
    pub const NEW: u32 = 0;
    /// The world is split, calls are recorded.
    pub const OBSERVING: u32 = 1;
    /// All is sent; the world stays substituted, nothing is recorded.
    pub const DRAINED: u32 = 2;
    /// Something was wrong, or this is a forked child.
    pub const SILENT: u32 = 3;
}

static STATE: AtomicU32 = AtomicU32::new(state::NEW);
static REGION: AtomicPtr<Region> = AtomicPtr::new(core::ptr::null_mut());
static PAGE: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());

/// The kernel's id of the thread that initialised MPI.
pub static MAIN_THREAD: AtomicI32 = AtomicI32::new(0);
/// The thread level that MPI provides.
pub static THREAD_LEVEL: AtomicI32 = AtomicI32::new(0);
/// Whether several threads may be in MPI at once.
pub static MULTIPLE: AtomicBool = AtomicBool::new(false);

/// Notes whether several threads may be in MPI at once, also for those who look from outside.
pub fn set_multiple(is_so: bool) {
    MULTIPLE.store(is_so, Ordering::Relaxed);
    if let Some(page) = page() {
        let told = &page.library.thread_multiple;
        told.store(u32::from(is_so), Ordering::Relaxed);
    }
}

/// One of the numbers in [`mod@state`].
#[inline(always)]
pub fn state() -> u32 {
    STATE.load(Ordering::Relaxed)
}

/// Moves on to `next`; never back.
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
    // Nobody else reads these yet: programs call MPI from other threads after its initialisation,
    // so that relaxed loads find the page there.
    PAGE.store(
        core::ptr::from_ref(region.page()).cast_mut(),
        Ordering::Relaxed,
    );
    REGION.store(Box::into_raw(Box::new(region)), Ordering::Release);
}

/// The rank's memory; nothing where this process is not observed.
pub fn region() -> Option<&'static Region> {
    // SAFETY: null, or a box that is never freed.
    unsafe { REGION.load(Ordering::Acquire).as_ref() }
}

/// The rank's page, the first part of its memory; nothing where this process is not observed.
#[inline(always)]
pub fn page() -> Option<&'static Page> {
    // SAFETY: null, or an address inside the mapping, which is never unmapped.
    unsafe { PAGE.load(Ordering::Relaxed).as_ref() }
}
