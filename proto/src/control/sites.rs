//! Answers about call sites: calls, time and bytes by where in the program calls are made.

use super::histogram::Distribution;
use super::iterations::{Begin, Iterations};
use super::profile::Past;
use super::results::FunctionStats;
use super::stacks::Named;
use super::wait_states::{WaitState, Waited};
use crate::ids::{Rank, RegionId};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// Rows of an answer: below 12 MiB where every name is as long as it can be, and ranks wait in all
/// ways in each. Large programs call MPI
/// from some hundred places.
pub const ROWS_MAX: u32 = 2048;
/// Bytes of a file's name.
pub const FILE_BYTES_MAX: usize = 64;
/// Ranks that are told of all for whom somebody waited at a site in one way.
pub const CAUSERS_MAX: usize = 4;

/// Where a call is made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Place {
    /// It was not noted.
    NotNoted,
    /// At one of the places that their rank met when it had numbered as many as it may.
    Others,
    /// In code that is in no file.
    Nowhere,
    /// In a file.
    Code {
        /// The file's name, without its folder: ranks may have it at different paths.
        file: String,
        /// What its linker wrote to distinguish it from others of its name; may be empty.
        build_id: Vec<u8>,
        /// An address within the call, as the file was linked for.
        offset: u64,
    },
}

/// A function, and where it is called. The order is by place, so that neighbours are in one file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Site {
    pub place: Place,
    pub region: RegionId,
}

/// A rank for which others waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Causer {
    pub rank: Rank,
    /// For how long at least, in ns, summed over those that waited. Exact where no more than
    /// [`CAUSERS_MAX`] ranks were waited for; else short of it by a fifth of all waiting at most.
    pub ns: u64,
}

/// Waiting in one way at one site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SiteWaits {
    pub waited: Waited,
    /// Those that were waited for longest, [`CAUSERS_MAX`] at most; none where nobody is waited
    /// for.
    pub causers: Vec<Causer>,
}

/// Calls of one function at one place.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct SiteStats {
    pub stats: FunctionStats,
    /// Ranks that made them.
    pub ranks: u32,
    /// The functions and source lines there: the innermost first, of those that were inlined; none
    /// where nothing is known.
    pub named: Vec<Named>,
    /// Waiting in these calls: of the members of collectives that all have come to, and of senders
    /// and receivers whose messages were matched.
    pub waits: BTreeMap<WaitState, SiteWaits>,
    /// How their durations and sizes are distributed.
    pub distribution: Distribution,
    /// Iterations that begin with these calls.
    pub iterations: BTreeMap<Begin, Iterations>,
}

/// Calls by where they are made.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct SiteTable {
    /// Those with the most time, `rows_max` at most.
    pub rows: BTreeMap<Site, SiteStats>,
    /// As in the question.
    pub rows_max: u32,
    /// The sums of rows that were left out, of which some may be of the same site on other ranks.
    pub left_out: FunctionStats,
    /// How many these are.
    pub rows_left_out: u64,
    /// Waiting in calls of these, in any way.
    pub waits_left_out: Waited,
    /// Rows whose names did not come in time; the next answer has them.
    pub unnamed: u64,
    /// As in [`super::results::FunctionTable`].
    pub past: Option<Past>,
}
