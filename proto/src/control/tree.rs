//! Messages between the nodes of the tree.

use super::results::{Coverage, FunctionTable, Group, JobStatus, MatrixPartial};
use crate::ids::{CommId, CommandId, Rank, WaveId, WorldRank};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// From a parent to its children.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Down {
    /// The first message: which job this is.
    Job(JobInfo),
    /// Do something on the ranks.
    Command(Command),
    /// Answer with a [`Up::Partial`].
    Query {
        /// The round.
        wave: WaveId,
        /// The question.
        query: Query,
    },
    /// The root is alive.
    Heartbeat,
    /// What the ended ranks left behind has been reported: let their supervisors leave.
    Release,
    /// Everything has been said: finalise MPI and leave.
    Shutdown,
}

/// From a child to its parent.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Up {
    /// The first message: how many ranks are below.
    Hello {
        /// Ranks below this child.
        ranks: u32,
    },
    /// A command is done on all ranks below, or names those on which it is not.
    Ack {
        /// The command.
        command: CommandId,
        /// How it went.
        acks: Acks,
    },
    /// Part of an answer.
    Partial {
        /// The round.
        wave: WaveId,
        /// The merged answer of everything below.
        partial: Partial,
        /// How much of the truth it is.
        coverage: Coverage,
        /// Tool processes below that did not answer, the lowest [`MISSING_MAX`] of them; the coverage
        /// counts them all.
        missing: Vec<WorldRank>,
    },
    /// Groups of communicators whose rank 0 is below.
    Groups(BTreeMap<CommId, Group>),
    /// A rank ended otherwise than through `MPI_Finalize`; its supervisor holds the job's end back.
    RankEnded(RankEnded),
    /// Every rank below has drained or ended, and everything they recorded has been taken.
    Drained,
}

/// Which job this is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct JobInfo {
    /// The job's id.
    pub id: String,
    /// Bytes of one location's buffer.
    pub buffer_bytes: u64,
    /// Bytes of all buffers of one place.
    pub budget_bytes: u64,
}

/// A command with its identity.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Command {
    /// The same id twice is the same command: the second is answered like the first and not done again.
    pub id: CommandId,
    /// What to do.
    pub verb: Verb,
}

/// What can be done to the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Verb {
    /// The application stands still until resumed, for at most `lease_ns`.
    Pause {
        /// The longest that it stands, in ns.
        lease_ns: u64,
    },
    /// It runs again.
    Resume,
}

/// Merged acknowledgements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Acks {
    /// Ranks that the command was meant for.
    pub targets: u32,
    /// Ranks on which it is done.
    pub done: u32,
    /// Of these, ranks in an MPI call that will be held when they leave it.
    pub held_in_mpi: u32,
    /// Of these, ranks of which some threads still run.
    pub partly: u32,
    /// The rank that took longest and its time in ns, from the command's arrival at its place.
    pub slowest: Option<(Rank, u64)>,
    /// Ranks on which it is not done, with the reason; at most [`FAILURES_MAX`].
    pub failures: Vec<(Rank, String)>,
    /// Tool processes that did not answer, the lowest [`MISSING_MAX`] of them: the ranks below them are not in
    /// `done`.
    pub missing: Vec<WorldRank>,
}

/// Failures that an acknowledgement names: enough to see a pattern, few enough to read.
pub const FAILURES_MAX: usize = 16;
/// Missing tool processes that an answer or an acknowledgement names, so that its size does not grow with the
/// job.
pub const MISSING_MAX: usize = 16;

/// A question to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Query {
    /// The MPI function table.
    Functions {
        /// One row per rank and function beside the merged ones.
        per_rank: bool,
    },
    /// The communication matrix.
    Matrix,
    /// What the ranks are doing.
    Status,
}

/// Part of an answer.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Partial {
    /// To [`Query::Functions`].
    Functions(FunctionTable),
    /// To [`Query::Matrix`].
    Matrix(MatrixPartial),
    /// To [`Query::Status`].
    Status(JobStatus),
}

/// How a rank ended.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RankEnded {
    /// Which.
    pub rank: Rank,
    /// Its exit code, or the signal that killed it.
    pub how: Ended,
    /// The MPI call that it was in, or nothing.
    pub inside: Option<crate::ids::RegionId>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Ended {
    /// `exit(code)`.
    Code(i32),
    /// Killed by a signal.
    Signal(i32),
}
