//! Corrects what the launcher wrote into the environment once the rank knows its numbers.
//!
//! Where tool processes are dealt out over the nodes, the supervisor could not tell the rank its
//! numbers before MPI began, and left those of the whole job. A program that reads them behind
//! `MPI_Init` finds its own. MPI's own launchers' variables stay: MPI reads those.

use core::ffi::{CStr, c_int};

/// Open MPI's note of the rank, for programs.
const RANK: &CStr = c"OMPI_COMM_WORLD_RANK";
/// And of the number of ranks.
const SIZE: &CStr = c"OMPI_COMM_WORLD_SIZE";

/// Digits of the longest number, a sign and the closing zero.
const DIGITS: usize = 12;

/// Writes the rank's numbers where the launcher had written others.
pub fn correct(rank: c_int, ranks: c_int) {
    for (name, number) in [(RANK, rank), (SIZE, ranks)] {
        let mut digits = [0; DIGITS];
        // SAFETY: both names end with a zero, and the number fits its room; the program is in
        // MPI_Init, which it must not call while other threads change the environment.
        unsafe {
            if libc::getenv(name.as_ptr()).is_null() {
                continue;
            }
            libc::snprintf(digits.as_mut_ptr(), DIGITS, c"%d".as_ptr(), number);
            libc::setenv(name.as_ptr(), digits.as_ptr(), 1);
        }
    }
}
