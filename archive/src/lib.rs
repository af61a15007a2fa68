//! Observations: the recorded calls of a job in a stretch of time, on disk and in memory, and what
//! is derived from them.
//!
//! ```text
//! pages of calls --> Observation --+-- perfetto   a trace for ui.perfetto.dev
//!                      ^  |        +-- waiters    who waits for whom at the end
//!                      |  flows (sends matched with their receives)
//! bins of buffers --> saved        a directory that holds what buffers held
//!                         +-- otf2               an archive for Vampir, Scalasca and others
//!                         +-- csv                a table
//! ```
//!
//! `observation`, `flows`, `perfetto` and `waiters` are pure; `saved` and `otf2` read and write
//! directories. No MPI, no gRPC.

#![deny(unsafe_code)]

pub mod csv;
pub mod flows;
pub mod new_directory;
pub mod observation;
pub mod otf2;
pub mod perfetto;
pub mod saved;
pub mod waiters;
