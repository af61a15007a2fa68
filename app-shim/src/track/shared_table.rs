//! A table by handle for all threads of the process, which other processes can find and read.

use super::handle_table::{HandleTable, TableAddress};
use crate::process::{self, MULTIPLE};
use crate::spin_lock::SpinLock;
use core::sync::atomic::Ordering;
use invivo_proto::shm::{self, Library};

/// A table that is locked only where several threads may be in MPI at once.
pub struct SharedTable<T>(SpinLock<HandleTable<T>>);

impl<T: Copy + Default> SharedTable<T> {
    /// An empty table; `moved` is called with its new address each time that it grows.
    pub const fn new(moved: fn(TableAddress)) -> Self {
        SharedTable(SpinLock::new(HandleTable::new(moved)))
    }

    /// Runs `work` on the table.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(&mut HandleTable<T>) -> R) -> R {
        if self.is_shared() {
            self.locked(work)
        } else {
            // SAFETY: it was just asked.
            unsafe { self.alone(work) }
        }
    }

    /// Whether several threads may reach the table at once. The level of threads never changes.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        MULTIPLE.load(Ordering::Relaxed)
    }

    /// Runs `work` on the table without its lock.
    ///
    /// # Safety
    /// [`SharedTable::is_shared`] says no: below MPI_THREAD_MULTIPLE the application itself sees to
    /// it that only one thread at a time is in an MPI call, and its own synchronisation orders
    /// these calls.
    #[inline(always)]
    pub unsafe fn alone<R>(&self, work: impl FnOnce(&mut HandleTable<T>) -> R) -> R {
        // SAFETY: the caller vouches for being alone.
        unsafe { self.0.with_unlocked(work) }
    }

    /// Runs `work` on the table under its lock.
    #[inline(never)]
    pub fn locked<R>(&self, work: impl FnOnce(&mut HandleTable<T>) -> R) -> R {
        self.0.with(work)
    }
}

/// Publishes on the page where a table lies now.
pub fn publish(address: TableAddress, of: fn(&Library) -> &shm::Handles) {
    if let Some(page) = process::page() {
        of(&page.library).lie(address.slots, address.entries);
    }
}
