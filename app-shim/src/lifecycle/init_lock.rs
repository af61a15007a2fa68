//! Lets one thread at a time initialise MPI: sessions may be opened by several at once, and the
//! first of them makes the world.

use core::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

static INITIALISING: Mutex<()> = Mutex::new(());
/// The kernel's id of the thread that initialises MPI, 0 for none.
static THREAD: AtomicI32 = AtomicI32::new(0);

/// Runs `first` while no other thread does so, or `nested` where this thread does already: a tool
/// stands between an `MPI_X` and its `PMPI_X`, and both are wrapped.
pub fn alone<R>(first: impl FnOnce() -> R, nested: impl FnOnce() -> R) -> R {
    // SAFETY: gettid has no preconditions.
    let me = unsafe { libc::gettid() };
    // Only this thread ever stores this number, so that no order is needed.
    if THREAD.load(Ordering::Relaxed) == me {
        return nested();
    }

    let _turn = INITIALISING.lock().unwrap_or_else(PoisonError::into_inner);
    THREAD.store(me, Ordering::Relaxed);
    let result = first();
    THREAD.store(0, Ordering::Relaxed);
    result
}
