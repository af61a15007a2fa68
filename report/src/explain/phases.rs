//! Two ranks that compute longer than the others: each in its own phase, or both at once.

use super::moments::{busiest, moments};
use super::seen::{GOOD, Seen, WAITS};
use super::sites;
use super::waits::{Caused, Late, Waiting};
use crate::units::share;
use invivo_grpc::v1::{Efficiency, GridReply};

/// Of two ranks only there is nobody else who waits.
const RANKS_MIN: u32 = 3;
/// Together they have at least this part of what the others are behind, or wait.
const MOST: f64 = 0.85;
/// And each of them this one.
const EACH: f64 = 0.2;
/// And computes for this part of the time of the one that computes longest, or more.
const AS_LONG: f64 = 0.7;
/// Where they take turns, each computes for this part of the time less than whoever is busiest.
const IN_TURN: f64 = 0.15;

/// The two ranks, or nobody: they are those that compute longest in some columns, and where it is
/// known for whom the others wait, it is for these. Otherwise columns must be short enough to show
/// that few compute in each.
pub(super) fn late(seen: &Seen, of: &Efficiency, waiting: Option<&Waiting>) -> Vec<Late> {
    let at_once = of.parallel_efficiency * f64::from(of.ranks);
    let parts = busiest(&seen.grid);
    let (Some(moments), [first, second, ..]) = (moments(&seen.grid), parts.as_slice()) else {
        return Vec::new();
    };
    let is_most = |first: f64, second: f64| first + second >= MOST && first.min(second) >= EACH;
    let may_be = of.ranks >= RANKS_MIN && at_once >= GOOD && second_at_most(&seen.grid) >= AS_LONG;
    if !may_be || !is_most(first.1, second.1) {
        return Vec::new();
    }
    if waiting.is_none_or(|of| of.share < WAITS) {
        let late = [*first, *second].map(unknown).into();
        return if moments.few_compute() {
            late
        } else {
            Vec::new()
        };
    }
    let caused = Caused::between(&seen.waits_before, &seen.waits_after);
    let shares = [first.0, second.0].map(|rank| caused.share(rank));
    if !is_most(shares[0], shares[1]) {
        return Vec::new();
    }
    let late = |(rank, share)| {
        let function = caused.function(rank).unwrap_or_default();
        Late {
            rank,
            share,
            place: sites::place_of(&seen.before, &seen.after, &function).unwrap_or_default(),
            function,
        }
    };
    vec![late((first.0, shares[0])), late((second.0, shares[1]))]
}

/// For how long the rank may compute that does so second longest, as a part of the longest: all
/// others compute for as long as the shortest at least.
fn second_at_most(grid: &GridReply) -> f64 {
    let [row] = grid.rows.as_slice() else {
        return 1.0;
    };
    let Some(total) = row.total.filter(|of| of.ranks >= RANKS_MIN && of.max > 0) else {
        return 1.0;
    };
    let others = u64::from(total.ranks - 2).saturating_mul(total.min);
    let second = total.sum.saturating_sub(total.max).saturating_sub(others);
    second as f64 / total.max as f64
}

/// Of waits nothing is known.
fn unknown((rank, share): (u32, f64)) -> Late {
    Late {
        rank,
        share,
        function: String::new(),
        place: String::new(),
    }
}

/// Whether they take turns.
pub(super) fn in_turn(seen: &Seen, of: &Efficiency) -> bool {
    let busiest = moments(&seen.grid).map_or(0.0, |of| of.busiest);
    busiest - of.communication_efficiency >= IN_TURN
}

/// "49.8 % of it for rank 1, in MPI_Allreduce at solve (solver.c:212), and 50.0 % for rank 3".
pub(super) fn told(late: &[Late]) -> String {
    let one = |(at, of): (usize, &Late)| {
        let it = if at == 0 { " of it" } else { "" };
        let mut text = format!("{}{it} for rank {}", share(of.share, 1.0), of.rank);
        if !of.function.is_empty() {
            text.push_str(&format!(", in {}", of.function));
        }
        if !of.place.is_empty() {
            text.push_str(&format!(" at {}", of.place));
        }
        text
    };
    let all: Vec<String> = late.iter().enumerate().map(one).collect();
    all.join(", and ")
}
