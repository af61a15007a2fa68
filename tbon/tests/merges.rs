//! Acknowledgements and coverage: any tree over any order gives what one look at all of them gives.

use invivo_proto::control::results::{Coverage, Ledger};
use invivo_proto::control::tree::{Acks, Cut, FAILURES_MAX, MISSING_MAX};
use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::{acks, coverage};
use proptest::prelude::*;

/// How a command went on the ranks of one place, each rank on its own.
#[derive(Clone, Debug)]
struct Place {
    first: u32,
    /// Time of each rank, and whether it refused.
    ranks: Vec<(u64, bool)>,
    missing: bool,
    cut: Option<Cut>,
}

impl Place {
    fn acks(&self) -> Acks {
        if self.missing {
            let missing = vec![WorldRank(self.first)];
            return Acks {
                targets: self.ranks.len() as u32,
                missing,
                ..Acks::default()
            };
        }
        let mut failures = self.refusals();
        failures.truncate(FAILURES_MAX);
        Acks {
            targets: self.ranks.len() as u32,
            done: self.ranks.iter().filter(|rank| !rank.1).count() as u32,
            held_in_mpi: 1,
            partly: 2,
            slowest: slowest(self.timed()),
            failures,
            missing: Vec::new(),
            from: self.cut,
            to: self.cut.filter(|cut| cut.error_ns > 3),
            complete_ns: u64::from(self.first),
            clipped: 3,
            open: self.ranks.len() as u64,
        }
    }

    fn timed(&self) -> impl Iterator<Item = (Rank, u64)> {
        self.ranks
            .iter()
            .zip(self.first..)
            .map(|(&(ns, _), rank)| (Rank(rank), ns))
    }

    fn refusals(&self) -> Vec<(Rank, String)> {
        let refused = self
            .ranks
            .iter()
            .zip(self.first..)
            .filter(|(rank, _)| rank.1);
        refused
            .map(|(_, rank)| (Rank(rank), format!("rank {rank} refused")))
            .collect()
    }
}

fn slowest(ranks: impl Iterator<Item = (Rank, u64)>) -> Option<(Rank, u64)> {
    let mut sorted: Vec<_> = ranks.collect();
    sorted.sort_by_key(|&(rank, ns)| (std::cmp::Reverse(ns), rank));
    sorted.first().copied()
}

fn naive(places: &[Place]) -> Acks {
    let there = || places.iter().filter(|place| !place.missing);
    let mut failures: Vec<_> = there().flat_map(Place::refusals).collect();
    failures.sort();
    failures.truncate(FAILURES_MAX);
    let mut missing: Vec<_> = places
        .iter()
        .filter(|p| p.missing)
        .map(|p| WorldRank(p.first))
        .collect();
    missing.sort();
    missing.truncate(MISSING_MAX);
    Acks {
        targets: places.iter().map(|place| place.ranks.len() as u32).sum(),
        done: there()
            .flat_map(|place| &place.ranks)
            .filter(|rank| !rank.1)
            .count() as u32,
        held_in_mpi: there().count() as u32,
        partly: 2 * there().count() as u32,
        slowest: slowest(there().flat_map(Place::timed)),
        failures,
        missing,
        from: spread(there().filter_map(|place| place.cut)),
        to: spread(
            there()
                .filter_map(|place| place.cut)
                .filter(|cut| cut.error_ns > 3),
        ),
        complete_ns: there()
            .map(|place| u64::from(place.first))
            .max()
            .unwrap_or(0),
        clipped: 3 * there().count() as u64,
        open: there().map(|place| place.ranks.len() as u64).sum(),
    }
}

/// The earliest, the latest and the largest error of any.
fn spread(cuts: impl Iterator<Item = Cut>) -> Option<Cut> {
    let cuts: Vec<Cut> = cuts.collect();
    Some(Cut {
        earliest_ns: cuts.iter().map(|cut| cut.earliest_ns).min()?,
        latest_ns: cuts.iter().map(|cut| cut.latest_ns).max()?,
        error_ns: cuts.iter().map(|cut| cut.error_ns).max()?,
    })
}

/// Merges neighbours at random until one is left.
fn join<T>(mut parts: Vec<T>, picks: &[usize], merge: fn(&mut T, T)) -> Option<T> {
    let mut picks = picks.iter().cycle();
    while parts.len() > 1 {
        let pick = picks.next()?;
        let from = parts.swap_remove(pick % parts.len());
        let into = pick / 3 % parts.len();
        merge(&mut parts[into], from);
    }
    parts.pop()
}

