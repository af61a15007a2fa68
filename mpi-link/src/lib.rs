//! The tool processes' way into MPI, and the loop that every one of them runs.
//!
//! ```text
//! Roles (tool place, analysis node, root) <- runtime: loop, rests, panics, leaving the job
//!   |                                           |
//! Seat, one for each: addresses, loopback -> Transport = Link: packets into posted buffers,
//!                                               |              control messages by credits
//!                                              MPI
//! ```
//!
//! A `Link` carries packets and control messages and knows nothing of what is in them. Nothing in
//! it waits: the [`runtime`] polls it and rests as [`idle::Idle`] says. Nothing in it grows with a
//! process that does not read: control messages go by [`credit`], packets by the ranks' bounded
//! pools.
#![deny(unsafe_code)]

pub mod bell;
pub mod clock;
pub mod credit;
mod error;
#[allow(unsafe_code)]
pub mod exit;
#[cfg(feature = "mpi")]
#[allow(unsafe_code)]
mod ffi;
pub mod idle;
#[cfg(feature = "mpi")]
mod link;
mod nowhere;
pub mod panics;
pub mod runtime;
pub mod seats;
pub mod signals;
mod transport;

pub use error::LinkError;
#[cfg(feature = "mpi")]
pub use link::{Link, SENDS_PER_PEER_MAX};
pub use nowhere::Nowhere;
pub use transport::{BUFFERS_MAX, Message, Transport, packet_buffers};
