//! When a callback of the program was called last on the calling thread.
//!
//! A callback may leave MPI by a jump: then this is all that is known of when the call ended that
//! it was called in.

use crate::clock::ticks;
use core::cell::Cell;

thread_local! {
    static CALLED: Cell<u64> = const { Cell::new(0) };
}

/// A callback is about to be called.
pub fn note() {
    CALLED.with(|called| called.set(ticks()));
}

/// When, in ticks; 0 where none was.
pub fn last() -> u64 {
    CALLED.with(Cell::get)
}
