//! Iterations that were found without marks: how often a place in the program is come to again, and
//! after which time.

use super::profile::Past;
use super::results::Moments;
use bincode::{Decode, Encode};

/// With which call at a place an iteration begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Begin {
    /// With each.
    Call,
    /// With the first of several that follow each other closely, as those to all neighbours do.
    Burst,
}

/// Iterations of one rank that begin at one place. One ends where the next begins; times are
/// without pauses.
///
/// Those that come to the usual call sites are told apart from others, as from a time step that
/// writes a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub struct Lengths {
    /// Of the usual ones; `time.count` is their number.
    pub time: Moments,
    /// The longest of these, in job time, with its pauses.
    pub longest: Past,
    /// Begin of the first of these in job time, ns; `u64::MAX` of none.
    pub first_ns: u64,
    /// The last of these, in job time, with its pauses.
    pub last: Past,
    /// Iterations that come to others, or not to all of them.
    pub others: u64,
    /// Their time in ns.
    pub others_ns: u64,
}

/// Iterations of all ranks that begin at one place.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub struct Iterations {
    pub lengths: Lengths,
    /// Ranks that have some.
    pub ranks: u32,
    /// The fewest that one of these has, and the most, of both kinds.
    pub fewest: u64,
    pub most: u64,
}

const NEVER: Past = Past {
    from_ns: 0,
    to_ns: 0,
};

impl Lengths {
    /// Of no iterations.
    pub const EMPTY: Lengths = Lengths {
        time: Moments::EMPTY,
        longest: NEVER,
        first_ns: u64::MAX,
        last: NEVER,
        others: 0,
        others_ns: 0,
    };

    /// How many there are, of both kinds.
    pub fn count(&self) -> u64 {
        self.time.count.saturating_add(self.others)
    }
}

impl Iterations {
    /// Of no rank.
    pub const EMPTY: Iterations = Iterations {
        lengths: Lengths::EMPTY,
        ranks: 0,
        fewest: u64::MAX,
        most: 0,
    };
}
