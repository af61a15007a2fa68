//! Phases that a program tells by `MPI_Pcontrol`: regions with the level as their name.
//!
//! A rank is in one phase at a time, so the next one ends it.
//!
//! Another tool's `MPI_Pcontrol` calls `PMPI_Pcontrol`, which is ours too, with the same level:
//! what has been told is not told again there.

use super::regions;
use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicI32, Ordering};

/// The first level that the standard leaves to tools: 0 is off, 1 on, 2 writes out what they hold.
pub const FIRST: c_int = 3;

/// The level of the phase that the rank is in; 0 of none.
static CURRENT: AtomicI32 = AtomicI32::new(0);

/// Begins the phase of this level, and ends the one before. Told `again`, it goes on.
pub fn begin(level: c_int, again: bool) {
    let before = CURRENT.swap(level, Ordering::Relaxed);
    if again && before == level {
        return;
    }
    end_of(before);
    with_name(level, regions::begin);
}

/// Ends the phase of this level, where the rank is in it.
pub fn end(level: c_int) {
    let ended = CURRENT.compare_exchange(level, 0, Ordering::Relaxed, Ordering::Relaxed);
    end_of(ended.unwrap_or(0));
}

fn end_of(level: c_int) {
    if level >= FIRST {
        with_name(level, regions::end);
    }
}

/// Does something with `phase LEVEL`. Written by hand: what formats may panic.
fn with_name(level: c_int, what: fn(&CStr)) {
    let mut digits = [0; 10];
    let mut rest = level.unsigned_abs();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let shown = digits.iter().skip_while(|digit| **digit == b'0');
    let mut name = [0; 24];
    let bytes = b"phase ".iter().chain(shown);
    name.iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    what(CStr::from_bytes_until_nul(&name).unwrap_or_default());
}
