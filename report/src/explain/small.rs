//! Kinds of functions; and calls that are many and move little each: their number is what costs.

use serde::{Deserialize, Serialize};

/// From so many calls a second and rank on.
const MANY: f64 = 2e3;
/// Up to so many bytes each.
const LITTLE: f64 = 1024.0;
/// Of the time in MPI, what is in these calls, or more.
const MOST: f64 = 0.5;
/// What functions for messages of two ranks begin with, but for the collectives among them.
const OF_MESSAGES: [&str; 9] = [
    "MPI_Send",
    "MPI_Ssend",
    "MPI_Rsend",
    "MPI_Bsend",
    "MPI_Recv",
    "MPI_Mrecv",
    "MPI_Wait",
    "MPI_Probe",
    "MPI_Mprobe",
];

/// What functions that post messages begin with.
const POSTS: [&str; 2] = ["MPI_Isend", "MPI_Irecv"];
/// What collectives begin with.
const COLLECTIVES: [&str; 11] = [
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Gather",
    "MPI_Allgather",
    "MPI_Scatter",
    "MPI_Alltoall",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Neighbor_",
];

/// What is small and many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Small {
    Messages,
    Collectives,
}

impl Small {
    pub(super) fn name(self) -> &'static str {
        match self {
            Small::Messages => "messages",
            Small::Collectives => "collectives",
        }
    }
}

/// Whether a function is one for messages of two ranks.
pub(super) fn of_messages(function: &str) -> bool {
    OF_MESSAGES.iter().any(|name| function.starts_with(name))
}

/// Of calls of one function with this share of the time in MPI, so many a second and rank, with
/// this many bytes each. Those that test are none: they are called often while there is nothing.
pub(super) fn small(function: &str, share: f64, rate: f64, bytes: f64) -> Option<Small> {
    if share < MOST || rate < MANY || bytes > LITTLE {
        return None;
    }
    let begins = |names: &[&str]| names.iter().any(|name| function.starts_with(name));
    // What completes without bytes may be anything.
    let is_known = !begins(&["MPI_Wait"]) || bytes > 0.0;
    let of_messages = of_messages(function) || begins(&POSTS);
    match (begins(&COLLECTIVES), of_messages && is_known) {
        (true, _) => Some(Small::Collectives),
        (false, true) => Some(Small::Messages),
        (false, false) => None,
    }
}
