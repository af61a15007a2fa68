//! Messages between the root and the gateway, on a Unix stream socket: four bytes of length
//! (little-endian), then a message. The gateway may ask several things at once; answers come in any
//! order.

use super::analyses::AnalysesStatus;
use super::buffers::{Buffers, Records};
use super::grid::Grid;
use super::hang::{Diagnosis, Hang};
use super::metrics::MetricsStatus;
use super::profile::Profile;
use super::regions::RegionTable;
use super::results::{Coverage, FunctionTable, JobStatus, Matrix, Messages};
use super::saved::Saved;
use super::selection::SelectionStatus;
use super::sites::SiteTable;
use super::stacks::Stacks;
use super::timeline::Timeline;
use super::tree::{Acks, Order, Query, RankEnded};
use super::wait_states::WaitStates;
use crate::ids::{CommandId, WorldRank};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// From the gateway to the root.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Request {
    /// Chosen by the gateway; the answer repeats it.
    pub id: u64,
    pub ask: Ask,
}

/// What the gateway can ask.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Ask {
    /// What job this is.
    Job,
    /// A question to the tree.
    Query(Query),
    /// A command to the ranks.
    Command {
        /// The same id twice is the same command.
        id: CommandId,
        order: Order,
    },
}

/// From the root to the gateway.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Response {
    pub id: u64,
    pub answer: Answer,
    /// Tool processes that did not answer, the lowest of them; the coverage counts them all.
    pub missing: Vec<WorldRank>,
}

/// What the root answers.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Answer {
    /// To [`Ask::Job`].
    Job(JobDescription),
    /// To [`Query::Functions`].
    Functions(FunctionTable, Coverage),
    /// To [`Query::Matrix`].
    Matrix(Matrix, Coverage),
    /// To [`Query::Status`].
    Status(JobStatus, Coverage),
    /// To [`Ask::Command`].
    Command(Acks),
    /// To [`Query::Messages`].
    Messages(Messages, Coverage),
    /// The request was understood and cannot be met; a sentence for the user.
    Refused(String),
    /// To [`Query::Buffers`].
    Buffers(Buffers, Coverage),
    /// To [`Query::Records`].
    Records(Records, Coverage),
    /// To [`Query::Timeline`].
    Timeline(Timeline, Coverage),
    /// To [`Query::Hang`]: what is the matter, and what that was derived from.
    Hang(Box<(Diagnosis, Hang)>, Coverage),
    /// To [`Query::Stacks`].
    Stacks(Box<Stacks>, Coverage),
    /// To [`Query::Analyses`].
    Analyses(Box<AnalysesStatus>, Coverage),
    /// To [`Query::Grid`].
    Grid(Box<Grid>, Coverage),
    /// To [`Query::Sites`].
    Sites(Box<SiteTable>, Coverage),
    /// To [`Query::Save`].
    Saved(Box<Saved>, Coverage),
    /// To [`Query::WaitStates`].
    WaitStates(Box<WaitStates>, Coverage),
    /// To [`Query::Profile`].
    Profile(Box<Profile>, Coverage),
    /// To [`Query::Regions`].
    Regions(Box<RegionTable>, Coverage),
    /// To [`Query::Selection`].
    Selection(Box<SelectionStatus>, Coverage),
    /// To [`Query::Metrics`].
    Metrics(Box<MetricsStatus>, Coverage),
}

/// What job this is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct JobDescription {
    /// The job's id.
    pub id: String,
    /// Ranks of the application.
    pub ranks: u32,
    /// Tool places.
    pub places: u32,
    /// Processes that are analysis nodes, the root included; none where tool places are all of it.
    pub nodes: u32,
    /// `ompi` or `mpich`.
    pub family: String,
    /// The MPI library's own version line.
    pub library: String,
    /// It does not run: this was saved of it.
    pub observation: Option<ObservationDescription>,
}

/// What a saved observation is of. Times in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ObservationDescription {
    /// Its begin, in job time.
    pub from_ns: u64,
    /// Its end, in job time.
    pub to_ns: u64,
    /// When it was saved, since 1970.
    pub saved_unix_ns: u64,
    /// Calls in it.
    pub calls: u64,
    /// Calls of the run that the buffers had given up by then, so that no answer has them.
    pub reduced: u64,
}

/// What the root hands to its supervisor when the job ends, on the descriptor given to it, framed
/// as above: where the job did not end well its last seconds, page by page, and then the result.
/// The supervisor closes its end when it has dealt with that. Where the job was asked to end and
/// may go on, the same comes before as an early result, which is answered with one byte.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum AtEnd {
    /// A page of the last seconds.
    Page(TimelinePage),
    Result(alloc::boxed::Box<Final>),
    /// The result as it was when the end was asked for.
    Early(alloc::boxed::Box<Final>),
    /// Which analyses were on; before each of the results.
    Analyses(Box<AnalysesStatus>),
    /// Where threads were that ended their ranks; before each of the results, where there are any.
    Faults(alloc::vec::Vec<super::fault::RankFaulted>),
    /// What the buffers hold is to be saved now; answered with one byte when that is over.
    Save,
}

/// A page of the last seconds.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct TimelinePage {
    /// Where the time begins that was asked for, in job time.
    pub from_ns: u64,
    /// Where it ends, in job time.
    pub to_ns: u64,
    pub timeline: Timeline,
    /// Tool processes that did not answer, the lowest of them.
    pub missing: Vec<WorldRank>,
}

/// The result of a job. The supervisor makes the report of it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Final {
    pub job: JobDescription,
    /// Function table with rows per rank.
    pub functions: FunctionTable,
    /// The communication matrix.
    pub matrix: Matrix,
    /// The last status.
    pub status: JobStatus,
    /// How much of the truth this is.
    pub coverage: Coverage,
    /// Ranks that ended otherwise than through `MPI_Finalize`.
    pub ended: Vec<RankEnded>,
    /// How many more of them there were.
    pub ended_left_out: u32,
    /// What the others waited for when a rank had died; nothing where none did.
    pub hang: Box<Hang>,
    /// Who waited for whom.
    pub waits: Box<WaitStates>,
    /// Time by region, where that was told in time: names of functions may take some.
    pub regions: Box<RegionTable>,
    /// Calls and waiting by where in the program, likewise.
    pub sites: Box<SiteTable>,
    /// The measurement was shut down before the job ended: the result is as it was then.
    pub shut_down: bool,
}
