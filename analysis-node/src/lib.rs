//! An analysis node; in this version the root, which is the only one.
//!
//! ```text
//! places -- MPI -- [main] -- Root (tbon) -- Station -- gateway's link (Unix socket)
//!                                              |
//!                                           Ending -- result for the supervisor
//! ```
//!
//! The tree's logic is `invivo_tbon`'s, merging `invivo_analysis`'s. The station knows who asked what and makes
//! answers of partial results; the ending says what has to happen in which order when ranks end. Neither knows
//! MPI or the time.
#![deny(unsafe_code)]

pub mod ending;
pub mod frames;
pub mod gateway;
pub mod report;
pub mod station;
