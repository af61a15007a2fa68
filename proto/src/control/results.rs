//! Results of the analyses as plain data: function tables, matrix, messages, status, coverage.
//!
//! The crate `analysis` merges them, the gateway shows them. Durations are in nanoseconds, sizes in
//! bytes.

use super::histogram::Distribution;
use super::metrics::Measured;
use super::overhead::Governance;
use super::profile::Past;
use super::sampling::Sampling;
use crate::definition::Run;
use crate::ids::{Rank, RegionId};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Count, sum, sum of squares and extremes of call durations; enough for mean and variance and
/// merged exactly.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct Moments {
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

impl Moments {
    /// The moments of no values: merging them into others changes nothing.
    pub const EMPTY: Moments = Moments {
        count: 0,
        sum_ns: 0,
        mean_ns: 0.0,
        m2: 0.0,
        min_ns: u64::MAX,
        max_ns: 0,
        max_rank: Rank(0),
    };
}

impl Default for Moments {
    fn default() -> Self {
        Moments::EMPTY
    }
}

/// One row of the MPI function table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct FunctionStats {
    /// Durations of its calls. `time.count` is the number of calls.
    pub time: Moments,
    /// Bytes that its calls sent: messages when they were posted, and the rank's share of
    /// collectives.
    pub bytes_out: u64,
    /// Bytes that its calls received: when they completed.
    pub bytes_in: u64,
    /// Calls of which only the part behind (or before) a cut is counted.
    pub clipped: u64,
}

/// The MPI function table: by region, and by rank as well when the query asks for it.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct FunctionTable {
    /// All ranks together.
    pub rows: BTreeMap<RegionId, FunctionStats>,
    /// By rank: those with the most time, `rank_rows_max` at most.
    pub rank_rows: BTreeMap<(Rank, RegionId), FunctionStats>,
    /// How many rows by rank there are, those left out included.
    pub rank_rows_total: u64,
    /// As in the question.
    pub rank_rows_max: u32,
    /// How durations and sizes are distributed, of all ranks together. They are kept with the call
    /// sites: of calls while one of the two tables was off, they are not those of the rows.
    pub distributions: BTreeMap<RegionId, Distribution>,
    /// It is of calls that ended in this time; otherwise of all.
    pub past: Option<Past>,
}

/// Messages and bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Traffic {
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Traffic {
    /// Adds the messages and bytes of `from`.
    #[inline(always)]
    pub fn add(&mut self, from: Traffic) {
        // Saturating: sums from other processes may be anything.
        self.messages = self.messages.saturating_add(from.messages);
        self.bytes = self.bytes.saturating_add(from.bytes);
    }
}

/// The point-to-point communication matrix, in blocks of neighbouring ranks: block `b` holds the
/// ranks from `b * block_ranks` on. Its size depends on the side that was asked for, never on the
/// number of ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Matrix {
    /// Ranks per block; 1 is the exact matrix. 0 is the matrix of nobody.
    pub block_ranks: u32,
    /// As reported by the senders: `(source block, destination block)`.
    pub sent: BTreeMap<(u32, u32), Traffic>,
    /// As reported by the receivers: `(source block, destination block)`.
    pub received: BTreeMap<(u32, u32), Traffic>,
    /// Traffic whose peer could not be resolved (no definition): never hidden in another cell.
    pub unresolved: Traffic,
    /// Traffic on communicators with processes that are no ranks of the job.
    pub outside: Traffic,
    /// As in [`FunctionTable`].
    pub past: Option<Past>,
}

/// Point-to-point messages, each counted where its receiver is, once send and receive have been put
/// together. What was sent and not matched is on its way, waits, or is lost: `sent` less `matched`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct Messages {
    /// Sends that were posted.
    pub sent: Traffic,
    /// Receives that are complete.
    pub received: Traffic,
    /// Pairs of a send and the receive that took it.
    pub matched: Traffic,
    /// Why halves will never be matched; the rest of them may yet.
    pub unmatched: Unmatched,
    /// From the begin of the send to the end of the call that completed the receive.
    pub transfer: Moments,
    /// Late Sender: from the begin of the call that completed the receive to the begin of the send,
    /// where the receiver was first. `count` is the number of these pairs.
    pub late_sender: Moments,
    /// Pairs that are in `matched` alone: a pause or a cut lay between their begin and their end.
    pub untimed: u64,
    /// How far job time may have been off in any of these times, in ns; ranks of one node share a
    /// clock.
    pub clock_error_ns: u64,
    /// As in [`FunctionTable`].
    pub past: Option<Past>,
}

/// Endpoints of messages that will never be matched, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Unmatched {
    /// The peer could not be resolved: its communicator or group was not reported.
    pub unresolved: u64,
    /// Given up because there was no memory for them, or no credit on the way to the other place.
    pub limit: u64,
    /// The other half lies before a reset or a window, behind a window, or in another epoch of
    /// recording.
    pub cut: u64,
    /// The record of the other half is missing: the receive ended before its send could have begun,
    /// or records of the receiver were dropped.
    pub missing: u64,
    /// The peer is no rank of the job, or may be none.
    pub outside: u64,
}

/// Members of a communicator: pieces by the communicator rank that they begin at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Group {
    /// `start -> runs`.
    pub pieces: BTreeMap<u32, Vec<Run>>,
}