fn places() -> impl Strategy<Value = Vec<Place>> {
    let ranks = prop::collection::vec((0u64..20, prop::bool::weighted(0.3)), 0..8);
    let cut = (0u64..100, 0u64..10, 0u64..9).prop_map(|(earliest_ns, more_ns, error_ns)| Cut {
        earliest_ns,
        latest_ns: earliest_ns + more_ns,
        error_ns,
    });
    let place = (ranks, prop::bool::weighted(0.4), prop::option::of(cut));
    prop::collection::vec(place, 1..50).prop_map(|places| {
        let numbered = places.into_iter().zip((0..).step_by(10));
        numbered
            .map(|((ranks, missing, cut), first)| Place {
                first,
                ranks,
                missing,
                cut,
            })
            .collect()
    })
}

fn coverage_of(n: &[u32; 19]) -> Coverage {
    let wide = |at: usize| u64::from(n[at]);
    Coverage {
        ranks: n[0],
        ranks_reporting: n[1],
        members_missing: n[2],
        lag_ns: wide(3),
        ledger: Ledger {
            entered: wide(4),
            open: wide(5),
            in_flight: wide(6),
            kept: wide(7),
            reduced: wide(8),
            dropped: [wide(9), wide(10), wide(11)],
            dropped_by_place: wide(12),
            reset: wide(13),
        },
        overhead_ns: wide(14),
        overhead_regions_ns: wide(2),
        overhead_samples_ns: wide(6),
        tool_cpu_ns: wide(15),
        observer_cpu_ns: wide(4),
        displaced_ns: wide(5),
        packets_mpi: wide(16),
        packets_shm: wide(17),
        payload_bytes: wide(18),
        packets_refused: wide(0),
        buffer_bytes: wide(1),
    }
}

proptest! {
    #[test]
    fn acknowledgements_of_any_tree_are_those_of_all(
        places in places(),
        picks in prop::collection::vec(0usize..1000, 1..60),
    ) {
        let joined = join(places.iter().map(Place::acks).collect(), &picks, acks::merge);
        prop_assert_eq!(joined, Some(naive(&places)));
    }

    #[test]
    fn coverage_of_any_tree_is_the_sum(
        numbers in prop::collection::vec(prop::array::uniform19(0u32..1000), 1..40),
        picks in prop::collection::vec(0usize..1000, 1..60),
    ) {
        let mut sums = [0; 19];
        for (at, sum) in sums.iter_mut().enumerate() {
            let column = numbers.iter().map(|row| row[at]);
            // All are sums but the lag.
            *sum = if at == 3 { column.max().unwrap_or(0) } else { column.sum() };
        }
        let joined = join(
            numbers.iter().map(coverage_of).collect(),
            &picks,
            |into, from| coverage::merge(into, &from),
        );
        prop_assert_eq!(joined, Some(coverage_of(&sums)));
    }

    #[test]
    fn books_balance_only_when_nothing_is_missing_and_nothing_twice(
        parts in prop::array::uniform9(0u64..1000),
        slip in 1u64..1000,
    ) {
        let [open, in_flight, kept, reduced, a, b, c, dropped_by_place, reset] = parts;
        let (entered, dropped) = (parts.iter().sum(), [a, b, c]);
        let books = Ledger {
            entered, open, in_flight, kept, reduced, dropped, dropped_by_place, reset,
        };
        prop_assert_eq!(coverage::balance(&books), Ok(()));
        let short = Ledger { entered: entered + slip, ..books };
        let twice = Ledger { kept: kept + slip, ..books };
        prop_assert!(coverage::balance(&short).is_err() && coverage::balance(&twice).is_err());
    }
}

#[test]
fn numbers_of_a_damaged_message_do_not_overflow() {
    let mut all = coverage_of(&[u32::MAX; 19]);
    all.ledger.entered = u64::MAX;
    let more = all;
    coverage::merge(&mut all, &more);
    assert_eq!((all.ranks, all.ledger.entered), (u32::MAX, u64::MAX));
    assert_eq!(
        coverage::balance(&all.ledger).unwrap_err().accounted,
        9 * 2 * u64::from(u32::MAX)
    );
}
