//! What a program keeps itself, in its rank's page: counters that it adds up, values that it sets.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// A counter or a value that the program keeps. Its thread writes the name before the state, and
/// neither changes any more.
#[repr(C, align(64))]
pub struct ProgramMetric {
    /// See [`program_metric`].
    pub state: AtomicU32,
    reserved: u32,
    /// What it has been added up to, or set to.
    pub value: AtomicU64,
    /// Its bytes in the order of memory, 0 behind its end.
    pub name: [AtomicU64; PROGRAM_NAME_BYTES / 8],
}

/// Counters and values of a program, together: of more, those that it used first are measured.
pub const PROGRAM_METRICS_MAX: usize = 16;
/// Bytes of the longest name of one.
pub const PROGRAM_NAME_BYTES: usize = 32;

/// What stands in [`ProgramMetric::state`].
pub mod program_metric {
    /// Nobody has it.
    pub const FREE: u32 = 0;
    /// A thread writes its name.
    pub const CLAIMED: u32 = 1;
    /// It is added up.
    pub const COUNTER: u32 = 2;
    /// It is set.
    pub const VALUE: u32 = 3;
    /// Whoever had it never came to write its name: nobody's any more.
    pub const GIVEN_UP: u32 = 4;
}
