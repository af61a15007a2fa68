//! Memory of a thread for the arrays of one call: there from the start, so that a call allocates
//! nothing.

use crate::limits::REQUESTS_AT_ONCE;
use core::ops::Deref;

/// An array that is written anew by each call that needs it.
pub struct Scratch<T>(Vec<T>);

impl<T: Copy> Scratch<T> {
    /// An empty array. Nothing of its memory is touched before it is used.
    pub fn new() -> Scratch<T> {
        Scratch(Vec::with_capacity(REQUESTS_AT_ONCE))
    }

    /// Empties the array.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a value, where there is memory for it.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        let length = self.0.len();
        self.room(length + 1);
        if let Some(free) = self.0.spare_capacity_mut().first_mut() {
            free.write(value);
            // SAFETY: the value behind the last was just written.
            unsafe { self.0.set_len(length + 1) };
        }
    }

    /// Makes it a copy of what lies there; of fewer where there is no memory for all.
    ///
    /// # Safety
    /// So many values lie there.
    #[inline(always)]
    pub unsafe fn copy(&mut self, from: *const T, count: usize) {
        self.0.clear();
        let count = self.room(count);
        // SAFETY: the caller vouches for the source; there is room for so many, which are not the
        // caller's.
        unsafe {
            core::ptr::copy_nonoverlapping(from, self.0.as_mut_ptr(), count);
            self.0.set_len(count);
        }
    }

    /// Memory for so many values, of which those that were never written are made `empty`; nothing
    /// where there is no memory.
    #[inline(always)]
    pub fn space(&mut self, count: usize, empty: T) -> Option<*mut T> {
        if self.room(count) < count {
            return None;
        }
        let before = self.0.len();
        let missing = count.saturating_sub(before);
        for value in self.0.spare_capacity_mut().iter_mut().take(missing) {
            value.write(empty);
        }
        // SAFETY: there is room for `count`, and what is behind those of before was just written.
        unsafe { self.0.set_len(before + missing) };
        Some(self.0.as_mut_ptr())
    }

    /// How many of `count` values there is room for.
    #[inline(always)]
    fn room(&mut self, count: usize) -> usize {
        if count > self.0.capacity() {
            self.grow(count);
        }
        count.min(self.0.capacity())
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, count: usize) {
        // Without memory the rest of the call's requests is not followed.
        let _ = self.0.try_reserve(count - self.0.len());
    }
}

impl<T> Deref for Scratch<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.0
    }
}
