//! What the analyses answer: plain data, merged by the laws in the crate `analysis`, shown by the gateway.
//! Durations are in nanoseconds, sizes in bytes.

use crate::definition::Run;
use crate::ids::{CommId, CommLocal, Rank, RegionId};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Count, sum, sum of squares and extremes of call durations; enough for mean and variance and merged exactly.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct Moments {
    /// How many.
    pub count: u64,
    /// Their sum in ns.
    pub sum_ns: u64,
    /// Mean in ns (Welford; Chan, Golub and LeVeque for the merge).
    pub mean_ns: f64,
    /// Sum of squared distances from the mean, in ns².
    pub m2: f64,
    /// The shortest in ns; `u64::MAX` of none.
    pub min_ns: u64,
    /// The longest in ns.
    pub max_ns: u64,
    /// Who had the longest.
    pub max_rank: Rank,
}

/// One row of the MPI function table.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct FunctionStats {
    /// Durations of its calls. `time.count` is the number of calls.
    pub time: Moments,
    /// Bytes that its calls sent: messages when they were posted, and the rank's share of collectives.
    pub bytes_out: u64,
    /// Bytes that its calls received: when they completed.
    pub bytes_in: u64,
}

/// The MPI function table: by region, and by rank as well when the query asks for it.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct FunctionTable {
    /// `None` as the rank is the merged row of all ranks.
    pub rows: BTreeMap<(Option<Rank>, RegionId), FunctionStats>,
}

/// Messages and bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Traffic {
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The point-to-point communication matrix as the places have it: peers still numbered as the communicator
/// numbers them, because only the leader's place knows the group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct MatrixPartial {
    /// Sent, by the sender's (rank, communicator, peer).
    pub sent: BTreeMap<(Rank, CommKey, i32), Traffic>,
    /// Received, by the receiver's (rank, communicator, peer).
    pub received: BTreeMap<(Rank, CommKey, i32), Traffic>,
}

/// A communicator in a partial result: by the job's id once the definition came, by the rank's number before.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode, Serialize, Deserialize,
)]
pub enum CommKey {
    /// Peers are ranks in this communicator.
    Group(CommId),
    /// The rank has not said yet which communicator this is.
    Unknown(Rank, CommLocal),
}

/// The matrix with both ends as ranks of the application's world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Matrix {
    /// As told by the senders: `(source, destination)`.
    pub sent: BTreeMap<(Rank, Rank), Traffic>,
    /// As told by the receivers: `(source, destination)`.
    pub received: BTreeMap<(Rank, Rank), Traffic>,
    /// Traffic whose peer could not be resolved (no definition): never hidden in another cell.
    pub unresolved: Traffic,
}

/// Members of a communicator: pieces by the communicator rank that they begin at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Group {
    /// `start -> runs`.
    pub pieces: BTreeMap<u32, Vec<Run>>,
}

/// Where records are: **entered = open + in flight + kept + reduced + dropped + reset**.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Ledger {
    /// Counted at the wrappers' entries, apart from all the rest.
    pub entered: u64,
    /// Entered and not left.
    pub open: u64,
    /// Left, and not yet decoded by the place.
    pub in_flight: u64,
    /// In a buffer.
    pub kept: u64,
    /// Given up by a buffer.
    pub reduced: u64,
    /// Dropped by the shim, by [`crate::packet::DropReason`].
    pub dropped: [u64; 3],
    /// Decoded, fed to the analyses and not stored (no budget), or refused as malformed.
    pub dropped_by_place: u64,
    /// Forgotten on request.
    pub reset: u64,
}

/// What stands beside every answer: how much of the truth it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct Coverage {
    /// Ranks that the job has.
    pub ranks: u32,
    /// Ranks that this answer counts.
    pub ranks_reporting: u32,
    /// Tool processes that did not answer in time or are lost.
    pub members_missing: u32,
    /// Age of the oldest record not counted yet, in ns: how far this answer may lag behind.
    pub lag_ns: u64,
    /// Where the records are.
    pub ledger: Ledger,
    /// Time that the ranks spent in our code, in ns summed over ranks (measured on samples, scaled up).
    pub overhead_ns: u64,
    /// CPU time of the tool processes, in ns.
    pub tool_cpu_ns: u64,
    /// Packets that came over MPI.
    pub packets_mpi: u64,
    /// Packets or parts of packets taken from shared memory.
    pub packets_shm: u64,
    /// Payload bytes decoded, each once.
    pub payload_bytes: u64,
    /// Packets refused as malformed.
    pub packets_refused: u64,
    /// Bytes of the buffers' arenas.
    pub buffer_bytes: u64,
}

/// What a rank is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub enum RankState {
    /// Before `MPI_Init` is complete.
    #[default]
    Starting,
    /// In its own code.
    Computing,
    /// In an MPI call.
    InMpi,
    /// Held by the gate or stopped.
    Paused,
    /// After `MPI_Finalize`, or ended.
    Finished,
}

/// One rank's line of the status, for the ranks that a status names (the first, and the worst).
#[derive(Clone, Debug, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct RankStatus {
    /// The rank.
    pub rank: Rank,
    /// What it is doing.
    pub state: RankState,
    /// The call that it is in, or was in last.
    pub region: RegionId,
    /// For how long, in ns.
    pub since_ns: u64,
    /// Calls entered so far.
    pub entered: u64,
    /// Time in MPI so far, in ns.
    pub mpi_ns: u64,
}

/// The status of some ranks.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct JobStatus {
    /// Ranks by state, in the order of [`RankState`].
    pub states: [u32; 5],
    /// The ranks named: those with the most time in MPI first; at most [`RANKS_NAMED_MAX`].
    pub named: Vec<RankStatus>,
    /// A pause in force.
    pub pause: Option<PauseStatus>,
    /// Time since the first rank was seen, in ns.
    pub observed_ns: u64,
    /// Sentences about what went wrong, once each; at most [`NOTES_MAX`].
    pub notes: Vec<String>,
}

/// Ranks that a status names, so that its size does not grow with the job.
pub const RANKS_NAMED_MAX: usize = 32;
/// Notes that a status carries.
pub const NOTES_MAX: usize = 16;

/// A pause in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct PauseStatus {
    /// The command that began it.
    pub command: crate::ids::CommandId,
    /// What is left of its lease, in ns.
    pub lease_left_ns: u64,
}
