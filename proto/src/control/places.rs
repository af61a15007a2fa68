//! Messages by which tool places find out which place a rank reports to, where ranks are dealt out
//! over the nodes: a directory in slices, one at each place.

use crate::ids::Rank;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// From one tool place to another.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Places {
    /// These ranks, which belong to the receiver's slice, report to the sender.
    Here(Vec<Rank>),
    /// Which places the ranks of the receiver's slice report to?
    Where,
    /// The ranks of the sender's slice report to the places with these numbers, one for each rank.
    There(Vec<u32>),
}
