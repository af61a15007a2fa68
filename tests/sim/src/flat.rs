//! The naive twin of tree and analyses: everything computed at once, from all calls in one list, in integers.

use crate::history::{OnRank, Outcome};
use invivo_proto::control::results::{
    CommKey, Coverage, FunctionStats, FunctionTable, Ledger, MatrixPartial, Moments, RankState,
};
use invivo_proto::control::tree::{Acks, FAILURES_MAX};
use invivo_proto::ids::{CommId, Rank, RegionId, WorldRank};
use invivo_proto::record::{Call, Kind};
use std::collections::BTreeMap;

/// A call and the rank that made it.
type OfRank = (Rank, Call);

/// The function table of these calls.
pub fn functions(calls: &[OfRank], per_rank: bool) -> FunctionTable {
    let mut rows: BTreeMap<(Option<Rank>, RegionId), Vec<OfRank>> = BTreeMap::new();
    for &(rank, call) in calls {
        rows.entry((None, call.facts.region))
            .or_default()
            .push((rank, call));
        if per_rank {
            rows.entry((Some(rank), call.facts.region))
                .or_default()
                .push((rank, call));
        }
    }
    FunctionTable {
        rows: rows.into_iter().map(|(key, calls)| (key, row(&calls))).collect(),
    }
}

/// One row, by the textbook formulas: `m2 = (n * sum of squares - square of sum) / n`.
fn row(calls: &[OfRank]) -> FunctionStats {
    let n = calls.len() as u128;
    let sum: u128 = calls.iter().map(|(_, call)| u128::from(call.duration)).sum();
    let squares: u128 = calls
        .iter()
        .map(|(_, call)| u128::from(call.duration).pow(2))
        .sum();
    let max_ns = calls.iter().map(|(_, call)| call.duration).max().unwrap_or(0);
    let slowest = calls
        .iter()
        .filter(|(_, call)| call.duration == max_ns)
        .map(|&(rank, _)| rank)
        .min();
    FunctionStats {
        time: Moments {
            count: n as u64,
            sum_ns: sum as u64,
            mean_ns: sum as f64 / n as f64,
            m2: (n * squares - sum * sum) as f64 / n as f64,
            min_ns: calls
                .iter()
                .map(|(_, call)| call.duration)
                .min()
                .unwrap_or(u64::MAX),
            max_ns,
            max_rank: slowest.unwrap_or_default(),
        },
        bytes_out: calls.iter().map(|(_, call)| call.facts.bytes_out).sum(),
        bytes_in: calls.iter().map(|(_, call)| call.facts.bytes_in).sum(),
    }
}

/// Whether two tables are the same: integers exactly, mean and variance but for rounding.
pub fn same(one: &FunctionTable, other: &FunctionTable) -> bool {
    let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-9 * (scale + 1.0);
    let exact = |row: &FunctionStats| {
        let time = &row.time;
        (
            time.count,
            time.sum_ns,
            time.min_ns,
            time.max_ns,
            time.max_rank,
            row.bytes_out,
            row.bytes_in,
        )
    };
    one.rows.len() == other.rows.len()
        && one
            .rows
            .iter()
            .zip(&other.rows)
            .all(|((key, a), (other_key, b))| {
                let scale = a.time.max_ns as f64;
                key == other_key
                    && exact(a) == exact(b)
                    && near(a.time.mean_ns, b.time.mean_ns, scale)
                    && near(a.time.m2, b.time.m2, scale * scale * a.time.count as f64)
            })
}

/// The matrix of these calls.
pub fn matrix(calls: &[OfRank]) -> MatrixPartial {
    let mut matrix = MatrixPartial::default();
    for (rank, call) in calls {
        let key = (*rank, CommKey::Group(CommId::WORLD), call.facts.peer);
        let (cell, bytes) = match call.facts.kind {
            Kind::Send => (matrix.sent.entry(key).or_default(), call.facts.bytes_out),
            Kind::Recv => (matrix.received.entry(key).or_default(), call.facts.bytes_in),
            _ => continue,
        };
        cell.messages += 1;
        cell.bytes += bytes;
    }
    matrix
}

/// The acknowledgements of these ranks, and of `absent` ranks below the `missing` members.
pub fn acks(outcomes: &[OnRank], absent: u32, missing: &[WorldRank]) -> Acks {
    let count = |which: &[Outcome]| {
        outcomes
            .iter()
            .filter(|(_, outcome, _)| which.contains(outcome))
            .count() as u32
    };
    let slowest = outcomes.iter().map(|&(_, _, ns)| ns).max();
    let slowest_rank = outcomes
        .iter()
        .filter(|&&(_, _, ns)| Some(ns) == slowest)
        .map(|&(rank, ..)| rank)
        .min();
    let mut failed: Vec<Rank> = outcomes
        .iter()
        .filter(|(_, outcome, _)| *outcome == Outcome::Failed)
        .map(|&(rank, ..)| rank)
        .collect();
    failed.sort_unstable();
    failed.truncate(FAILURES_MAX);
    Acks {
        targets: outcomes.len() as u32 + absent,
        done: count(&[Outcome::Done, Outcome::HeldInMpi, Outcome::Partly]),
        held_in_mpi: count(&[Outcome::HeldInMpi]),
        partly: count(&[Outcome::Partly]),
        slowest: slowest_rank.zip(slowest),
        failures: failed
            .into_iter()
            .map(|rank| (rank, crate::place::FAILURE.to_string()))
            .collect(),
        missing: missing.to_vec(),
    }
}

/// Ranks by state.
pub fn states(states: &[(Rank, RankState)]) -> [u32; 5] {
    [
        RankState::Starting,
        RankState::Computing,
        RankState::InMpi,
        RankState::Paused,
        RankState::Finished,
    ]
    .map(|state| states.iter().filter(|&&(_, of_rank)| of_rank == state).count() as u32)
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
        tool_cpu_ns: sum(|c| c.tool_cpu_ns),
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
