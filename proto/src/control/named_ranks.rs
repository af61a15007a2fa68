//! Ranks of which the same is true: how many, and the lowest of them by name.

use crate::ids::Rank;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// Ranks that are named: the lowest.
pub const NAMED_MAX: usize = 16;

/// Some ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct NamedRanks {
    pub ranks: u32,
    /// The lowest of them, [`NAMED_MAX`] at most.
    pub named: Vec<Rank>,
}

impl NamedRanks {
    /// One alone.
    pub fn of(rank: Rank) -> NamedRanks {
        NamedRanks {
            ranks: 1,
            named: [rank].into(),
        }
    }

    /// Adds others.
    pub fn merge(&mut self, from: NamedRanks) {
        self.ranks = self.ranks.saturating_add(from.ranks);
        self.named.extend(from.named);
        self.named.sort_unstable();
        self.named.dedup();
        self.named.truncate(NAMED_MAX);
    }
}
