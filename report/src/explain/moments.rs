//! What the ranks did at any time: efficiencies in columns of the interval.

use super::seen::GOOD;
use invivo_grpc::v1::{Efficiency, GridReply};
use std::collections::BTreeMap;

/// With fewer columns it cannot be seen that ranks take turns.
const COLUMNS_MIN: usize = 8;
/// A stretch has an end if this part of the columns or more lies outside of it.
const OUTSIDE: f64 = 0.2;
/// What the ranks lost lies in it if this part does.
const MOSTLY: f64 = 0.75;

/// The mean over the columns.
#[derive(Clone, Copy)]
pub(super) struct Moments {
    pub load_balance: f64,
    /// The part for which the rank computes that computes longest.
    pub busiest: f64,
}

impl Moments {
    /// At any time somebody computes, and few do.
    pub fn few_compute(self) -> bool {
        self.load_balance < GOOD && self.busiest >= GOOD
    }
}

/// A part of the interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    pub length_ns: u64,
    /// From its end to that of the interval.
    pub ago_ns: u64,
}

fn columns(grid: &GridReply) -> Vec<(u32, Efficiency)> {
    let columns = grid.efficiencies.iter();
    let columns = columns.filter_map(|one| Some((one.column, one.efficiency?)));
    columns.collect()
}

/// What the ranks do at any time. Nothing of few columns.
pub(super) fn moments(grid: &GridReply) -> Option<Moments> {
    let columns = columns(grid);
    let mean = |of: fn(&Efficiency) -> f64| {
        columns.iter().map(|(_, one)| of(one)).sum::<f64>() / columns.len() as f64
    };
    (columns.len() >= COLUMNS_MIN).then(|| Moments {
        load_balance: mean(|of| of.load_balance),
        busiest: mean(|of| of.communication_efficiency),
    })
}

/// The ranks that computed longest in a column, the one with the most first: each with its part of
/// the time that the ranks together were behind the busiest.
pub(super) fn busiest(grid: &GridReply) -> Vec<(u32, f64)> {
    let mut behind: BTreeMap<u32, f64> = BTreeMap::new();
    for (_, of) in columns(grid) {
        let lost = of.communication_efficiency - of.parallel_efficiency;
        *behind.entry(of.max_rank).or_default() += lost.max(0.0);
    }
    let all: f64 = behind.values().sum();
    let parts = behind.into_iter().filter(|(_, lost)| *lost > 0.0);
    let mut parts: Vec<(u32, f64)> = parts.map(|(rank, lost)| (rank, lost / all)).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    parts
}

/// The one stretch in which the ranks lost what they lost, if they computed well before it and
/// behind it. `end_ns` is where the time ends that was looked at.
pub(super) fn stretch(grid: &GridReply, end_ns: u64) -> Option<Stretch> {
    let columns = columns(grid);
    // That which lies below the limit most, all of its columns together.
    let (mut best, mut best_below) = (0..0, 0.0);
    let (mut begin, mut below) = (0, 0.0);
    for (at, (_, of)) in columns.iter().enumerate() {
        if below <= 0.0 {
            (begin, below) = (at, 0.0);
        }
        below += GOOD - of.parallel_efficiency;
        if below > best_below {
            (best, best_below) = (begin..at + 1, below);
        }
    }
    let lost = |columns: &[(u32, Efficiency)]| -> f64 {
        let lost = columns.iter().map(|(_, of)| 1.0 - of.parallel_efficiency);
        lost.sum()
    };
    let outside = [&columns[..best.start], &columns[best.end..]].concat();
    let is_part = best.len() >= COLUMNS_MIN
        && outside.len() as f64 >= OUTSIDE * columns.len() as f64
        && lost(&columns[best.clone()]) >= MOSTLY * lost(&columns);
    if !is_part || lost(&outside) > (1.0 - GOOD) * outside.len() as f64 {
        return None;
    }
    let time = |column: u32| grid.from_ns + i64::from(column) * grid.width_ns as i64;
    let (first, last) = (columns[best.start].0, columns[best.end - 1].0);
    // The last column may end behind it.
    let (now, end) = (end_ns as i64, time(last + 1));
    Some(Stretch {
        length_ns: (end.min(now) - time(first)).max(0) as u64,
        ago_ns: (now - end).max(0) as u64,
    })
}
