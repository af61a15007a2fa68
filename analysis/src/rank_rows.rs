//! Rows of ranks as they are kept of a piece of the run: in order, with nothing beside them.

use alloc::vec::Vec;
use invivo_proto::control::results::FunctionStats;
use invivo_proto::ids::Rank;

/// What is counted in a row.
pub trait Sum: Clone {
    /// Adds what was counted elsewhere, or at another time.
    fn add(&mut self, from: &Self);
}

/// What ranks did by something else, as by function; one row for each. In order by both.
#[derive(Clone, Debug)]
pub struct RankRows<K, V = FunctionStats>(Vec<((Rank, K), V)>);

// What the memory that the manual states is computed from.
const _: () = assert!(size_of::<((Rank, u32), FunctionStats)>() == 88);

impl<K, V> Default for RankRows<K, V> {
    fn default() -> RankRows<K, V> {
        RankRows(Vec::new())
    }
}

impl<K: Copy + Ord, V: Sum> RankRows<K, V> {
    /// Of rows in any order, one for each rank and key.
    pub fn new(mut rows: Vec<((Rank, K), V)>) -> RankRows<K, V> {
        rows.sort_unstable_by_key(|(key, _)| *key);
        // It stays for as long as its piece.
        rows.shrink_to_fit();
        RankRows(rows)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Rank, K, &V)> {
        self.0.iter().map(|((rank, key), row)| (*rank, *key, row))
    }

    /// Adds others.
    pub fn add(&mut self, from: &RankRows<K, V>) {
        let mut own = self.0.iter_mut().peekable();
        let mut new = Vec::new();
        for (key, row) in &from.0 {
            while own.next_if(|own| own.0 < *key).is_some() {}
            match own.next_if(|own| own.0 == *key) {
                Some(own) => own.1.add(row),
                None => new.push((*key, row.clone())),
            }
        }
        // Mostly there is none: the same is called again and again.
        if !new.is_empty() {
            self.0.extend(new);
            // Two runs that are in order: they are merged.
            self.0.sort_by_key(|(key, _)| *key);
        }
    }

    /// Of each rank's rows those beyond the first `most` get another key; rows of one key become
    /// one. That keys are the same for many rows is up to the caller.
    pub fn limit(&mut self, most: usize, other: impl Fn(K) -> K) {
        // No rank has more than all of them.
        if self.len() <= most {
            return;
        }
        let (mut rank, mut rows) = (None, 0);
        let mut beyond: Vec<((Rank, K), V)> = Vec::new();
        self.0.retain(|((of, key), row)| {
            let (of, key) = (*of, *key);
            rows = if rank == Some(of) { rows + 1 } else { 1 };
            rank = Some(of);
            let stays = rows <= most || other(key) == key;
            if !stays {
                let key = (of, other(key));
                match beyond.iter_mut().rev().find(|(known, _)| *known == key) {
                    Some((_, sum)) => sum.add(row),
                    None => beyond.push((key, row.clone())),
                }
            }
            stays
        });
        self.add(&RankRows::new(beyond));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    fn row(calls: &[u64], rank: Rank) -> FunctionStats {
        let mut row = FunctionStats::default();
        for &ns in calls {
            moments::insert(&mut row.time, ns, rank);
        }
        row
    }

    fn rows() -> impl Strategy<Value = RankRows<u8>> {
        let one = ((0u32..4, 0u8..6), prop::collection::vec(0u64..9, 1..4));
        prop::collection::vec(one, 0..20).prop_map(|all| {
            let all: BTreeMap<(u32, u8), Vec<u64>> = all.into_iter().collect();
            let all = all.into_iter().map(|((rank, key), calls)| {
                let rank = Rank(rank);
                ((rank, key), row(&calls, rank))
            });
            RankRows::new(all.collect())
        })
    }

    fn calls(of: &RankRows<u8>) -> BTreeMap<(Rank, u8), (u64, u64)> {
        let rows = of.iter();
        rows.map(|(rank, key, row)| ((rank, key), (row.time.count, row.time.sum_ns)))
            .collect()
    }

    proptest! {
        #[test]
        fn a_sum_has_the_calls_of_both(a in rows(), b in rows()) {
            let mut sum = a.clone();
            sum.add(&b);
            let mut naive = calls(&a);
            for (key, (count, ns)) in calls(&b) {
                let row = naive.entry(key).or_default();
                (row.0, row.1) = (row.0 + count, row.1 + ns);
            }
            prop_assert_eq!(calls(&sum), naive);
            prop_assert!(sum.0.is_sorted_by_key(|(key, _)| *key));
        }

        /// Rows of the highest key are those that the rest is put to.
        #[test]
        fn no_rank_has_more_rows_than_it_may(all in rows(), most in 0usize..5) {
            let mut limited = all.clone();
            limited.limit(most, |_| 5);
            let sum = |of: &RankRows<u8>| of.iter().map(|(_, _, row)| row.time.count).sum::<u64>();
            prop_assert_eq!(sum(&limited), sum(&all));
            if all.len() > most {
                for rank in (0..4).map(Rank) {
                    let rows = limited.iter().filter(|(of, _, _)| *of == rank).count();
                    prop_assert!(rows <= most + 1);
                }
            }
        }
    }
}
