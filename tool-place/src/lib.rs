//! A tool place: the member of layer 1 that holds the records of its ranks.
//!
//! ```text
//! packets over MPI --+                      +-- buffer, one per location
//!                    +-- intake -- records -+
//! shared memory -----+                      +-- analyses -- answers to waves
//!
//! commands from the root -+- pauses ----- gates in shared memory, supervisors on a Unix socket
//!                         +- recording -- cuts between intake and all that is kept,
//!                                         switches in shared memory
//! ```
//!
//! Order and completeness are the intake's, pauses and recording are machines of their own, the
//! place brings them together; none of these knows MPI or the time. The [`role`] carries messages,
//! [`start`] makes it, and the program `tool-process` runs it.
#![deny(unsafe_code)]

pub mod analyses;
pub mod contexts;
pub mod cuts;
pub mod definitions;
pub mod displaced;
pub mod gates;
pub mod intake;
pub mod location;
pub mod memory;
pub mod metric_series;
pub mod notes;
pub mod outgoing;
pub mod over_time;
pub mod pause;
pub mod place;
pub mod process;
pub mod rank;
pub mod recording;
pub mod role;
pub mod samples;
pub mod start;
pub mod store;
pub mod supervisors;
pub mod tap;
#[cfg(test)]
mod testing;
pub mod time_point;
pub mod traffic;
