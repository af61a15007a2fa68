//! For whom was waited, of many ranks the few for whom it was longest.
//!
//! Summaries of Misra and Gries (Finding repeated elements, 1982) with weights, which merge
//! (Agarwal and others, Mergeable summaries, PODS 2012): of k ranks that are kept none is told more
//! than it has, and none less by more than the (k+1)-th part of the whole.

use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::sites::{CAUSERS_MAX, Causer};

/// Somebody waited for a rank.
#[inline]
pub fn add(causers: &mut Vec<Causer>, one: Causer) {
    match causers.iter_mut().find(|causer| causer.rank == one.rank) {
        Some(causer) => causer.ns = causer.ns.saturating_add(one.ns),
        None => {
            causers.push(one);
            reduce(causers);
        }
    }
}

/// Adds what others have found; the longest comes first then.
pub fn merge(causers: &mut Vec<Causer>, from: &[Causer]) {
    for one in from {
        match causers.iter_mut().find(|causer| causer.rank == one.rank) {
            Some(causer) => causer.ns = causer.ns.saturating_add(one.ns),
            None => causers.push(*one),
        }
    }
    reduce(causers);
    sort(causers);
}

fn sort(causers: &mut [Causer]) {
    causers.sort_unstable_by_key(|causer| (Reverse(causer.ns), causer.rank));
}

/// Takes as much from each as the first that there is no room for has.
#[inline]
fn reduce(causers: &mut Vec<Causer>) {
    if causers.len() <= CAUSERS_MAX {
        return;
    }
    sort(causers);
    let less = causers[CAUSERS_MAX].ns;
    causers.retain_mut(|causer| {
        causer.ns -= less.min(causer.ns);
        causer.ns > 0
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use invivo_proto::ids::Rank;
    use proptest::prelude::*;

    proptest! {
        /// Against sums of all, in any tree of three.
        #[test]
        fn nobody_is_told_too_much_or_much_too_little(
            all in prop::collection::vec((0u32..12, 0u64..1000, 0usize..3), 0..200),
            first in 0usize..3,
        ) {
            let mut truth: BTreeMap<Rank, u64> = BTreeMap::new();
            let mut parts = [const { Vec::new() }; 3];
            for (rank, ns, part) in all {
                let rank = Rank(rank);
                *truth.entry(rank).or_default() += ns;
                add(&mut parts[part], Causer { rank, ns });
            }
            let mut told = core::mem::take(&mut parts[first]);
            let [a, b] = [(first + 1) % 3, (first + 2) % 3].map(|at| parts[at].clone());
            let mut rest = a;
            merge(&mut rest, &b);
            merge(&mut told, &rest);

            prop_assert!(told.len() <= CAUSERS_MAX);
            prop_assert!(told.windows(2).all(|two| two[0].ns >= two[1].ns));
            let whole: u64 = truth.values().sum();
            for (rank, ns) in &truth {
                let one = told.iter().find(|causer| causer.rank == *rank);
                let one = one.map_or(0, |causer| causer.ns);
                prop_assert!(one <= *ns && ns - one <= whole / (CAUSERS_MAX as u64 + 1));
            }
            // Where there are few, nothing is missing.
            truth.retain(|_, ns| *ns > 0);
            if truth.len() <= CAUSERS_MAX {
                let told: BTreeMap<Rank, u64> = told.iter()
                    .filter(|causer| causer.ns > 0)
                    .map(|causer| (causer.rank, causer.ns))
                    .collect();
                prop_assert_eq!(told, truth);
            }
        }
    }
}
