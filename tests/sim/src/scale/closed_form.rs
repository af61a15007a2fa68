//! The expected answers as formulas: nothing here looks at more ranks than an answer names.

use super::leaf;
use super::round::Wave;
use super::waiting;
use super::world::{FUNCTIONS, MESSAGE_BYTES, PARTNERS, SWING_NS, Source, World};
use crate::flat;
use invivo_proto::control::results::{
    Coverage, FunctionStats, FunctionTable, JobStatus, Ledger, Matrix, Messages, Moments,
    RANKS_NAMED_MAX, RankState, RecordingStatus, Traffic, Unmatched,
};
use invivo_proto::control::tree::{Acks, Partial, Query};
use invivo_proto::ids::{Rank, RegionId};
use invivo_tbon::coverage;
use invivo_tbon::layout::Layout;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What is wrong with an answer, a sentence each.
pub fn check(world: &World, layout: &Layout, query: Query, wave: &Wave) -> Vec<String> {
    let mut violations = Vec::new();
    let right = match (query, &wave.partial) {
        (Query::Functions { rank_rows_max, .. }, Partial::Functions(table)) => {
            flat::same(table, &functions(world, rank_rows_max))
        }
        (Query::Matrix { side_max, .. }, Partial::Matrix(answer)) => {
            *answer == matrix(world, side_max)
        }
        (Query::Status, Partial::Status(answer)) => *answer == status(world),
        (Query::Messages { .. }, Partial::Messages(answer)) => same_messages(answer, world),
        // All ranks in one state: no closed form, but nothing of the tree is in it either.
        (Query::Grid(asked), Partial::Grid(answer)) => {
            **answer == world.grid(&asked, (0..world.ranks).map(Rank))
        }
        (Query::WaitStates { ranks_max, .. }, Partial::WaitStates(answer)) => {
            **answer == waiting::all(world, ranks_max)
        }
        _ => false,
    };

    let ranks = world.ranks;
    if !right {
        violations.push(format!(
            "{ranks} ranks: the answer to {query:?} is not the closed form's"
        ));
    }

    if wave.coverage != covered(world) || !wave.missing.is_empty() {
        violations.push(format!(
            "{ranks} ranks: {query:?} covers {:?}, missing {:?}",
            wave.coverage, wave.missing
        ));
    }

    if let Err(imbalance) = coverage::balance(&wave.coverage.ledger) {
        violations.push(format!("{ranks} ranks: {imbalance}"));
    }
    // One question, and one answer per member: nothing that a process does grows with the job.
    let members = (0..layout.members())
        .map(invivo_proto::ids::WorldRank)
        .filter(|&world| layout.height(world).is_some_and(|height| height > 1))
        .map(|world| layout.children(world).count())
        .max()
        .unwrap_or(0);
    if wave.messages_max as usize > members + 1 {
        violations.push(format!(
            "{ranks} ranks: a process received {} messages for one wave, with {members} members",
            wave.messages_max
        ));
    }

    violations
}

/// The function table.
pub fn functions(world: &World, rank_rows_max: u32) -> FunctionTable {
    FunctionTable {
        rows: (0..FUNCTIONS)
            .map(|function| (world.region(function), row(world, function)))
            .collect(),
        rank_rows: rank_rows(world, rank_rows_max),
        rank_rows_total: u64::from(world.ranks) * u64::from(FUNCTIONS),
        rank_rows_max,
        distributions: BTreeMap::new(),
        past: None,
    }
}

fn row(world: &World, function: u16) -> FunctionStats {
    let (mut count, mut sum, mut squares) = (0u128, 0u128, 0u128);
    let mut slowest = Vec::new();
    for source in Source::ALL {
        let calls = u128::from(world.calls(source, function));
        let ranks = u128::from(world.count(source));
        let (base, step) = (
            u128::from(world.base_ns(function)),
            u128::from(world.step_ns(source)),
        );
        // Sums of h and of its square over a permutation of 0..ranks.
        let first = ranks * (ranks - 1) / 2;
        let second = (ranks - 1) * ranks * (2 * ranks - 1) / 6;
        count += calls * ranks;
        sum += calls * (ranks * base + step * first);
        // The sum of (base + step * h)^2; calls swing about it by SWING_NS in both directions.
        let means = ranks * base * base + 2 * base * step * first + step * step * second;
        squares += calls * (means + ranks * u128::from(SWING_NS).pow(2));
        let last = u64::from(world.count(source)) - 1;
        let rank = world.rank(source, world.slowness(source, function).undo(last));
        let longest = world.base_ns(function) + world.step_ns(source) * last + SWING_NS;
        slowest.push((longest, Reverse(rank)));
    }

    let (max_ns, Reverse(max_rank)) = slowest.into_iter().max().unwrap_or_default();
    let (bytes_out, bytes_in) = world.bytes(function);
    FunctionStats {
        time: Moments {
            count: count as u64,
            sum_ns: sum as u64,
            mean_ns: sum as f64 / count as f64,
            m2: (count * squares - sum * sum) as f64 / count as f64,
            // The permutation takes the value 0 for some rank.
            min_ns: world.base_ns(function) - SWING_NS,
            max_ns,
            max_rank,
        },
        bytes_out: count as u64 * bytes_out,
        bytes_in: count as u64 * bytes_in,
        clipped: 0,
    }
}

