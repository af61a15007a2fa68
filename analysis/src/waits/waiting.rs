//! Waits with their time, for whoever follows them on its axis.

use alloc::vec::Vec;

/// A rank here waited for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number here.
    pub index: usize,
    /// Since when, in job time.
    pub from_ns: u64,
    /// For how long, in ns.
    pub ns: u64,
}

/// Such waits that nobody has taken yet.
#[derive(Clone, Debug, Default)]
pub struct Noted(Vec<Waiting>);

impl Noted {
    /// One more.
    #[inline]
    pub fn push(&mut self, waiting: Waiting) {
        self.0.push(waiting);
    }

    /// Takes them out.
    #[inline]
    pub fn take(&mut self, mut each: impl FnMut(&Waiting)) {
        if !self.0.is_empty() {
            // The memory is used again.
            self.0.drain(..).for_each(|waiting| each(&waiting));
        }
    }
}
