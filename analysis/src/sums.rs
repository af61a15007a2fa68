//! Count, sum, sum of squares and extremes of durations, in integers: what a call adds
//! takes some additions and one multiplication. The moments are made of them when somebody asks.
//!
//! [`crate::moments::insert`] divides for each value, and every value waits for the one before.
//! Sums of squares lose digits only where they are rounded: these are exact, and what would not fit
//! is folded into moments first.

use crate::moments;
use invivo_proto::control::results::Moments;
use invivo_proto::ids::Rank;

/// So long, 78 hours, or longer is nothing that is squared here: 2^32 squares of less fit into 128
/// bits.
const LONG_NS: u64 = 1 << 48;

/// The durations of one rank.
#[derive(Clone, Debug)]
pub struct Sums {
    count: u32,
    sum_ns: u64,
    squares: u128,
    min_ns: u64,
    max_ns: u64,
    /// What did not fit, and all that came before it.
    folded: Moments,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums {
            count: 0,
            sum_ns: 0,
            squares: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            folded: moments::EMPTY,
        }
    }
}

impl Sums {
    /// Adds one duration of a call on `rank`, which is the same one every time.
    #[inline(always)]
    pub fn add(&mut self, ns: u64, rank: Rank) {
        if !self.fits(ns) {
            self.fold(rank, ns, rank);
        }
    }

    /// Adds a duration, if it is not too much.
    #[inline(always)]
    fn fits(&mut self, ns: u64) -> bool {
        let (sum_ns, overflows) = self.sum_ns.overflowing_add(ns);
        if overflows || ns >= LONG_NS || self.count == u32::MAX {
            return false;
        }
        self.count += 1;
        self.sum_ns = sum_ns;
        self.squares += u128::from(ns) * u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        true
    }

    /// Begins anew with what is too much, on `rank`; the longest so far was that of `longest`.
    #[cold]
    fn fold(&mut self, longest: Rank, ns: u64, rank: Rank) {
        let mut folded = self.moments(longest);
        moments::insert(&mut folded, ns, rank);
        *self = Sums {
            folded,
            ..Sums::default()
        };
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.folded.count == 0
    }

    /// The moments of all durations, which were those of `rank`.
    pub fn moments(&self, rank: Rank) -> Moments {
        let mut all = self.folded;
        moments::merge(&mut all, &self.recent(rank));
        all
    }

    /// Of what is not folded.
    fn recent(&self, rank: Rank) -> Moments {
        if self.count == 0 {
            return moments::EMPTY;
        }
        let count = u64::from(self.count);
        let (whole, rest) = (self.sum_ns / count, self.sum_ns % count);
        // The squares around the whole part of the mean, still exact: never below zero.
        let around = u128::from(whole) * (u128::from(self.sum_ns) + u128::from(rest));
        let around = self.squares - around;
        let fraction = rest as f64 / count as f64;
        Moments {
            count,
            sum_ns: self.sum_ns,
            mean_ns: whole as f64 + fraction,
            m2: (around as f64 - rest as f64 * fraction).max(0.0),
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            max_rank: rank,
        }
    }
}

/// The durations of many ranks.
#[derive(Clone, Debug, Default)]
pub struct SumsOfRanks {
    of: Sums,
    /// Whose the longest is that was not folded.
    longest: Rank,
}

impl SumsOfRanks {
    /// Adds one duration of a call on `rank`.
    #[inline(always)]
    pub fn add(&mut self, ns: u64, rank: Rank) {
        let (longest_ns, longest) = (self.of.max_ns, self.longest);
        let is_first = self.of.count == 0;
        if !self.of.fits(ns) {
            return self.of.fold(longest, ns, rank);
        }
        // Of equally long ones the lowest rank is named, as in `moments.rs`.
        if is_first || ns > longest_ns || ns == longest_ns && rank < longest {
            self.longest = rank;
        }
    }

    /// The moments of all durations.
    pub fn moments(&self) -> Moments {
        self.of.moments(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::tests::nearly_equal;
    use proptest::prelude::*;
    use std::vec::Vec;

    const RANK: Rank = Rank(7);

    fn durations() -> impl Strategy<Value = Vec<u64>> {
        prop_oneof![
            prop::collection::vec(0u64..3, 0..50),
            prop::collection::vec(0u64..1 << 45, 0..200),
            // A large mean with a small deviation.
            prop::collection::vec(10_000_000_000u64..10_000_000_100, 0..200),
            // Some of them are too long to be squared.
            prop::collection::vec((LONG_NS - 3)..(LONG_NS + 3), 0..50),
        ]
    }

    proptest! {
        #[test]
        fn sums_equal_inserting_one_by_one(durations in durations()) {
            let (mut sums, mut naive) = (Sums::default(), moments::EMPTY);
            for ns in durations {
                sums.add(ns, RANK);
                moments::insert(&mut naive, ns, RANK);
            }
            let made = sums.moments(RANK);
            prop_assert!(nearly_equal(&made, &naive), "{made:?} {naive:?}");
        }
    }

    proptest! {
        #[test]
        fn sums_of_ranks_equal_inserting_one_by_one(
            durations in durations(),
            ranks in prop::collection::vec(0..4u32, 1..8),
        ) {
            let (mut sums, mut naive) = (SumsOfRanks::default(), moments::EMPTY);
            for (ns, rank) in durations.into_iter().zip(ranks.into_iter().cycle()) {
                sums.add(ns, Rank(rank));
                moments::insert(&mut naive, ns, Rank(rank));
            }
            let made = sums.moments();
            prop_assert!(nearly_equal(&made, &naive), "{made:?} {naive:?}");
        }
    }

    #[test]
    fn a_sum_that_overflows_saturates() {
        let mut sums = Sums::default();
        for _ in 0..3 {
            sums.add(u64::MAX / 2, RANK);
        }
        sums.add(1, RANK);
        let made = sums.moments(RANK);
        assert_eq!((made.count, made.sum_ns), (4, u64::MAX));
        assert_eq!((made.min_ns, made.max_ns), (1, u64::MAX / 2));
    }

    #[test]
    fn a_full_count_goes_on() {
        let mut sums = Sums {
            count: u32::MAX,
            sum_ns: 3 * u64::from(u32::MAX),
            squares: 9 * u128::from(u32::MAX),
            min_ns: 3,
            max_ns: 3,
            ..Sums::default()
        };
        sums.add(3, RANK);
        sums.add(3, RANK);
        let made = sums.moments(RANK);
        assert_eq!(
            (made.count, made.mean_ns, made.m2),
            ((1 << 32) + 1, 3.0, 0.0)
        );
    }
}
