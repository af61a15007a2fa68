//! What test programs write down themselves: their counts, their MPI calls, their clocks, their
//! regions.

pub mod call_log;
pub mod clock_log;
pub mod counts;
pub mod regions;
