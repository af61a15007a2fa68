//! An analysis node: the root, or a node between the root and the places.
//!
//! ```text
//! children -- MPI -- [drive::root] -- Root (tbon) -- Station -- gateway's link (Unix socket)
//!                                                       |
//!                                                    Ending -- result for the supervisor
//!
//! children -- MPI -- [drive::branch] -- Node (tbon) -- Branch -- MPI -- parent
//! ```
//!
//! The tree's logic is `invivo_tbon`'s, merging `invivo_analysis`'s. The station knows who asked
//! what and makes answers of partial results; the ending says what has to happen in which order
//! when ranks end or the measurement is shut down; the watchdog asks now and then what the ranks
//! wait for, and speaks when the job stands still. Neither these nor the branch know MPI or the
//! time; [`drive`] does.
#![deny(unsafe_code)]

pub mod branch;
pub mod drive;
pub mod ending;
pub mod frames;
pub mod gateway;
pub mod own;
pub mod report;
pub mod saving;
pub mod station;
pub mod watchdog;
