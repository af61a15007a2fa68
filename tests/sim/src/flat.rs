//! The naive twin of tree and analyses: everything computed at once, from all calls in one list, in
//! integers.

use crate::groups;
use crate::history::{Fed, InHand, Obeyed, Outcome};
use invivo_proto::control::analyses::{AnalysesStatus, Analysis, AnalysisSet, AnalysisStatus};
use invivo_proto::control::results::{
    Coverage, FunctionStats, FunctionTable, Ledger, Matrix, Moments, RANK_STATES, RankState,
};
use invivo_proto::control::tree::{Acks, Cut, FAILURES_MAX, Verb};
use invivo_proto::ids::{CommandId, Rank, RegionId, WorldRank};
use invivo_proto::record::RecordKind;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Which analyses are on: ranks are added, and of what differs the greatest counts.
pub fn analyses(in_hand: &[&InHand]) -> AnalysesStatus {
    let of = Analysis::ALL.map(|analysis| {
        let of = || {
            let all = in_hand.iter();
            all.map(|hand| &hand.analyses.of[analysis as usize])
        };
        AnalysisStatus {
            on: of().map(|one| one.on).sum(),
            off: of().map(|one| one.off).sum(),
            since_ns: of().map(|one| one.since_ns).max().unwrap_or(0),
            gaps: of().map(|one| one.gaps.clone()).max().unwrap_or_default(),
        }
    });
    AnalysesStatus { of, now_ns: 0 }
}

/// What is on after these commands, of a job that starts as usual.
pub fn analyses_after(given: &[(CommandId, Verb)]) -> AnalysisSet {
    let mut all = AnalysisSet::DEFAULT;
    for (_, verb) in given {
        if let Verb::Analyses { these, on, .. } = *verb {
            all = all.switched(these, on);
        }
    }
    all
}

/// The function table of these calls.
pub fn functions(fed: &[Fed], rank_rows_max: u32) -> FunctionTable {
    let mut rows: BTreeMap<RegionId, Vec<Fed>> = BTreeMap::new();
    let mut by_rank: BTreeMap<(Rank, RegionId), Vec<Fed>> = BTreeMap::new();
    for &fed in fed {
        let region = fed.call.facts.region;
        rows.entry(region).or_default().push(fed);
        by_rank.entry((fed.rank, region)).or_default().push(fed);
    }

    let mut rank_rows: Vec<_> = by_rank
        .into_iter()
        .map(|(key, calls)| (key, row(&calls)))
        .collect();
    let rank_rows_total = rank_rows.len() as u64;
    rank_rows.sort_by_key(|(key, row)| (Reverse(row.time.sum_ns), *key));
    rank_rows.truncate(rank_rows_max as usize);
    FunctionTable {
        rows: rows
            .into_iter()
            .map(|(key, calls)| (key, row(&calls)))
            .collect(),
        rank_rows: rank_rows.into_iter().collect(),
        rank_rows_total,
        rank_rows_max,
        distributions: BTreeMap::new(),
        past: None,
    }
}

/// One row, by the textbook formulas: `m2 = (n * sum of squares - square of sum) / n`.
fn row(calls: &[Fed]) -> FunctionStats {
    let durations = || calls.iter().map(|fed| u128::from(fed.call.duration));
    let n = calls.len() as u128;
    // In 128 bits and without rounding, where the analyses use Welford's updates in floating point.
    let (sum, squares) = (
        durations().sum::<u128>(),
        durations().map(|ns| ns * ns).sum::<u128>(),
    );
    let longest = calls
        .iter()
        .map(|fed| (fed.call.duration, Reverse(fed.rank)))
        .max();
    let (max_ns, Reverse(max_rank)) = longest.unwrap_or_default();
    FunctionStats {
        time: Moments {
            count: n as u64,
            sum_ns: sum as u64,
            mean_ns: sum as f64 / n as f64,
            m2: (n * squares - sum * sum) as f64 / n as f64,
            min_ns: durations().min().map_or(u64::MAX, |ns| ns as u64),
            max_ns,
            max_rank,
        },
        bytes_out: calls.iter().map(|fed| fed.call.facts.bytes_out).sum(),
        bytes_in: calls.iter().map(|fed| fed.call.facts.bytes_in).sum(),
        clipped: calls.iter().filter(|fed| fed.clipped).count() as u64,
    }
}

