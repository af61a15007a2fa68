//! Analysis nodes: the root of the tree, and the inner nodes between the root and the tool places.
//!
//! ```text
//! children -- MPI -- roles::root --- Root (tbon) --- RootServer -- gateway's link (Unix socket)
//!                                                       |
//!                                                    Shutdown -- result for the supervisor
//!
//! children -- MPI -- roles::branch - Node (tbon) --- Branch -- MPI -- parent
//! ```
//!
//! The tree's logic is `invivo_tbon`'s, merging `invivo_analysis`'s. The root server keeps who
//! asked what and makes answers of partial results; the shutdown decides what has to happen in
//! which order when ranks end or the measurement is shut down; the watchdog asks now and then what
//! the ranks wait for, and reports a job without progress; the governor keeps the overhead below a
//! cap. Neither these nor the branch know MPI or
//! the time; the [`roles`] do. [`start`] makes them, and the program `tool-process` runs them.
#![deny(unsafe_code)]

pub mod branch;
pub mod gateway;
pub mod governor;
pub mod report;
pub mod roles;
pub mod root_server;
pub mod self_stats;
pub mod shutdown;
pub mod start;
pub mod watchdog;
