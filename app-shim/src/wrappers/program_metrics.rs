//! What the program calls to count and to measure (`invivo_regions.h`).
//!
//! It needs no location and no gate: the numbers are in the rank's page as soon as that is there,
//! from `MPI_Init` on, and until the process ends.

use crate::process::{self, state};
use crate::track::program_metrics::{Name, keep};
use core::ffi::c_char;
use invivo_proto::shm::program_metric::{COUNTER, VALUE};

/// Adds to the counter of this name, modulo 2^64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn invivo_counter_add(name: *const c_char, n: u64) {
    // SAFETY: the caller gives a string of C, or null.
    unsafe { tell(COUNTER, name, n) }
}

/// Sets the value of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn invivo_value_set(name: *const c_char, value: u64) {
    // SAFETY: the caller gives a string of C, or null.
    unsafe { tell(VALUE, name, value) }
}

/// # Safety
/// A string of C, or null.
#[inline(always)]
unsafe fn tell(kind: u32, name: *const c_char, number: u64) {
    // A forked child has the same memory and is not the rank.
    let Some(page) = process::page().filter(|_| process::state() != state::SILENT) else {
        return;
    };
    // SAFETY: as the caller says.
    if let Some(name) = unsafe { Name::of(name) } {
        let (metrics, lost) = (&page.program_metrics, &page.program_metrics_lost);
        keep(metrics, lost, kind, name, number);
    }
}
