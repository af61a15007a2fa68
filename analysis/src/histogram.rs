//! Counts values in bins, adds histograms, and finds quantiles in them.

use crate::rank_rows::Sum;
use alloc::vec::Vec;
use core::iter::Peekable;
use invivo_proto::control::histogram::{Bin, Distribution, Histogram, number};

/// Bins that are made beside one that is new: values come close to each other.
const MARGIN: u16 = 4;

/// Values as they come, all bins of a stretch beside each other.
#[derive(Clone, Debug, Default)]
pub struct Counting {
    /// The number of the first.
    first: u16,
    counts: Vec<u32>,
}

impl Counting {
    /// Counts a value.
    #[inline(always)]
    pub fn add(&mut self, value: u64) {
        let number = number(value);
        // One below the first is far beyond the last.
        match self
            .counts
            .get_mut(usize::from(number.wrapping_sub(self.first)))
        {
            // In a piece of the run there are not so many.
            Some(count) => *count = count.saturating_add(1),
            None => self.widen(number),
        }
    }

    /// Counts the first value in a bin beyond those there are.
    #[cold]
    fn widen(&mut self, number: u16) {
        let (from, to) = (number.saturating_sub(MARGIN), number + MARGIN + 1);
        if self.counts.is_empty() {
            self.first = from;
        }
        let first = self.first.min(from);
        let before = usize::from(self.first - first);
        self.counts.splice(0..0, core::iter::repeat_n(0, before));
        self.first = first;
        let length = self.counts.len().max(usize::from(to - first));
        self.counts.resize(length, 0);
        self.counts[usize::from(number - first)] += 1;
    }

    /// What was counted.
    pub fn histogram(&self) -> Histogram {
        let bins = self.counts.iter().zip(self.first..);
        let bins = bins.filter(|(count, _)| **count > 0);
        let bins = bins.map(|(count, number)| (number, u64::from(*count)));
        Histogram::new(0, bins.collect())
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// Forgets all values. The memory is used again, unless there were none.
    pub fn clear(&mut self) {
        match self.is_empty() {
            true => *self = Counting::default(),
            false => self.counts.fill(0),
        }
    }
}

/// Adds the values of another histogram.
pub fn merge(into: &mut Histogram, from: &Histogram) {
    if from.is_empty() {
        return;
    }
    if into.is_empty() {
        into.clone_from(from);
        return;
    }
    let coarse = into.coarse().max(from.coarse());
    let own = coarsened(into, coarse).peekable();
    let other = coarsened(from, coarse).peekable();
    *into = Histogram::new(coarse, both(own, other));
}

/// The bins of a histogram, as coarse as that, some of them several times.
fn coarsened(of: &Histogram, coarse: u8) -> impl Iterator<Item = (u16, u64)> {
    let by = coarse - of.coarse();
    of.numbers()
        .map(move |(number, count)| (number >> by, count))
}

/// The bins of both in order, each once.
fn both(
    mut own: Peekable<impl Iterator<Item = (u16, u64)>>,
    mut other: Peekable<impl Iterator<Item = (u16, u64)>>,
) -> Vec<(u16, u64)> {
    let mut bins: Vec<(u16, u64)> = Vec::new();
    loop {
        let is_own = match (own.peek(), other.peek()) {
            (Some(own), Some(other)) => own.0 <= other.0,
            (own, _) => own.is_some(),
        };
        let next = if is_own { own.next() } else { other.next() };
        let Some((number, count)) = next else {
            return bins;
        };
        match bins.last_mut() {
            Some(last) if last.0 == number => last.1 = last.1.saturating_add(count),
            _ => bins.push((number, count)),
        }
    }
}

/// Adds the durations and sizes of others.
pub fn add(into: &mut Distribution, from: &Distribution) {
    merge(&mut into.durations, &from.durations);
    into.shortest_ns = into.shortest_ns.min(from.shortest_ns);
    into.longest_ns = into.longest_ns.max(from.longest_ns);
    merge(&mut into.sizes, &from.sizes);
}

impl Sum for Distribution {
    fn add(&mut self, from: &Distribution) {
        add(self, from);
    }
}

/// The bin with the value that so many of a thousand are at most (as the median of 500 is): the
/// smallest for which that is true. Nothing where there is no value.
pub fn quantile(of: &Histogram, per_mille: u16) -> Option<Bin> {
    // Without rounding: one of a thousand has to be found.
    let share = u128::from(of.count()) * u128::from(per_mille.min(1000));
    let place = share.div_ceil(1000).max(1);
    let mut below = 0;
    of.bins().find(|bin| {
        below += u128::from(bin.count);
        below >= place
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = Vec<u64>> {
        prop_oneof![
            prop::collection::vec(0u64..80, 0..60),
            // Of all sizes, so that bins become coarser.
            prop::collection::vec(
                (0u32..64, any::<u64>()).prop_map(|(bits, of)| of >> bits),
                0..400
            ),
            prop::collection::vec(10_000u64..12_000, 0..60),
        ]
    }

    fn histogram(values: &[u64]) -> Histogram {
        let mut counting = Counting::default();
        values.iter().for_each(|&value| counting.add(value));
        counting.histogram()
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_values_in_order(
            mut values in values(),
            per_mille in 0u16..1001,
        ) {
            let of = histogram(&values);
            values.sort_unstable();
            prop_assert_eq!(of.count(), values.len() as u64);
            let place = (values.len() * usize::from(per_mille)).div_ceil(1000).max(1);
            let found = quantile(&of, per_mille).map(|bin| (bin.least, bin.most));
            match values.get(place - 1) {
                None => prop_assert!(found.is_none()),
                Some(value) => {
                    let (least, most) = found.unwrap();
                    prop_assert!((least..=most).contains(value), "{least} {value} {most}");
                    let width = (value / 16).max(1) << of.coarse();
                    prop_assert!(most - least < width, "{least} {most} {}", of.coarse());
                }
            }
        }

        #[test]
        fn a_sum_is_the_histogram_of_all_values(a in values(), b in values(), c in values()) {
            let all = [a.clone(), b.clone(), c.clone()].concat();
            let (a, b, c) = (histogram(&a), histogram(&b), histogram(&c));
            let mut left = a.clone();
            merge(&mut left, &b);
            merge(&mut left, &c);
            let mut right = c;
            merge(&mut right, &b);
            let mut sum = a;
            merge(&mut sum, &right);
            prop_assert_eq!(&left, &sum);
            prop_assert_eq!(left, histogram(&all));
        }

        #[test]
        fn what_is_cleared_counts_anew(before in values(), behind in values()) {
            let mut counting = Counting::default();
            before.iter().for_each(|&value| counting.add(value));
            counting.clear();
            behind.iter().for_each(|&value| counting.add(value));
            prop_assert_eq!(counting.histogram(), histogram(&behind));
        }
    }

    #[test]
    fn the_slowest_of_a_thousand_is_found() {
        let mut values = [100].repeat(999);
        values.push(7_000_000);
        let of = histogram(&values);
        let at = |per_mille| quantile(&of, per_mille).map(|bin| bin.least);
        assert_eq!((at(500), at(999)), (Some(100), Some(100)));
        assert!(at(1000) > Some(6_000_000));
    }
}
