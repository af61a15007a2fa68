//! Observations: the recorded calls of a job in a stretch of time, and what is derived from them.
//!
//! Pure: no MPI, no gRPC, no clock; files are whatever the caller lets be written to.
//!
//! ```text
//! pages of calls --> Observation --+-- perfetto   a trace for ui.perfetto.dev
//!                        |         +-- waits      who waits for whom at the end
//!                     flows (sends matched with their receives)
//! ```

#![forbid(unsafe_code)]

pub mod flows;
pub mod observation;
pub mod perfetto;
pub mod waiters;