impl Group {
    /// Adds the pieces of `from`, and returns those that were new.
    ///
    /// A piece that comes twice is one piece. Two different pieces with the same start cannot both
    /// be true; the one with more members stays, so that the order of arrival makes no difference.
    pub fn merge(&mut self, from: &Group) -> Group {
        let mut new = Group::default();
        for (&start, runs) in &from.pieces {
            let known = self.pieces.get(&start);
            // A total order over pieces makes the merge commutative and idempotent.
            if known.is_none_or(|known| weight(known) < weight(runs)) {
                self.pieces.insert(start, runs.clone());
                new.pieces.insert(start, runs.clone());
            }
        }
        new
    }
}

/// The members in some runs; of equally many, the runs themselves decide.
fn weight(runs: &[Run]) -> (u64, impl Ord) {
    let members: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
    // Without this tie-break two equally long pieces would stay in the order of their arrival.
    let each = runs.iter().map(|run| (run.first, run.stride, run.count));
    (members, each.collect::<Vec<_>>())
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

/// What goes with every answer: how much of the truth it is.
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
    /// Time that the ranks spent in our code, in ns summed over ranks (measured on some calls and
    /// regions, scaled up), and in the kernel's for samples of them (estimated from their number).
    pub overhead_ns: u64,
    /// The part of it that was for regions of the program.
    pub overhead_regions_ns: u64,
    /// The part of it that was for samples.
    pub overhead_samples_ns: u64,
    /// CPU time of the tool processes, and of what samples and measures ranks, in ns.
    pub tool_cpu_ns: u64,
    /// The part of it that was of what samples and measures ranks.
    pub observer_cpu_ns: u64,
    /// The part of the tools' CPU time that ranks lacked: no processor was free for it.
    pub displaced_ns: u64,
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
    /// Held right after `MPI_Init`.
    Held,
}

/// States that a rank can be in.
pub const RANK_STATES: usize = 6;

/// One rank's line of the status, for the ranks that a status names (the first, and the worst).
#[derive(Clone, Debug, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct RankStatus {
    pub rank: Rank,
    /// What it is doing.
    pub state: RankState,
    /// The call that it is in, or was in last.
    pub region: RegionId,
    /// For how long, in ns.
    pub since_ns: u64,
    /// Calls entered since the last reset.
    pub entered: u64,
    /// Time in MPI since then but for initialisation, in ns.
    pub mpi_ns: u64,
}

/// The status of some ranks.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct JobStatus {
    /// Ranks by state, in the order of [`RankState`].
    pub states: [u32; RANK_STATES],
    /// Some ranks, the least time in MPI first; of more than [`RANKS_NAMED_MAX`] half from each
    /// end.
    pub named: Vec<RankStatus>,
    /// A pause in force.
    pub pause: Option<PauseStatus>,
    /// Time since the first rank had initialised MPI, or was seen, whatever came first, in ns.
    pub observed_ns: u64,
    /// Sentences about what went wrong, once each; at most [`NOTES_MAX`].
    pub notes: Vec<String>,
    /// Whether and since when calls are recorded.
    pub recording: RecordingStatus,
    /// How the overhead is kept below its cap; only the root says it.
    pub governance: Box<Governance>,
    /// What is measured beside MPI calls; only the root says it, until the measurement ends.
    pub measuring: Option<Measuring>,
}

/// What is measured beside MPI calls: by the commands that were done, without what is given up to
/// keep the overhead below its cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Measuring {
    /// How ranks are sampled.
    pub sampling: Sampling,
    /// The metrics that are read.
    pub metrics: Measured,
    /// Rules of the selection in force.
    pub rules: u32,
}

/// Ranks that a status names, so that its size does not grow with the job.
pub const RANKS_NAMED_MAX: usize = 32;
/// Notes that a status carries.
pub const NOTES_MAX: usize = 20;
/// The last note of a status that has no room for all of them.
pub const MORE_NOTES: &str = "there were more notes than these";

impl JobStatus {
    /// Leaves out the last notes where there are too many, and says so in the last one.
    pub fn cut_notes(&mut self) {
        let before = self.notes.len();
        self.notes.retain(|note| note != MORE_NOTES);
        let is_cut = self.notes.len() < before || before > NOTES_MAX;
        if is_cut {
            self.notes.truncate(NOTES_MAX - 1);
            self.notes.push(MORE_NOTES.into());
        }
    }
}

/// A pause in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct PauseStatus {
    /// The command that began it.
    pub command: crate::ids::CommandId,
    /// What is left of its lease, in ns.
    pub lease_left_ns: u64,
}

/// Whether and since when calls are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RecordingStatus {
    /// Ranks whose calls are recorded.
    pub on: u32,
    /// Ranks that run unobserved.
    pub off: u32,
    /// Where the answers begin: the last reset or start of a window, in job time; 0 is the start of
    /// the job.
    pub since_ns: u64,
    /// Job time of this answer, in ns: where the answers end unless a window has.
    pub now_ns: u64,
    /// How far a place's idea of job time may be off, in ns.
    pub clock_error_ns: u64,
    /// The last window.
    pub window: Option<WindowStatus>,
    /// The measurement was shut down.
    pub shut_down: bool,
}

/// A window of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct WindowStatus {
    /// The command that began it.
    pub command: crate::ids::CommandId,
    /// Where it starts, in job time.
    pub from_ns: u64,
    /// Where it ends, in job time.
    pub to_ns: u64,
    /// Ranks of which everything in it has been taken.
    pub complete: u32,
}
