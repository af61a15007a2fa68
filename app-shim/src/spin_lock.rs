//! A value under a spin lock, for operations that are rare and short.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// A value that one thread at a time works on. Only rare operations hold it, each for well below a
/// microsecond.
pub struct SpinLock<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached while `taken` is held.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    pub const fn new(value: T) -> Self {
        SpinLock {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Runs `work` alone. Must not be called from within `work`.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        while self.taken.swap(true, Ordering::Acquire) {
            // SAFETY: no preconditions. Yielding lets a holder on the same core go on.
            unsafe { libc::sched_yield() };
        }

        // SAFETY: `taken` was free and is ours now.
        let result = work(unsafe { &mut *self.value.get() });
        self.taken.store(false, Ordering::Release);
        result
    }

    /// Runs `work` without taking the lock.
    ///
    /// # Safety
    /// Nobody else may reach the value meanwhile.
    #[inline(always)]
    pub unsafe fn with_unlocked<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the caller vouches for being alone.
        work(unsafe { &mut *self.value.get() })
    }

    /// Runs `work` alone, or not at all where another thread has the lock.
    pub fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.taken.swap(true, Ordering::Acquire) {
            return None;
        }

        // SAFETY: `taken` was free and is ours now.
        let result = work(unsafe { &mut *self.value.get() });
        self.taken.store(false, Ordering::Release);
        Some(result)
    }
}
