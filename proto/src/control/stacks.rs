//! Answers about call paths: the current path of each rank, merged into one prefix tree.
//!
//! Durations are in nanoseconds.

use crate::ids::Rank;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// Nodes of an answer's tree: what a person reads on some screens, and room for ranks that are
/// everywhere. Levels near the root stay before those below; of one level the first in the order of
/// their paths.
pub const NODES_MAX: usize = 2048;
/// Frames of a path: a deeper one, a recursion, is given without its middle.
pub const DEPTH_MAX: usize = 128;
/// Ranks that a node names: the lowest.
pub const NAMED_MAX: usize = 128;
/// Source lines that a node lists: the first in their order.
pub const LINES_MAX: usize = 4;
/// Bytes of a function's name. Those of C++ templates can be thousands, of which the first say
/// most.
pub const FUNCTION_BYTES_MAX: usize = 192;
/// Bytes of a file's name.
pub const MODULE_BYTES_MAX: usize = 64;
/// Bytes of a source line's text.
pub const LINE_BYTES_MAX: usize = 96;
/// Ranges in which a question names ranks.
pub const RANGES_MAX: usize = 8;

/// Ranks that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Chosen {
    /// The lowest and the highest rank of each range; a range whose lowest is above its highest is
    /// empty.
    pub ranges: [(Rank, Rank); RANGES_MAX],
}

impl Chosen {
    /// No range.
    const NONE: (Rank, Rank) = (Rank(1), Rank(0));

    /// Every rank.
    pub const ALL: Chosen = {
        let mut ranges = [Chosen::NONE; RANGES_MAX];
        // One range that holds any job's ranks, so that nobody has to know how many there are.
        ranges[0] = (Rank(0), Rank(u32::MAX));
        Chosen { ranges }
    };

    /// These ranges; nothing where they are too many.
    pub fn of(given: &[(Rank, Rank)]) -> Option<Chosen> {
        let mut ranges = [Chosen::NONE; RANGES_MAX];
        // The query is `Copy` and of fixed size: every member gets it without an allocation.
        ranges.get_mut(..given.len())?.copy_from_slice(given);
        Some(Chosen { ranges })
    }

    /// Whether a rank is among them.
    pub fn holds(&self, rank: Rank) -> bool {
        self.ranges
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&rank))
    }
}

/// A function at an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Named {
    /// Its name; empty where the file does not name it.
    pub function: String,
    /// The source line; empty where the file does not name it.
    pub line: String,
}

/// What a step of a call path is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Frame {
    /// The path could not be followed to its beginning: its callers are not known.
    Lost,
    /// Frames that are left out of a path that is too deep.
    LeftOut,
    /// A function, also one that was inlined.
    Function {
        /// The name of the file that it is in; empty for code in no file.
        module: String,
        /// Its name; empty where the file does not name it.
        name: String,
    },
    /// A Python function.
    Python {
        /// The name of its source file.
        file: String,
        name: String,
    },
}

/// A node of the tree: calls of one function by the same callers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Node {
    /// How deep it lies: 0 has no caller.
    pub depth: u8,
    pub frame: Frame,
    /// Ranks that are here or below.
    pub ranks: u32,
    /// Their threads.
    pub threads: u64,
    /// Threads that are here and not below; what is neither here nor in a node below is in one that
    /// was cut off.
    pub ends: u64,
    /// The lowest of the ranks, [`NAMED_MAX`] at most. The first of them represents all.
    pub named: Vec<Rank>,
    /// Where in the function: source lines, or offsets in the file where there are none, each with
    /// its threads; [`LINES_MAX`] at most.
    pub lines: BTreeMap<String, u64>,
}

/// How a thread's path was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Way {
    /// It was stopped for a moment.
    Stopped,
    /// It slept in a system call that would have noticed a stop, and was read as it lay.
    Asleep,
    /// It could not be stopped; given is what is known without.
    Unstopped(UnstoppedReason),
    /// Nothing is known of it.
    Missing(UnstoppedReason),
}

/// Why a thread was not stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum UnstoppedReason {
    /// The rank has not called `MPI_Init` yet.
    Starting,
    /// It has ended.
    Ended,
    /// Its supervisor did not answer in time.
    Silent,
    /// The kernel does not allow it.
    Forbidden,
    /// Another program traces it, which only one can.
    Traced,
    /// It is in the kernel and does not come out.
    InKernel,
}

/// Why the Python functions of a path are not told, of which only the interpreter's are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum NoPython {
    /// Where this version of CPython keeps them is not known.
    Version { major: u8, minor: u8 },
    /// The interpreter has no global lock, and keeps them otherwise.
    FreeThreaded,
    /// A file has an interpreter's name, and does not say where its tables are.
    NoRuntime,
    /// What stands in the interpreter's tables makes no sense.
    Unreadable,
}

/// Threads, and of which ranks they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Whose {
    pub ranks: u32,
    /// How many threads; a rank of which nothing is known counts as one.
    pub threads: u64,
    /// The lowest of the ranks, [`NAMED_MAX`] at most.
    pub named: Vec<Rank>,
}

/// The call paths of some ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Stacks {
    /// The tree: each node before those that it called, these in their order; [`NODES_MAX`] at
    /// most.
    pub nodes: Vec<Node>,
    /// How the paths were taken, and where there is none.
    pub ways: BTreeMap<Way, Whose>,
    /// Ranks that were asked about.
    pub ranks: u32,
    /// Threads that are left out, where a rank has too many.
    pub left_out: u64,
    /// Threads with a frame whose name did not come in time; the next answer has it.
    pub unnamed: u64,
    /// The longest time that a thread was stopped for this, and of which rank.
    pub longest_stop: Option<(u64, Rank)>,
    /// Threads whose Python functions are not in the tree, and why.
    pub no_python: BTreeMap<NoPython, Whose>,
}