/// Whether two tables are the same: integers exactly, mean and variance but for rounding.
pub fn same(one: &FunctionTable, other: &FunctionTable) -> bool {
    same_rows(&one.rows, &other.rows)
        && same_rows(&one.rank_rows, &other.rank_rows)
        && (one.rank_rows_total, one.rank_rows_max) == (other.rank_rows_total, other.rank_rows_max)
}

fn same_rows<K: PartialEq>(
    one: &BTreeMap<K, FunctionStats>,
    other: &BTreeMap<K, FunctionStats>,
) -> bool {
    // Relative to the largest duration: cancellation makes small results of large numbers inexact.
    let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-9 * (scale + 1.0);
    let same = |a: &FunctionStats, b: &FunctionStats| {
        let scale = a.time.max_ns as f64;
        let exact = FunctionStats {
            time: Moments {
                mean_ns: b.time.mean_ns,
                m2: b.time.m2,
                ..a.time
            },
            ..*a
        };
        exact == *b
            && near(a.time.mean_ns, b.time.mean_ns, scale)
            // A sum of squares over all calls, so its error grows with both.
            && near(a.time.m2, b.time.m2, scale * scale * a.time.count as f64)
    };

    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|((key, a), (other_key, b))| key == other_key && same(a, b))
}

/// The matrix of what these places had in hand, of a job of `ranks` ranks.
pub fn matrix(in_hand: &[&InHand], ranks: u32, side_max: u32) -> Matrix {
    if in_hand.is_empty() {
        return Matrix::default();
    }
    let block = ranks.div_ceil(side_max);
    let mut matrix = Matrix {
        block_ranks: block,
        ..Matrix::default()
    };

    for (hand, fed) in in_hand
        .iter()
        .flat_map(|hand| hand.fed.iter().map(move |fed| (hand, fed)))
    {
        let facts = &fed.call.facts;
        if facts.peer < 0 {
            continue;
        }
        let peer = match groups::leader(fed.rank, facts.comm, ranks) {
            None => Some(Rank(facts.peer as u32)),
            Some(leader) if hand.groups.contains(&groups::led_by(leader)) => {
                Some(groups::member(leader, facts.peer, ranks))
            }
            // The place does not know the group yet: the message counts, in no cell.
            Some(_) => None,
        };
        let own = fed.rank.0 / block;
        let peer = peer.map(|peer| peer.0 / block);
        let (cell, bytes) = match (facts.kind, peer) {
            (RecordKind::Send, Some(peer)) => {
                (matrix.sent.entry((own, peer)).or_default(), facts.bytes_out)
            }
            (RecordKind::Recv, Some(peer)) => (
                matrix.received.entry((peer, own)).or_default(),
                facts.bytes_in,
            ),
            (RecordKind::Send | RecordKind::Recv, None) => {
                (&mut matrix.unresolved, facts.bytes_out + facts.bytes_in)
            }
            _ => continue,
        };
        cell.messages += 1;
        cell.bytes += bytes;
    }

    matrix
}

/// The acknowledgements of these places, and of `absent` ranks below the `missing` members.
pub fn acks(places: &[&Obeyed], absent: u32, missing: &[WorldRank]) -> Acks {
    let mut ranks: Vec<_> = places.iter().flat_map(|place| &place.ranks).collect();
    ranks.sort_unstable_by_key(|(rank, ..)| *rank);
    let count = |is: fn(&Outcome) -> bool| {
        ranks.iter().filter(|(_, outcome, _)| is(outcome)).count() as u32
    };

    let failures = ranks.iter().filter_map(|(rank, outcome, _)| match outcome {
        Outcome::Failed(why) => Some((*rank, why.clone())),
        _ => None,
    });
    // Of equals the lowest rank, as the merge in the tree takes it.
    let slowest = ranks
        .iter()
        .max_by_key(|(rank, _, ns)| (*ns, Reverse(*rank)));
    Acks {
        targets: ranks.len() as u32 + absent,
        done: count(|outcome| !matches!(outcome, Outcome::Failed(_))),
        held_in_mpi: count(|outcome| *outcome == Outcome::HeldInMpi),
        partly: count(|outcome| *outcome == Outcome::Partly),
        slowest: slowest.map(|(rank, _, ns)| (*rank, *ns)),
        failures: failures.take(FAILURES_MAX).collect(),
        missing: missing.to_vec(),
        from: hull(places.iter().filter_map(|place| place.from)),
        to: hull(places.iter().filter_map(|place| place.to)),
        complete_ns: places
            .iter()
            .map(|place| place.complete_ns)
            .max()
            .unwrap_or(0),
        clipped: places.iter().map(|place| place.clipped).sum(),
        open: places.iter().map(|place| place.open).sum(),
    }
}

