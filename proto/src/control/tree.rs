//! Messages between the nodes of the tree.

use super::analyses::{AnalysesStatus, AnalysisSet};
use super::buffers::{Buffers, Cursor, Records};
use super::grid::{Grid, GridQuery};
use super::hang::Hang;
use super::metrics::{Measured, MetricsStatus};
pub use super::order::{Order, Verb};
use super::profile::{Past, Profile};
use super::regions::RegionTable;
use super::results::{Coverage, FunctionTable, Group, JobStatus, Matrix, Messages};
use super::sampling::Sampling;
use super::saved::{SaveQuery, Saved};
use super::selection::{Selection, SelectionStatus};
use super::sites::SiteTable;
use super::stacks::{Chosen, Stacks};
use super::strategy::Strategy;
use super::timeline::{Timeline, TimelinePosition};
use super::wait_states::WaitStates;
use super::whereabouts::Whereabouts;
use crate::ids::{CommId, CommandId, LocationId, Rank, WaveId, WorldRank};
use alloc::boxed::Box;
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
    /// The answer to [`Up::WhatTime`]; for the child that asked alone.
    Time {
        /// As in the question.
        asked_ns: u64,
        /// Job time when the question was answered, in ns.
        job_ns: u64,
        /// How far that may be off, in ns.
        error_ns: u64,
        /// The parent's own clock at the same moment, in ns: of use to a child that has the same.
        parent_ns: u64,
        /// Where the parent runs.
        here: Whereabouts,
    },
    /// The answer to [`Up::WantGroups`]; for those that asked alone.
    Groups(BTreeMap<CommId, Group>),
    /// What the ended ranks left behind has been reported: let their supervisors leave.
    Release,
    /// Everything has been said: finalise MPI and leave.
    Shutdown,
    /// The analyses that are on from the start; before [`Down::Job`], and only where they are not
    /// the usual ones.
    Analyses(AnalysisSet),
}

/// From a child to its parent.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[allow(
    clippy::large_enum_variant,
    reason = "messages are moved once or twice, a box would cost more than the copy"
)]
pub enum Up {
    /// The first message: how many ranks are below.
    Hello {
        /// Ranks below this child.
        ranks: u32,
    },
    /// A command is done on all ranks below, or names those on which it is not.
    Ack {
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
        /// Tool processes below that did not answer, the lowest [`MISSING_MAX`] of them; the
        /// coverage counts them all.
        missing: Vec<WorldRank>,
    },
    /// Groups of communicators whose rank 0 is below.
    Groups(BTreeMap<CommId, Group>),
    /// Whose members are these? Asked by places that met peers on them.
    WantGroups(Vec<CommId>),
    /// What is the job time? Each child measures the way to its parent, each parent answers at
    /// once.
    WhatTime {
        /// The child's own clock when it asked, in ns.
        asked_ns: u64,
        /// Where the child runs.
        here: Whereabouts,
    },
    /// A rank ended otherwise than through `MPI_Finalize`; its supervisor holds the job's end back.
    RankEnded(RankEnded),
    /// Every rank below has drained or ended, and everything they recorded has been taken.
    Drained,
    /// Where the thread was that ended a rank: right before its [`Up::RankEnded`].
    RankFaulted(alloc::boxed::Box<super::fault::RankFaulted>),
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
    /// The ranks are held right after `MPI_Init`, for so long at most, in ns; 0 they are not.
    pub hold_lease_ns: u64,
    /// Whether recording is on from the start.
    pub recording: bool,
    /// What buffers keep when not everything fits.
    pub strategy: Box<Strategy>,
    /// How each rank is sampled from the start.
    pub sampling: Sampling,
    /// What of regions and functions is recorded from the start.
    pub selection: Box<Selection>,
    /// What is measured of each rank from the start.
    pub metrics: Box<Measured>,
}

/// A command with its identity.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Command {
    /// The same id twice is the same command: the second is answered like the first and not done
    /// again.
    pub id: CommandId,
    pub verb: Verb,
}

/// Where a cut lay on the ranks: the same point in job time on all of them, if every place heard of
/// it in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Cut {
    /// The earliest of any place, in job time.
    pub earliest_ns: u64,
    /// The latest of any place, in job time. Equal to the earliest unless a place heard of it too
    /// late.
    pub latest_ns: u64,
    /// How far a place's idea of job time may be off, in ns.
    pub error_ns: u64,
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
    /// Tool processes that did not answer, the lowest [`MISSING_MAX`] of them: the ranks below them
    /// are not in `done`.
    pub missing: Vec<WorldRank>,
    /// Where a reset, a switch of recording or the start of a window lay.
    pub from: Option<Cut>,
    /// Where the end of a window lay.
    pub to: Option<Cut>,
    /// Of a window: job time at which the last place had taken all of it, in ns.
    pub complete_ns: u64,
    /// Calls that straddled a cut: they are clipped and marked.
    pub clipped: u64,
    /// Calls that were still open when the window was complete; they began in it or before it.
    pub open: u64,
}

/// Failures that an acknowledgement names: enough to see a pattern, few enough to read.
pub const FAILURES_MAX: usize = 16;
/// Missing tool processes that an answer or an acknowledgement names, so that its size does not
/// grow with the job.
pub const MISSING_MAX: usize = 16;

