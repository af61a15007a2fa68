//! Where the thread was that ended its rank: what it met, and its call path.

use super::stacks::{Frame, NoPython, UnstoppedReason};
use crate::ids::Rank;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// Functions of a path; a deeper one is given without its middle.
pub const STEPS_MAX: usize = 40;
/// Ranks whose paths a result holds: of more, the first. Those that die together die alike.
pub const FAULTS_MAX: usize = 128;

/// A fault: a signal that a thread has met, or `MPI_Abort`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Fault {
    /// The signal; nothing for `MPI_Abort`.
    pub signal: Option<i32>,
    /// The signal's `si_code`: above 0 where the kernel sent it.
    pub code: i32,
    /// The address that the fault was about, where it was about one.
    pub address: Option<u64>,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// It is the process' first thread.
    pub is_first: bool,
    /// The path, where the thread was first; [`STEPS_MAX`] at most.
    pub path: Vec<FaultStep>,
    /// The last step has no caller; otherwise its callers are not known.
    pub is_whole: bool,
    /// Why there is no path, where there is none.
    pub missing: Option<UnstoppedReason>,
    /// Why Python functions of the path are not told.
    pub no_python: Option<NoPython>,
}

/// A function on the path.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FaultStep {
    pub frame: Frame,
    /// The source line, or the offset in the file where there is none.
    pub line: String,
}

/// The fault of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RankFaulted {
    pub rank: Rank,
    pub fault: Fault,
}
