//! What the text files of a saved observation say. Times are job time in ns, sizes bytes.

use serde::{Deserialize, Serialize};

/// The version of the directory's form. A reader takes this one; a change of what is written raises
/// it.
pub const VERSION: u32 = 1;

/// The name of the file with [`About`].
pub const ABOUT_FILE: &str = "observation.json";
/// The name of the file with a [`Location`] in each line.
pub const LOCATIONS_FILE: &str = "locations.jsonl";
/// The name of the file with a [`Communicator`] in each line.
pub const COMMUNICATORS_FILE: &str = "communicators.jsonl";
/// The name of the folder of events.
pub const EVENTS_FOLDER: &str = "events";

/// What an observation is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// [`VERSION`].
    pub version: u32,
    /// The program that wrote it.
    pub writer: String,
    /// The job.
    pub job: Job,
    /// Since when the job was observed, in job time; 0 where that was not saved.
    #[serde(default)]
    pub observed_from_ns: u64,
    /// Begin of the interval.
    pub from_ns: u64,
    /// End of the interval: calls that began later do not belong to it.
    pub to_ns: u64,
    /// No interval was asked for: all that the buffers held.
    #[serde(default)]
    pub is_all: bool,
    /// When the save was asked for, in ns since 1970, by the clock of the host where it was
    /// written.
    pub saved_unix_ns: u64,
    /// How far job time may be off on any of the nodes.
    pub clock_error_ns: u64,
    /// Locations in the observation.
    pub locations: u64,
    /// Communicators whose members are known.
    pub communicators: u64,
    /// Tool processes that did not answer, by their number in the whole MPI job.
    pub missing: Vec<u32>,
    /// Names of functions: events name them by their index.
    pub functions: Vec<String>,
    /// What buffers keep when not everything fits.
    pub strategy: String,
}

/// The job that was observed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// Ranks of the application.
    pub ranks: u32,
    /// The MPI library's family, as `ompi`.
    pub family: String,
    /// The MPI library's own version line.
    pub library: String,
    /// The host of the root.
    pub host: String,
    /// How it was started.
    pub command: Vec<String>,
}

/// One location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub rank: u32,
    pub thread: u32,
    /// Where it ran.
    pub host: String,
    /// What its rank was doing.
    pub state: String,
    /// Its file of events.
    pub events: Events,
    /// Ticks and the job time that they stand for; rising, a straight line between two of them.
    pub clock: Vec<(u64, u64)>,
    /// How far job time may be off on its node.
    pub clock_error_ns: u64,
    /// Communicators of the rank, with its first location.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub communicators: Vec<Membership>,
    /// Communicators of the rank that are not told.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub communicators_left_out: u64,
    /// Begin and end of the rank's pauses, with its first location: the newest 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<(u64, u64)>,
    /// Since when a unit of the samples' ordinals stands for how many ns on a processor, with the
    /// rank's first location: the newest 64; 0 while it was not sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paces: Vec<(u64, u64)>,
    /// The call that it was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenCall>,
    /// The regions that it was in, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_regions: Vec<OpenRegion>,
    /// Regions of the program that the rank has met, with its first location: visits name them by
    /// their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<Region>,
    /// Where its visits of regions are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<Counters>,
    /// Calling contexts that the rank was met in, with its first location: samples name them by
    /// their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<Context>,
    /// Where its samples are; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Counters>,
    /// Where its calls are.
    pub ledger: Ledger,
    /// Records that the buffer lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<Loss>,
    /// Of what ended later than this nothing is missing; absent if nothing was ever given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_until_ns: Option<u64>,
    /// The buffer went to another thread while it was saved: events are missing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_cut: bool,
}

/// A file of events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// Its name below the directory.
    pub file: String,
    pub bytes: u64,
    /// CRC-32 of the whole file, in hexadecimal digits.
    pub crc32: String,
    /// Bins in it.
    pub bins: u64,
    /// Chains of bins.
    pub chains: u32,
}

