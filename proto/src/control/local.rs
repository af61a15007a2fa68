//! Messages between a rank's supervisor and the place of its node, one per packet of a `SOCK_SEQPACKET`
//! Unix socket.

use super::tree::Ended;
use crate::ids::Rank;
use bincode::{Decode, Encode};

/// From a supervisor to the place.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FromSupervisor {
    /// The first message; the rank's memory comes with it as a descriptor.
    Attach {
        /// The rank.
        rank: Rank,
        /// The application's process.
        pid: u32,
    },
    /// The answer to [`ToSupervisor::Stop`] or [`ToSupervisor::Continue`].
    Acted {
        /// The generation asked for.
        generation: u32,
        /// What happened.
        outcome: Outcome,
    },
    /// The application has ended; the supervisor waits for [`ToSupervisor::Leave`].
    Ended(Ended),
}

/// What a supervisor did.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Outcome {
    /// Every thread stands still, outside MPI.
    Stopped,
    /// A thread is inside MPI or held by the gate, and no other thread runs: left alone.
    HeldInMpi,
    /// A thread is inside MPI while this many others run; it is tried again until it can be stopped.
    Partly {
        /// Threads still running.
        running: u32,
    },
    /// The process runs.
    Running,
    /// The process has ended.
    Gone,
}

/// From the place to a supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ToSupervisor {
    /// The gate was closed with this generation: stop the process where that is safe. The supervisor lets it
    /// go on again by itself when the gate's time is over.
    Stop {
        /// The gate's generation.
        generation: u32,
    },
    /// The gate is open: let the process go on.
    Continue {
        /// The generation of the pause that ended.
        generation: u32,
    },
    /// Everything the rank recorded has been taken.
    Leave,
}

/// The longest message here.
pub const LOCAL_BYTES_MAX: usize = 4096;
