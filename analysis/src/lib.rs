//! The analyses, one per file. Each has the same three parts:
//!
//! ```text
//! leaf state   at a place: fed with every decoded call, cheap, bounded
//! partial      what a place answers to a question (`invivo_proto::control::tree::Partial`)
//! merge        of two partials; associative and commutative, so that the tree may have any shape
//! ```
//!
//! Shapes are plain data of [`invivo_proto::control::results`]. Durations are nanoseconds and come
//! in as arguments: nothing here knows a clock, a socket or MPI.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod buffers;
pub mod call_paths;
mod code_files;
pub mod communicators;
pub mod functions;
pub mod grid;
pub mod groups;
pub mod hang;
pub mod histogram;
pub mod history;
pub mod iterations;
pub mod matrix;
pub mod merge;
pub mod messages;
pub mod moments;
pub mod pauses;
pub mod profile;
pub mod rank_rows;
pub mod records;
pub mod regions;
pub mod saved;
pub mod sites;
pub mod stacks;
pub mod status;
mod sums;
pub mod switches;
#[cfg(test)]
mod testing;
pub mod timeline;
pub mod waits;
