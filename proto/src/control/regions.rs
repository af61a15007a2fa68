//! Answers about regions of the program: the stretches that it marks, and its instrumented
//! functions.

use super::profile::Past;
use super::sites::Place;
use super::stacks::Named;
use crate::ids::Rank;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// Rows of an answer: below 4 MiB where every name is as long as it can be.
pub const ROWS_MAX: u32 = 2048;

/// A region, by what ranks have in common of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Region {
    /// The program marks it by this name.
    Marked(String),
    /// A function that the compiler instrumented, by where it begins. [`Place::Others`] are all
    /// those that their rank met when it had numbered as many regions as it may.
    Function(Place),
}

/// What a rank's region of the program is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct RegionName {
    /// As the program marks it, or the function's; of a function that its file does not name, the
    /// file and the address in it.
    pub name: String,
    /// The source line at which a function begins; empty where that is not known.
    pub line: String,
    /// It is a function, not a stretch that the program marks.
    pub is_function: bool,
}

/// What was seen of a region: sums over the threads and ranks that were in it. Times are in ns,
/// without pauses and without what was not recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct RegionStats {
    /// How often it was entered.
    pub visits: u64,
    /// Time in it or below it. Of a region that calls itself the outermost counts alone.
    pub time_ns: u64,
    /// Time in it and in no region below it.
    pub own_ns: u64,
    /// Of `time_ns`, time in MPI.
    pub mpi_ns: u64,
    /// Of `own_ns`, time in MPI.
    pub own_mpi_ns: u64,
    /// Ranks that were in it.
    pub ranks: u32,
    /// The rank that has the most time in it or below, and how much; of equal ones the lowest.
    pub most: (Rank, u64),
    /// The rank of these that has the least.
    pub least: (Rank, u64),
    /// Ranks on which it is not recorded now: see [`super::selection`].
    pub off: u32,
    /// Of a function: its names and source lines, the innermost first, of those that were inlined;
    /// none where nothing is known.
    pub named: Vec<Named>,
}

/// What was not recorded of regions: sums over threads, since the start of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Unrecorded {
    /// Regions entered or left while no packet was free.
    pub dropped: u64,
    /// Regions that were not left by themselves (by a jump over them, or in the wrong order), and
    /// such that were to be left and were not open.
    pub repaired: u64,
    /// Regions entered more deeply than is recorded.
    pub too_deep: u64,
}

/// Time by region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct RegionTable {
    /// Those with the most time, `rows_max` at most.
    pub rows: BTreeMap<Region, RegionStats>,
    /// As in the question.
    pub rows_max: u32,
    /// The sums of rows that were left out, of which some may be of the same region on other
    /// ranks; their times overlap.
    pub left_out: RegionStats,
    /// How many these are.
    pub rows_left_out: u64,
    /// Rows whose names did not come in time; the next answer has them.
    pub unnamed: u64,
    pub unrecorded: Unrecorded,
    /// It is of time that was spent in this one; otherwise of all.
    pub past: Option<Past>,
}
