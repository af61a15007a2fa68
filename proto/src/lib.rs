//! The contracts between Invivo's processes: what a number means, what a record, a packet and a
//! shared page look like byte by byte, and what the tree's messages say. `proto/wire.md` draws the
//! bytes.
//!
//! Nothing here knows MPI, a clock, a socket or a file. The crate is `no_std`; only the feature
//! `control` (never enabled by the preloaded library) needs an allocator. One function is an
//! exception, for builds with test hooks alone: [`clock::skew::here`].
#![no_std]

#[cfg(feature = "control")]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

pub mod channel;
pub mod clock;
pub mod comm_id;
#[cfg(feature = "control")]
pub mod control;
pub mod definition;
pub mod handles;
pub mod ids;
pub mod mpi;
pub mod packet;
pub mod prefetch;
pub mod rank_set;
pub mod record;
pub mod shm;
pub mod varint;
