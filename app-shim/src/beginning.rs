//! MPI begins once. Sessions may be opened by several threads at once, and the first of them makes
//! the world, so that what begins MPI is one thread's at a time.

use core::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Whose turn it is.
static TURN: Mutex<()> = Mutex::new(());
/// The kernel's id of the thread whose turn it is, 0 for nobody.
static THREAD: AtomicI32 = AtomicI32::new(0);

/// Runs `begin` while no other thread does so. Where this thread does already, a tool stands
/// between an `MPI_X` and its `PMPI_X`, which comes by here again: `nested` goes on.
pub fn alone<R>(begin: impl FnOnce() -> R, nested: impl FnOnce() -> R) -> R {
    // SAFETY: gettid has no preconditions.
    let me = unsafe { libc::gettid() };
    if THREAD.load(Ordering::Relaxed) == me {
        return nested();
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    THREAD.store(me, Ordering::Relaxed);
    let result = begin();
    THREAD.store(0, Ordering::Relaxed);
    result
}
