//! Phases that a program tells by `MPI_Pcontrol`: regions with the level as their name.
//!
//! A rank is in one phase at a time, so the next one ends it.

use super::regions;
use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicI32, Ordering};
use std::io::Write;

/// The first level that the standard leaves to tools: 0 is off, 1 on, 2 writes out what they hold.
pub const FIRST: c_int = 3;

/// The level of the phase that the rank is in; 0 of none.
static CURRENT: AtomicI32 = AtomicI32::new(0);

/// Begins the phase of this level, and ends the one before.
pub fn begin(level: c_int) {
    end_of(CURRENT.swap(level, Ordering::Relaxed));
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

/// Does something with `phase LEVEL`, the longest of which has 16 bytes.
fn with_name(level: c_int, what: fn(&CStr)) {
    let mut name = [0; 24];
    let _ = write!(&mut name[..], "phase {level}");
    what(CStr::from_bytes_until_nul(&name).unwrap_or_default());
}
