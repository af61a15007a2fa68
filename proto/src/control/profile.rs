//! Answers about samples: where the ranks spend the time that they have on a processor, as a tree
//! of call paths.
//!
//! A rank's sampler looks at it at even intervals of its time on a processor; each sample stands
//! for one interval. Values are sums of these, in ns, so that ranks of different frequencies add
//! up.

use super::named_ranks::NamedRanks;
use super::stacks::Frame;
use crate::ids::Rank;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// The lowest frequency, in samples per second: a sample a second tells nothing of a short look.
pub const FREQUENCY_MIN: u32 = 1;
/// The highest: at more, a rank would spend a noticeable part of its time in the kernel's clock.
pub const FREQUENCY_MAX: u32 = 10_000;
/// The frequency where none is given: a look of ten seconds at a rank tells its shares within
/// about a hundredth, and no rhythm of programs is a multiple of it.
pub const FREQUENCY_DEFAULT: u32 = 251;
/// The same for timers, which kernels look at with their tick: the slowest has 100 a second.
pub const FREQUENCY_TIMER: u32 = 99;
/// Nodes of an answer, and of a rank's tree: of more, those with the least time are left out.
pub const NODES_MAX: usize = 2048;
/// Source lines that a node lists: those with the most time.
pub const LINES_MAX: usize = 4;

/// Where the ranks spend their time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Profile {
    /// Ranks that the answer is about.
    pub ranks: u32,
    /// Of these, ranks of which there are samples, or of which there would be if they ran.
    pub sampled: u32,
    /// Why there are none of the others.
    pub without: BTreeMap<NoSamples, NamedRanks>,
    /// What was seen.
    pub seen: Sampled,
    /// Call paths, each node before those below it: those with the most time, [`NODES_MAX`] at
    /// most. Equal callers are one node.
    pub nodes: Vec<Node>,
    /// Time of nodes that are left out, in ns: it is in the nodes above them, and in nobody's own.
    pub left_out_ns: u64,
    /// It is of samples that buffers keep of a time; otherwise of all since sampling began.
    pub kept: Option<KeptTime>,
}

/// A time in the past, in job time in ns: from its begin to before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Past {
    pub from_ns: u64,
    pub to_ns: u64,
}

/// The time whose samples were taken from buffers, and what these have given up of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeptTime {
    pub of: Past,
    /// Ranks of which some samples of that time are gone.
    pub cut_ranks: u32,
    /// When the last of these was taken, in job time in ns: what came later is complete. 0 where
    /// there are none.
    pub gone_until_ns: u64,
    /// Samples since the start that no buffer of these ranks has got, whenever they were taken:
    /// mostly those of threads that have no location.
    pub not_kept: u64,
}

/// What samplers have seen: sums over ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Sampled {
    /// Samples.
    pub samples: u64,
    /// Samples that the kernel had no room for, or timers were late for: they are in no node.
    /// Nobody knows of which time they are.
    pub lost: u64,
    /// Time on a processor that the samples stand for, in ns.
    pub cpu_ns: u64,
    /// Time since sampling began, in ns: on a processor or not, of the rank and not of each
    /// thread.
    pub elapsed_ns: u64,
    /// Time on a processor that the samplers themselves took, in ns.
    pub sampler_cpu_ns: u64,
    /// Samples a second: the lowest and the highest of any rank; 0 where there are none.
    pub frequency: (u32, u32),
    /// Ranks whose time in the kernel is not seen, because it may not be.
    pub without_kernel: u32,
    /// Samples with a frame that has no name yet; the next answer has it.
    pub unnamed: u64,
    /// Ranks that are sampled by a timer of their own: time in the kernel counts as the function's
    /// that called it.
    pub by_timer: u32,
    /// Of these, ranks of which some threads have no timer yet, or none any more.
    pub untimed: u32,
}

/// A node of the tree: a function below the same callers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Node {
    /// How deep it lies: 0 has no caller.
    pub depth: u8,
    pub frame: Frame,
    /// Time here or below, in ns.
    pub ns: u64,
    /// Time here and not below, in ns.
    pub own_ns: u64,
    /// The rank that has the most time here or below, and how much, in ns; of equal ones the
    /// lowest.
    pub most: (Rank, u64),
    /// Source lines, or offsets in the file where there are none, each with the time in the
    /// function itself and in calls from there, in ns: those with the most time, [`LINES_MAX`] at
    /// most.
    pub lines: BTreeMap<String, u64>,
}

/// Why there are no samples of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum NoSamples {
    /// Sampling has not been switched on.
    Off,
    /// The rank has not called `MPI_Init` yet.
    Starting,
    /// It had ended before.
    Ended,
    /// Its supervisor did not answer in time.
    Silent,
    /// The kernel does not allow it; the value of `kernel.perf_event_paranoid`, which is 2 or less
    /// where it would.
    Forbidden { paranoid: i8 },
    /// The kernel has no such events.
    Unsupported,
    /// There is no memory, descriptor or process left for it.
    NoRoom,
    /// The sampler ended, which it should not.
    Broken,
    /// It was not sampled in the time that was asked about, or its buffers keep no samples.
    NotThen,
    /// Its timers are to be set by the rank itself, in which no call of MPI has returned since.
    NextCall,
    /// The program handles the signal of the timers itself, or ignores it.
    SignalInUse,
    /// A timer here fires so often a second at most.
    TooOften { most: u32 },
    /// The kernel gives the rank no timers, or not so many.
    NoTimers,
    /// The kernel does not let its memory be read.
    Unreadable,
}
