//! The ranks of the application that one tool place serves: neighbours where the launcher filled
//! node after node, any others where it dealt them out.

use crate::ids::Rank;
use core::ops::Range;

/// Some ranks of the application in ascending order. A copy costs nothing: a list belongs to the
/// process for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankSet {
    /// Neighbours.
    Block {
        /// The lowest.
        first: u32,
        /// How many.
        count: u32,
    },
    /// Any others, ascending, each once.
    List(&'static [u32]),
}

impl RankSet {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            RankSet::Block { count, .. } => *count as usize,
            RankSet::List(list) => list.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one with this number, from 0.
    #[inline]
    pub fn nth(&self, index: usize) -> Option<Rank> {
        match *self {
            RankSet::Block { first, count } => {
                let index = u32::try_from(index).ok().filter(|index| *index < count)?;
                Some(Rank(first + index))
            }
            RankSet::List(list) => list.get(index).copied().map(Rank),
        }
    }

    /// The number of a rank among these; nothing where it is none of them.
    #[inline]
    pub fn index(&self, rank: Rank) -> Option<usize> {
        match *self {
            RankSet::Block { first, count } => {
                let index = rank.0.checked_sub(first)?;
                (index < count).then_some(index as usize)
            }
            RankSet::List(list) => list.binary_search(&rank.0).ok(),
        }
    }

    /// Whether a rank is one of these.
    #[inline]
    pub fn contains(&self, rank: Rank) -> bool {
        self.index(rank).is_some()
    }

    /// The lowest.
    pub fn first(&self) -> Option<Rank> {
        self.nth(0)
    }

    /// The highest.
    pub fn last(&self) -> Option<Rank> {
        self.nth(self.len().checked_sub(1)?)
    }

    /// All, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Rank> + use<> {
        let set = *self;
        // Every number below the length has a rank.
        (0..set.len()).map(move |index| set.nth(index).unwrap_or_default())
    }
}

impl From<Range<u32>> for RankSet {
    fn from(range: Range<u32>) -> RankSet {
        RankSet::Block {
            first: range.start,
            count: range.end.saturating_sub(range.start),
        }
    }
}

impl core::fmt::Display for RankSet {
    /// `4 to 7` where they are neighbours, else how many from where to where.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match (self.first(), self.last()) {
            (Some(first), Some(last)) => match self {
                RankSet::Block { .. } => write!(f, "{first} to {last}"),
                RankSet::List(list) => write!(f, "{first} to {last} ({} of them)", list.len()),
            },
            _ => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_block_and_a_list_say_the_same() {
        let block = RankSet::from(3..6);
        let list = RankSet::List(&[3, 4, 5]);
        for set in [block, list] {
            assert_eq!(set.len(), 3);
            let ranks: Vec<u32> = set.iter().map(|rank| rank.0).collect();
            assert_eq!(ranks, [3, 4, 5]);
            for (index, rank) in set.iter().enumerate() {
                assert_eq!((set.index(rank), set.nth(index)), (Some(index), Some(rank)));
            }
            assert!(!set.contains(Rank(2)) && !set.contains(Rank(6)));
            assert_eq!((set.nth(3), set.last()), (None, Some(Rank(5))));
        }
        let dealt = RankSet::List(&[1, 5, 9]);
        assert_eq!(
            (dealt.index(Rank(5)), dealt.index(Rank(4))),
            (Some(1), None)
        );
        let empty = RankSet::from(7..7);
        assert!(empty.is_empty() && empty.first().is_none() && empty.last().is_none());
    }
}
