//! What was asked for, and what it may come to.

use invivo_grpc::v1::{CallSitesReply, GridReply, JobStatus, ProfileReply, WaitStatesReply};
use serde::{Deserialize, Serialize};

/// From this parallel efficiency on there is nothing to say.
pub(super) const GOOD: f64 = 0.85;
/// From this share of the time in MPI on waiting is what the ranks do there.
pub(super) const WAITS: f64 = 0.5;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// At the end of the interval.
    pub status: JobStatus,
    /// Of computing over the interval, in many columns.
    pub grid: GridReply,
    /// The call sites at the beginning and at the end.
    pub before: CallSitesReply,
    pub after: CallSitesReply,
    /// The wait states at the beginning and at the end.
    pub waits_before: WaitStatesReply,
    pub waits_after: WaitStatesReply,
    /// Between the two, in ns.
    pub interval_ns: u64,
    /// Samples of the rank that computes longest, taken in the interval, where it is sampled; see
    /// `culprit`.
    pub samples: Option<ProfileReply>,
    /// Of computing (`COMPUTE`) and of `METRICS`, by rank and over the same time in the
    /// interval, where they are measured.
    pub measured: Vec<GridReply>,
    /// Of `MOVED`, from the beginning of the observed time to the end of the interval, where ranks
    /// communicate.
    pub moved: Vec<GridReply>,
    pub time: Time,
}

impl Seen {
    /// Where the time ends that was looked at, in ns since the beginning of the observed time.
    pub(super) fn end_ns(&self) -> u64 {
        match self.time {
            Time::Past { to_ns, .. } => to_ns,
            Time::Lately | Time::Whole => self.grid.observed_ns,
        }
    }
}

/// Which time was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// That until now.
    #[default]
    Lately,
    /// That of a whole run, which is over.
    Whole,
    /// A time of a running job that has been kept, in ns since the beginning of the observed time.
    Past { from_ns: u64, to_ns: u64 },
}

/// Which kind of limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The job computes.
    None,
    /// The ranks do not wait for each other, but for processors.
    NoProcessor,
    /// The ranks do not wait for each other, but threads of theirs are idle.
    IdleThreads,
    /// The same of ranks with one thread: it waits for something else, or sleeps.
    OffProcessor,
    /// Nothing can be said of it.
    Unknown,
    /// No MPI call has ended.
    Standstill,
    /// One rank computes longer than the others, or shorter, or two compute longer.
    LoadBalance,
    /// Ranks wait for each other in turn.
    Serialisation,
    /// Time in MPI that ranks spend alike.
    Communication,
}

impl Limit {
    /// Whether ranks lose their time in MPI.
    pub(super) fn is_of_waiting(self) -> bool {
        matches!(
            self,
            Limit::LoadBalance | Limit::Serialisation | Limit::Communication
        )
    }
}
