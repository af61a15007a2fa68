//! Messages between a rank's supervisor and the place of its node, one per packet of a
//! `SOCK_SEQPACKET` Unix socket.

use super::contexts::{Context, Taken};
use super::fault::Fault;
use super::hang::{Side, Threads};
use super::metrics::{Measured, NoMetric, Reading, SystemMetric};
use super::profile::{self, NoSamples, Sampled};
use super::sampling::Sampling;
pub use super::stacks::Named;
use super::stacks::{NoPython, UnstoppedReason, Way};
use super::tree::Ended;
pub use crate::definition::{BUILD_ID_BYTES_MAX, PATH_BYTES_MAX};
use crate::ids::{CommLocal, Rank, RegionId};
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// From a supervisor to the place.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FromSupervisor {
    /// The first message; the rank's memory comes with it as a descriptor.
    Attach {
        rank: Rank,
        /// The application's process.
        pid: u32,
    },
    /// The answer to [`ToSupervisor::Stop`] or [`ToSupervisor::Continue`].
    Acted {
        /// The generation asked for.
        generation: u32,
        outcome: Outcome,
    },
    /// The application has ended; the supervisor waits for [`ToSupervisor::Leave`].
    Ended(Ended),
    /// The answer to [`ToSupervisor::Inspect`].
    Inspected {
        /// As in the question.
        inspection: u32,
        /// What the rank is about; nothing where that cannot be seen.
        call: Option<PendingCall>,
    },
    /// To [`ToSupervisor::Unwind`], once for each thread.
    Unwound {
        /// As in the question.
        unwinding: u32,
        /// Where the thread is.
        thread: UnwoundThread,
        /// Threads of the rank that are reported after this one.
        rest: u32,
    },
    /// The answer to [`ToSupervisor::Name`].
    Named {
        /// As in the question.
        module: Module,
        /// For each offset what is there: the function, behind those that were inlined into it.
        /// None where nothing is known.
        named: Vec<(u64, Vec<Named>)>,
    },
    /// Before [`FromSupervisor::Ended`]: where the thread was that ended the application.
    Faulted(Fault),
    /// The answer to [`ToSupervisor::Sample`].
    Sampling {
        /// As in the order.
        sampling: u32,
        /// Why the rank is not sampled now, if it was to be.
        outcome: Result<(), NoSamples>,
    },
    /// To [`ToSupervisor::Profile`], in one or more parts.
    Profiled {
        /// As in the question.
        profile: u32,
        /// What was seen, the same in all parts; or why there is nothing.
        seen: Result<Sampled, NoSamples>,
        /// The nodes that follow those of the part before, [`PROFILE_PART_MAX`] at most.
        nodes: Vec<profile::Node>,
        /// Parts that come after this one.
        rest: u32,
    },
    /// Calling contexts that were met: the numbers from `first` on. They come before the samples
    /// that were taken in them.
    Contexts {
        first: u32,
        /// [`super::contexts::CONTEXTS_PART_MAX`] at most.
        contexts: Vec<Context>,
    },
    /// Samples of one thread, in order of their time.
    Samples {
        /// The thread, as the kernel numbers it.
        tid: u32,
        /// How often the frequency is halved with which the last of them was taken.
        halvings: u32,
        /// Samples of all threads of the rank that were taken so far and are not told here.
        left_out: u64,
        /// [`super::contexts::SAMPLES_PART_MAX`] at most.
        taken: Vec<Taken>,
    },
    /// The answer to [`ToSupervisor::Measure`].
    Measuring {
        /// As in the order.
        measuring: u32,
        /// What is measured now; or what cannot be and why: then the rank is measured as before.
        outcome: Result<Measured, (SystemMetric, NoMetric)>,
    },
    /// What was measured, at each interval.
    Measured(Reading),
    /// Once a second while the rank is sampled or measured, and once behind that.
    Spent {
        /// Time on a processor that both took so far beside the rank, in ns.
        cpu_ns: u64,
        /// Time that samples took so far from the rank itself, in the kernel, in ns: an estimate,
        /// from what one costs on this machine.
        in_rank_ns: u64,
    },
    /// The answer to [`ToSupervisor::TryMetrics`].
    MetricsTried {
        /// As in the question.
        trying: u32,
        /// Those that cannot be measured; all others can.
        without: Vec<(SystemMetric, NoMetric)>,
    },
}

/// Where a thread is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct UnwoundThread {
    /// How that was seen.
    pub way: Way,
    /// How long the thread was stopped for it at most, in ns.
    pub stop_ns: u64,
    /// Files that the path goes through, [`MODULES_MAX`] at most.
    pub modules: Vec<Module>,
    /// The path, where the thread is first; [`super::stacks::DEPTH_MAX`] steps at most.
    pub path: Vec<Step>,
    /// The last step has no caller; otherwise its callers are not known.
    pub is_whole: bool,
    /// Threads of the rank that are not reported at all.
    pub left_out: u32,
    /// Python functions of the path, which have [`PYTHON_BYTES_MAX`] of names together.
    pub python: Vec<PythonFunction>,
    /// Why those that there are, are not in the path.
    pub no_python: Option<NoPython>,
}

impl UnwoundThread {
    /// A thread of which nothing is known, and why.
    pub fn unknown(why: UnstoppedReason) -> UnwoundThread {
        UnwoundThread {
            way: Way::Missing(why),
            stop_ns: 0,
            modules: Vec::new(),
            path: Vec::new(),
            is_whole: false,
            left_out: 0,
            python: Vec::new(),
            no_python: None,
        }
    }
}

