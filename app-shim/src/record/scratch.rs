//! Memory of a thread for the arrays of one call: there from the start, so that a call allocates
//! nothing.

use crate::limits::REQUESTS_AT_ONCE;
use core::ops::Deref;

/// So many values are copied one by one: in the time that a call of a function takes for them.
const FEW: usize = 8;

/// An array that is written anew by each call that needs it.
pub struct Scratch<T>(Vec<T>);

impl<T: Copy> Scratch<T> {
    /// An empty array. Nothing of its memory is touched before it is used.
    pub fn new() -> Scratch<T> {
        Scratch(Vec::with_capacity(REQUESTS_AT_ONCE))
    }

    /// Writes a value behind the first `length`, of which it is the last then. False where there is
    /// no memory for it.
    ///
    /// # Safety
    /// So many values were written here before.
    #[inline(always)]
    pub unsafe fn put(&mut self, length: usize, value: T) -> bool {
        if self.room(length + 1) <= length {
            return false;
        }
        // SAFETY: there is room for one more than `length`, and the caller vouches for those.
        unsafe {
            self.0.as_mut_ptr().add(length).write(value);
            self.0.set_len(length + 1);
        }
        true
    }

    /// Makes it a copy of what lies there; of fewer where there is no memory for all.
    ///
    /// # Safety
    /// So many values lie there.
    #[inline(always)]
    pub unsafe fn copy(&mut self, from: *const T, count: usize) {
        let count = self.room(count);
        let to = self.0.as_mut_ptr();
        // SAFETY: the caller vouches for the source; there is room for so many, which are not the
        // caller's.
        unsafe {
            if count <= FEW {
                for at in 0..count {
                    // Volatile, or the compiler would make a call of it.
                    to.add(at).write(from.add(at).read_volatile());
                }
            } else {
                core::ptr::copy_nonoverlapping(from, to, count);
            }
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
