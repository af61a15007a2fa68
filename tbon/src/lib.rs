//! The tree of tool processes: its layout, and the state machines of node and root.
//!
//! Nothing here knows MPI, a clock, a socket or a file. Time is an argument in nanoseconds,
//! messages come in, actions come out; the drivers in `tool-place` and `analysis-node` and the
//! simulator carry them out.
//!
//! [`layout`] says who reports to whom. [`node::Node`] is the machine of every tool process:
//! whatever comes from above goes down to its members, whatever comes from its members is gathered
//! and goes up. A tool place is a node whose only member is itself; the [`root::Root`] is a node
//! with nobody above, together with the askers.
#![forbid(unsafe_code)]
#![no_std]
#![allow(
    clippy::large_enum_variant,
    reason = "messages are moved once or twice, a box would cost more than the copy"
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod acks;
mod alertness;
mod commands;
pub mod coverage;
pub mod directory;
mod gather;
mod groups;
pub mod job_time;
pub mod latest;
pub mod layout;
pub mod limits;
mod members;
pub mod merge;
mod missing;
pub mod node;
mod orders;
pub mod root;
mod root_heartbeat;
mod waves;