/// The rows with the most time are among the slowest ranks of each function and source.
fn rank_rows(world: &World, rank_rows_max: u32) -> BTreeMap<(Rank, RegionId), FunctionStats> {
    let mut candidates = Vec::new();
    for function in 0..FUNCTIONS {
        for source in Source::ALL {
            let ranks = u64::from(world.count(source));
            // The slowest of each kind and function are enough: the overall worst are among them.
            for slowness in ranks.saturating_sub(u64::from(rank_rows_max))..ranks {
                let rank = world.rank(source, world.slowness(source, function).undo(slowness));
                candidates.push((
                    (rank, world.region(function)),
                    leaf::row(world, rank, function),
                ));
            }
        }
    }

    candidates.sort_by_key(|(key, row)| (Reverse(row.time.sum_ns), *key));
    candidates
        .into_iter()
        .take(rank_rows_max as usize)
        .collect()
}

/// The matrix. A block sends to as many blocks as a rank has partners.
pub fn matrix(world: &World, side_max: u32) -> Matrix {
    let block = world.ranks.div_ceil(side_max);
    let stride = world.ranks / PARTNERS;
    assert!(
        stride.is_multiple_of(block),
        "partners lie whole blocks apart"
    );
    let blocks = world.ranks / block;
    let mut matrix = Matrix {
        block_ranks: block,
        ..Matrix::default()
    };

    for source in 0..blocks {
        let messages_of = |block_of: u32| -> u64 {
            let of = |source| {
                let (from, to) = (block_of * block, (block_of + 1) * block);
                u64::from(world.below(to, source) - world.below(from, source))
                    * world.messages(source)
            };
            Source::ALL.map(of).iter().sum()
        };
        for number in 0..PARTNERS {
            let destination = (source + number * (stride / block)) % blocks;
            let traffic = |messages| Traffic {
                messages,
                bytes: messages * MESSAGE_BYTES,
            };
            // Each side tells what its own ranks did: the halves of a message may come from
            // different sources.
            let cell = (source, destination);
            add(
                matrix.sent.entry(cell).or_default(),
                traffic(messages_of(source)),
            );
            add(
                matrix.received.entry(cell).or_default(),
                traffic(messages_of(destination)),
            );
        }
    }

    matrix
}

/// The first function's row once more, as messages.
fn same_messages(answer: &Messages, world: &World) -> bool {
    let row = row(world, 0);
    let all = Traffic {
        messages: row.time.count,
        bytes: row.bytes_out,
    };
    let as_row = |time| FunctionTable {
        rows: [(world.region(0), FunctionStats { time, ..row })].into(),
        ..FunctionTable::default()
    };
    [answer.sent, answer.received, answer.matched] == [all; 3]
        && (answer.late_sender.count, answer.untimed) == (0, 0)
        && answer.unmatched == Unmatched::default()
        && flat::same(&as_row(answer.transfer), &as_row(row.time))
}

fn add(into: &mut Traffic, from: Traffic) {
    // Not `Traffic::add`, which is under test: a sum that overflows ends the test here.
    into.messages += from.messages;
    into.bytes += from.bytes;
}

fn status(world: &World) -> JobStatus {
    let mut status = JobStatus::default();
    status.states[RankState::InMpi as usize] = world.ranks / 4;
    status.states[RankState::Computing as usize] = world.ranks - world.ranks / 4;
    // Those that wait least, and those that wait most.
    let (ranks, half) = (u64::from(world.ranks), RANKS_NAMED_MAX as u64 / 2);
    status.named = (0..half)
        .chain(ranks - half..ranks)
        .map(|number| Rank(world.waiting.undo(number) as u32))
        .map(|rank| leaf::named(world, rank))
        .collect();
    status.recording = RecordingStatus {
        on: world.ranks,
        ..RecordingStatus::default()
    };
    status
}

fn covered(world: &World) -> Coverage {
    let mut ledger = Ledger::default();
    for source in Source::ALL {
        let one = leaf::ledger(world, source);
        let ranks = u64::from(world.count(source));
        let all = Ledger {
            entered: ranks * one.entered,
            open: ranks * one.open,
            kept: ranks * one.kept,
            reduced: ranks * one.reduced,
            dropped: one.dropped.map(|dropped| ranks * dropped),
            ..Ledger::default()
        };
        coverage::add(&mut ledger, &all);
    }

    Coverage {
        ranks: world.ranks,
        ranks_reporting: world.ranks,
        lag_ns: 100_000_000,
        ledger,
        packets_mpi: u64::from(world.ranks),
        buffer_bytes: u64::from(world.ranks) << 20,
        ..Coverage::default()
    }
}

/// What is wrong with the acknowledgement of a reset, a sentence each: every rank has done it, at
/// one cut.
pub fn check_reset(world: &World, acks: &Acks) -> Vec<String> {
    let slowest = Rank(world.obeying.undo(u64::from(world.ranks) - 1) as u32);
    let expected = Acks {
        targets: world.ranks,
        done: world.ranks,
        slowest: Some((slowest, world.obey_ns(slowest))),
        from: acks.from,
        ..Acks::default()
    };

    let one_cut = acks
        .from
        .is_some_and(|cut| cut.earliest_ns == cut.latest_ns);
    if *acks == expected && one_cut {
        Vec::new()
    } else {
        vec![format!(
            "{} ranks: the reset was answered by {acks:?}",
            world.ranks
        )]
    }
}