/// A rank's number of a communicator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The rank's own number for it: events name it so.
    pub number: u32,
    /// The communicator; of an intercommunicator, the side that the rank is on.
    pub id: CommId,
    /// The group that peers are numbered in.
    pub peers: CommId,
    /// The rank's own rank in it.
    pub rank: u32,
}

/// The name of a communicator in the whole job: its rank 0, and a number of that.
pub type CommId = (u32, u32);

/// A communicator's members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Communicator {
    pub id: CommId,
    /// Pieces: the rank in the communicator of the first member, and runs of members.
    pub pieces: Vec<(u32, Vec<Run>)>,
}

/// Ranks of the job: the first, the distance of neighbours, and how many.
pub type Run = (u32, i32, u32);

/// A region of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// The rank's own number for it.
    pub number: u16,
    /// As the program marks it, or the function's; of a function that its file does not name, the
    /// file and the address in it.
    pub name: String,
    /// The source line at which a function begins; empty where that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub line: String,
    /// It is a function, not a stretch that the program marks.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_function: bool,
}

/// A region that was entered and not left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRegion {
    /// The rank's own number for it.
    pub number: u16,
    /// When it was entered, in ticks.
    pub begin_ticks: u64,
    /// The same in job time.
    pub begin_ns: u64,
    /// Which of the location's threads, one after the other, is in it.
    pub occupant: u32,
}

/// A calling context: a function with the functions that called it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The rank's own number for it, from 1.
    pub number: u32,
    /// The number of the caller's context, which is lower; 0 where there is no caller.
    #[serde(default, skip_serializing_if = "is_none")]
    pub parent: u32,
    /// What is there.
    #[serde(default, skip_serializing_if = "FrameKind::is_function")]
    pub kind: FrameKind,
    /// The file that the function is in, of a Python function its source file; `[kernel]` for the
    /// kernel, empty for code in no file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub module: String,
    /// The function's name; empty where the file does not name it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// What is at a place in a call path, by the names that the gateway has for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameKind {
    /// A function, also one that was inlined.
    #[default]
    Function,
    /// A Python function.
    Python,
    /// The path could not be followed to its beginning: its callers are not known.
    Lost,
    /// Frames that are left out of a path that is too deep.
    #[serde(rename = "left out")]
    LeftOut,
}

impl FrameKind {
    /// By its name at the gateway; nothing is known of what has another one.
    pub fn named(name: &str) -> FrameKind {
        match name {
            "function" => FrameKind::Function,
            "python" => FrameKind::Python,
            "left out" => FrameKind::LeftOut,
            _ => FrameKind::Lost,
        }
    }

    /// What most are, which is not written.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn is_function(&self) -> bool {
        *self == FrameKind::Function
    }
}

/// Where visits of regions or samples are: stored = kept + reduced + dropped + reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    pub stored: u64,
    /// In the buffer: those of the observation and, of a part of the time, others.
    pub kept: u64,
    /// Given up by the buffer.
    pub reduced: u64,
    /// There was no room while a save was under way.
    pub dropped: u64,
    /// Forgotten by a reset or a window.
    pub reset: u64,
}

/// A call that was entered and not left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The function; empty where nobody noted which.
    pub function: String,
    pub begin_ns: u64,
    /// Which of the location's threads, one after the other, is in it.
    pub occupant: u32,
}

/// Where calls are: entered = open + in flight + kept + reduced + dropped + reset + not selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    pub entered: u64,
    pub open: u64,
    /// Left, and not read yet.
    pub in_flight: u64,
    /// In the buffer: those of the observation and, of a part of the time, others.
    pub kept: u64,
    /// Given up by the buffer.
    pub reduced: u64,
    /// Lost on the way.
    pub dropped: u64,
    /// Forgotten by a reset or a window.
    pub reset: u64,
    /// Not recorded, as their functions were not selected.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_selected: u64,
}

/// Records that a buffer lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// What their level held.
    pub level: String,
    /// Their class, as "call".
    pub class: String,
    /// Why, as "room".
    pub reason: String,
    pub records: u64,
    /// The first of their ends.
    pub first_ns: u64,
    /// The last of their ends.
    pub last_ns: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(flag: &bool) -> bool {
    !flag
}