fn hull(cuts: impl Iterator<Item = Cut> + Clone) -> Option<Cut> {
    Some(Cut {
        earliest_ns: cuts.clone().map(|cut| cut.earliest_ns).min()?,
        latest_ns: cuts.clone().map(|cut| cut.latest_ns).max()?,
        error_ns: cuts.map(|cut| cut.error_ns).max()?,
    })
}

/// Ranks by state.
pub fn states(states: &[(Rank, RankState)]) -> [u32; RANK_STATES] {
    let mut count = [0; RANK_STATES];
    for (_, state) in states {
        count[*state as usize] += 1;
    }
    count
}

/// The coverage of these places together.
pub fn coverage<'a>(places: impl Iterator<Item = &'a Coverage> + Clone) -> Coverage {
    let sum = |field: fn(&Coverage) -> u64| places.clone().map(field).sum::<u64>();
    let count = |field: fn(&Coverage) -> u32| places.clone().map(field).sum::<u32>();
    Coverage {
        ranks: count(|c| c.ranks),
        ranks_reporting: count(|c| c.ranks_reporting),
        members_missing: count(|c| c.members_missing),
        lag_ns: places.clone().map(|c| c.lag_ns).max().unwrap_or(0),
        ledger: Ledger {
            entered: sum(|c| c.ledger.entered),
            open: sum(|c| c.ledger.open),
            in_flight: sum(|c| c.ledger.in_flight),
            kept: sum(|c| c.ledger.kept),
            reduced: sum(|c| c.ledger.reduced),
            dropped: [
                sum(|c| c.ledger.dropped[0]),
                sum(|c| c.ledger.dropped[1]),
                sum(|c| c.ledger.dropped[2]),
            ],
            dropped_by_place: sum(|c| c.ledger.dropped_by_place),
            reset: sum(|c| c.ledger.reset),
        },
        overhead_ns: sum(|c| c.overhead_ns),
        overhead_regions_ns: sum(|c| c.overhead_regions_ns),
        overhead_samples_ns: sum(|c| c.overhead_samples_ns),
        tool_cpu_ns: sum(|c| c.tool_cpu_ns),
        observer_cpu_ns: sum(|c| c.observer_cpu_ns),
        displaced_ns: sum(|c| c.displaced_ns),
        packets_mpi: sum(|c| c.packets_mpi),
        packets_shm: sum(|c| c.packets_shm),
        payload_bytes: sum(|c| c.payload_bytes),
        packets_refused: sum(|c| c.packets_refused),
        buffer_bytes: sum(|c| c.buffer_bytes),
    }
}

/// What `all` has beyond `some`; nothing where it has less of anything.
pub fn difference(all: &Ledger, some: &Ledger) -> Option<Ledger> {
    let drops = |n: usize| all.dropped[n].checked_sub(some.dropped[n]);
    Some(Ledger {
        entered: all.entered.checked_sub(some.entered)?,
        open: all.open.checked_sub(some.open)?,
        in_flight: all.in_flight.checked_sub(some.in_flight)?,
        kept: all.kept.checked_sub(some.kept)?,
        reduced: all.reduced.checked_sub(some.reduced)?,
        dropped: [drops(0)?, drops(1)?, drops(2)?],
        dropped_by_place: all.dropped_by_place.checked_sub(some.dropped_by_place)?,
        reset: all.reset.checked_sub(some.reset)?,
    })
}