/// A question to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Query {
    /// The MPI function table.
    Functions {
        /// Rows per rank and function beside the merged ones, at most: those with the most time.
        rank_rows_max: u32,
        /// Only of calls that ended in this time; otherwise of all since the start or a reset.
        past: Option<Past>,
    },
    /// The communication matrix.
    Matrix {
        /// Rows and columns, at most: where there are more ranks, neighbours share a block.
        side_max: u32,
        /// As in [`Query::Functions`].
        past: Option<Past>,
    },
    /// What the ranks are doing.
    Status,
    /// Point-to-point messages, sends matched with their receives.
    Messages {
        /// As in [`Query::Functions`].
        past: Option<Past>,
    },
    /// What the buffers hold and what they gave up.
    Buffers,
    /// What one location's buffer keeps, a page of it.
    Records {
        /// Whose. A place that has no such location answers nothing.
        location: LocationId,
        /// Only what ended at this job time or later, in ns.
        from_ns: u64,
        /// Only what ended before this job time, in ns.
        to_ns: u64,
        /// Where the page begins; nothing is the oldest.
        after: Option<Cursor>,
        /// Calls, parts of calls, samples and their values, at most; more than
        /// [`super::buffers::PAGE_MAX`] are not given.
        max: u32,
    },
    /// What neighbouring locations keep, a page of it. The place that has the rank that it begins
    /// at answers, with its own ranks alone.
    Timeline {
        /// Where the page begins.
        from: TimelinePosition,
        /// Only calls that ended at this job time or later, in ns.
        from_ns: u64,
        /// Only calls that began before this job time, in ns.
        to_ns: u64,
        /// The newest calls of each location, at most.
        newest: u64,
        /// Calls and parts of calls, at most; more than [`super::timeline::TIMELINE_PAGE_MAX`] are
        /// not given.
        max: u32,
    },
    /// What the ranks wait for.
    Hang {
        /// Only of ranks that have done nothing new for so long it is looked for what, in ns.
        older_ns: u64,
    },
    /// Where the ranks are.
    Stacks {
        /// Which ranks.
        chosen: Chosen,
        /// All threads of each, or the first one alone.
        threads: bool,
    },
    /// Which analyses are on, and when they were not.
    Analyses,
    /// What the ranks did over time.
    Grid(GridQuery),
    /// Calls by where in the program they are made, and waiting in them.
    Sites {
        /// Rows, at most: those with the most time; more than [`super::sites::ROWS_MAX`] are not
        /// given.
        rows_max: u32,
        /// As in [`Query::Regions`].
        named: bool,
        /// As in [`Query::Functions`].
        past: Option<Past>,
    },
    /// What the buffers hold, in their own bytes: of a save.
    Save(SaveQuery),
    /// Who waits for whom.
    WaitStates {
        /// Rows by rank, at most: those that waited longest, and as many that made others wait
        /// longest; more than [`super::wait_states::RANKS_MAX`] are not given.
        ranks_max: u32,
        /// As in [`Query::Functions`].
        past: Option<Past>,
    },
    /// Where the ranks spend their time on a processor, by samples.
    Profile {
        /// Which ranks.
        chosen: Chosen,
        /// Only of samples that buffers keep of this time; otherwise of all since sampling began.
        past: Option<Past>,
    },
    /// Time by region of the program.
    Regions {
        /// Rows, at most: those with the most time; more than [`super::regions::ROWS_MAX`] are not
        /// given.
        rows_max: u32,
        /// Names of functions that nobody knows yet are looked up, which takes supervisors most of
        /// a second, or more where a program is large. Else what is known is answered at once.
        named: bool,
        /// As in [`Query::Functions`].
        past: Option<Past>,
    },
    /// What is recorded of regions and functions.
    Selection,
    /// What is measured of the ranks, and what could be.
    Metrics,
}

/// Part of an answer.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Partial {
    /// To [`Query::Functions`].
    Functions(FunctionTable),
    /// To [`Query::Matrix`].
    Matrix(Matrix),
    /// To [`Query::Status`].
    Status(JobStatus),
    /// To [`Query::Messages`].
    Messages(Box<Messages>),
    /// To [`Query::Buffers`].
    Buffers(Buffers),
    /// To [`Query::Records`].
    Records(Records),
    /// To [`Query::Timeline`].
    Timeline(Timeline),
    /// To [`Query::Hang`].
    Hang(Box<Hang>),
    /// To [`Query::Stacks`].
    Stacks(Box<Stacks>),
    /// To [`Query::Analyses`].
    Analyses(Box<AnalysesStatus>),
    /// To [`Query::Grid`].
    Grid(Box<Grid>),
    /// To [`Query::Sites`].
    Sites(Box<SiteTable>),
    /// To [`Query::Save`].
    Saved(Box<Saved>),
    /// To [`Query::WaitStates`].
    WaitStates(Box<WaitStates>),
    /// To [`Query::Profile`].
    Profile(Box<Profile>),
    /// To [`Query::Regions`].
    Regions(Box<RegionTable>),
    /// To [`Query::Selection`].
    Selection(Box<SelectionStatus>),
    /// To [`Query::Metrics`].
    Metrics(Box<MetricsStatus>),
}

/// How a rank ended.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RankEnded {
    pub rank: Rank,
    /// Its exit code, or the signal that killed it.
    pub how: Ended,
    /// The MPI call that it was in, or nothing; number 0 where recording was off, so that nobody
    /// noted which.
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