/// A step of a thread's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Step {
    /// Code in a file: an address as the file was linked for.
    Code {
        /// Which of the files.
        module: u8,
        /// Where the thread is, or within the call that it is to come back from.
        offset: u64,
    },
    /// Code in no file, or in one that is not named.
    Nowhere,
    /// Steps that are left out.
    LeftOut,
    /// A Python function.
    Python {
        /// Which of the thread's.
        function: u8,
    },
}

/// A Python function, and where a thread is in it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PythonFunction {
    /// Its name, with that of its class where the interpreter has it so;
    /// [`super::stacks::FUNCTION_BYTES_MAX`] at most.
    pub name: String,
    /// The name of its file, [`super::stacks::MODULE_BYTES_MAX`] at most.
    pub file: String,
    /// The line; 0 where it has none.
    pub line: u32,
}

impl PythonFunction {
    /// The line as text, `solve.py:12`; empty where there is none.
    pub fn place(&self) -> String {
        match self.line {
            0 => String::new(),
            line => alloc::format!("{}:{line}", self.file),
        }
    }
}

/// A file with code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Module {
    /// Its path, [`PATH_BYTES_MAX`] at most; `[vdso]` for what the kernel brings.
    pub path: String,
    /// What its linker wrote to distinguish it from others of its name; empty where it wrote
    /// nothing.
    pub build_id: Vec<u8>,
}

/// Files of one path: each of them has room for a path of [`PATH_BYTES_MAX`] in a message.
pub const MODULES_MAX: usize = 32;
/// Offsets of one question for names.
pub const OFFSETS_MAX: usize = 8;
/// Functions at one address: those that were inlined there.
pub const INLINED_MAX: usize = 5;
/// Bytes of the names and files of a path's Python functions: some hundred functions.
pub const PYTHON_BYTES_MAX: usize = 8192;
/// Nodes of a profile in one message: with the longest names they fit into it.
pub const PROFILE_PART_MAX: usize = 40;
/// Threads of a rank that are reported.
pub const THREADS_MAX: usize = 64;

/// What a rank is about, as its memory shows. Communicators and peers are as the rank numbers them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct PendingCall {
    /// When the call began that was looked at, in ticks: if it is another one by now, this is about
    /// the past.
    pub entered_at: u64,
    /// Of which location of the rank this is.
    pub location: u16,
    /// The function; 0 where the thread is in none.
    pub region: RegionId,
    /// Where calls are not recorded: for how long the supervisor has seen the thread where it is,
    /// in ns.
    pub unmoved_ns: Option<u64>,
    /// The rank's other threads.
    pub threads: Threads,
    /// What the call waits for.
    pub need: Need,
    /// Operations that are not complete: first those that the call waits for.
    pub operations: Vec<PendingOperation>,
    /// There are more than are listed.
    pub more_operations: bool,
    /// Collectives so far by communicator.
    pub passed: Vec<(CommLocal, u64)>,
    /// The same of windows and files, see [`super::hang::Pending::passed_shared`].
    pub passed_shared: Vec<(CommLocal, u32, u64)>,
    /// Whose parts of which windows the rank has locked.
    pub locked: Vec<(CommLocal, u32, i32)>,
    /// Where in the application's source the call is.
    pub site: Option<String>,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Need {
    /// Nothing that is known; the rank may also be in no call.
    #[default]
    Unknown,
    /// All of the operations that it waits for.
    All,
    Any,
    /// The other ranks of a communicator.
    Collective {
        comm: CommLocal,
        /// The collective's number on it.
        ordinal: u64,
        /// The root, as in [`crate::mpi::peer`].
        root: i32,
        /// On which window or file, as in [`super::hang::CollectiveCall`].
        shared: u32,
    },
}

/// An operation, as its rank knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PendingOperation {
    /// The call waits for it.
    pub waited: bool,
    pub side: Side,
    /// With whom, as in [`crate::mpi::peer`].
    pub peer: i32,
    /// On which communicator.
    pub comm: CommLocal,
    /// The tag, or [`crate::mpi::ANY_TAG`].
    pub tag: i32,
}

/// What a supervisor did.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Outcome {
    /// Every thread is stopped, outside MPI.
    Stopped,
    /// A thread is inside MPI or held by the gate, and no other thread runs: left alone.
    HeldInMpi,
    /// A thread is inside MPI while this many others run; it is tried again until it can be
    /// stopped.
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
    /// The gate was closed with this generation: stop the process where that is safe. The
    /// supervisor lets it go on again by itself when the gate's time is over.
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
    /// What is the rank about?
    Inspect {
        /// The answer repeats it.
        inspection: u32,
    },
    /// Where is the rank?
    Unwind {
        /// The answers repeat it.
        unwinding: u32,
        /// All threads, or the first one alone.
        threads: bool,
    },
    /// What is at these addresses?
    Name {
        /// Of which file; one that this supervisor has named.
        module: Module,
        /// Addresses as the file was linked for, [`OFFSETS_MAX`] at most.
        offsets: Vec<u64>,
    },
    /// Samples the rank from now on, or no longer.
    Sample {
        /// The answer repeats it.
        sampling: u32,
        /// How, before it is halved; off ends it. What was seen so far stays.
        how: Sampling,
        /// How often that is halved.
        halvings: u32,
    },
    /// Where does the rank spend its time?
    Profile {
        /// The answers repeat it.
        profile: u32,
    },
    /// Measures this of the rank from now on, instead of what was before.
    Measure {
        /// The answer repeats it, and so does each reading.
        measuring: u32,
        measured: Measured,
    },
    /// Which metrics cannot be measured of the rank?
    TryMetrics {
        /// The answer repeats it.
        trying: u32,
    },
}

/// The longest message here.
pub const LOCAL_BYTES_MAX: usize = 32768;
