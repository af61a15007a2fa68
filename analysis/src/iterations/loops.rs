//! Finds the loops of a program in the table of call sites: places that are come to again and again
//! by way of the same places.
//!
//! Nearly every place is: whatever is called in a loop divides the run as well as what is called at
//! its begin does. So places that are come to equally often in the same time are of one loop, which
//! is shown by one of them.

use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::iterations::{Begin, Iterations, Lengths};
use invivo_proto::control::sites::{Site, SiteStats, SiteTable};

/// Fewer iterations of a rank than these are no loop.
const ITERATIONS_MIN: u64 = 3;
/// And so many times as many of them as of others are usual.
const USUAL_MIN: u64 = 2;
/// A loop has at least this share of the time.
const SHARE_MIN: f64 = 0.01;
/// Loops of an answer: those with the most time.
const LOOPS_MAX: usize = 32;
/// Numbers of iterations that differ by no more than this are the same: by so much, or this share.
const SAME: (u64, u64) = (2, 50);
/// The same where one of them begins with bursts, of which the first are missing.
const SAME_OF_BURSTS: u64 = 8;
/// Spans are of one loop where they have this share of the longer one in common.
const COMMON: f64 = 0.8;

/// A loop, as seen from one place in it.
#[derive(Clone, Copy, Debug)]
pub struct Loop<'a> {
    /// The call with which an iteration begins.
    pub site: &'a Site,
    pub at: &'a SiteStats,
    /// With each call there, or with the first of several.
    pub begin: Begin,
    pub iterations: Iterations,
    /// Share of the time of its ranks in which they were in usual iterations.
    pub share: f64,
    /// Places that an iteration could as well be said to begin at, this one included.
    pub places: u32,
}

/// The loops in a table, the one with the longest iterations first.
pub fn find(table: &SiteTable) -> Vec<Loop<'_>> {
    // Iterations of one place are without gaps: those of some place are all the time there is, but
    // for pauses and for what was not recorded.
    let ways = table.rows.values().flat_map(|at| at.iterations.values());
    let time_ns = ways.map(of_one_rank_ns).fold(1.0, f64::max);
    let rows = table.rows.iter();
    let mut all: Vec<Loop<'_>> = rows.flat_map(|row| at_place(row, time_ns)).collect();
    // What is simplest to see in the program stands for the others.
    all.sort_by_key(|of| {
        let time_ns = of.at.stats.time.sum_ns;
        let (ranks, site) = (of.iterations.ranks, of.site);
        (Reverse(ranks), of.begin, Reverse(time_ns), site)
    });
    let mut loops: Vec<Loop<'_>> = Vec::new();
    for of in all {
        match loops.iter_mut().find(|known| are_one(known, &of)) {
            Some(known) => known.places += 1,
            None => loops.push(of),
        }
    }
    loops.sort_by(|a, b| b.share.total_cmp(&a.share));
    loops.truncate(LOOPS_MAX);
    let mean_ns = |of: &Loop<'_>| of.iterations.lengths.time.mean_ns;
    loops.sort_by(|a, b| mean_ns(b).total_cmp(&mean_ns(a)));
    loops
}

/// Time in all iterations of one rank, on average.
fn of_one_rank_ns(of: &Iterations) -> f64 {
    let ns = of.lengths.time.sum_ns.saturating_add(of.lengths.others_ns);
    ns as f64 / f64::from(of.ranks.max(1))
}

/// The loop that begins at one place, if one does.
fn at_place<'a>((site, at): (&'a Site, &'a SiteStats), time_ns: f64) -> Option<Loop<'a>> {
    let loop_of = |begin: Begin| {
        let iterations = *at.iterations.get(&begin)?;
        let of_ranks = time_ns * f64::from(iterations.ranks.max(1));
        let share = iterations.lengths.time.sum_ns as f64 / of_ranks;
        let of = Loop {
            site,
            at,
            begin,
            iterations,
            share: share.min(1.0),
            places: 1,
        };
        is_loop(&of).then_some(of)
    };
    let (Some(calls), Some(bursts)) = (loop_of(Begin::Call), loop_of(Begin::Burst)) else {
        return loop_of(Begin::Call).or_else(|| loop_of(Begin::Burst));
    };
    // Where most of the time lies between bursts, their calls are no iterations of their own; where
    // it does not, gaps were taken for long that are not. If all of it lay there, and bursts had so
    // many calls, the variance would be one less than these squares of the mean.
    let time = &calls.iterations.lengths.time;
    let variance = time.m2 / time.count as f64;
    let of_burst = calls.iterations.most as f64 / bursts.iterations.most.max(1) as f64;
    let is_uneven = variance > time.mean_ns * time.mean_ns * (of_burst - 1.0) / 4.0;
    match is_uneven || calls.share < bursts.share / 10.0 {
        true => Some(bursts),
        false => Some(calls),
    }
}

fn is_loop(of: &Loop<'_>) -> bool {
    let Iterations {
        lengths,
        fewest,
        most,
        ..
    } = &of.iterations;
    // Gaps that are long by chance are so at any time, and in another number on each rank.
    let time = &lengths.time;
    let are_even = 2.0 * time.m2 < time.count as f64 * time.mean_ns * time.mean_ns;
    let are_as_many = most.saturating_sub(*fewest) <= (most / 8).max(2);
    time.count >= USUAL_MIN.saturating_mul(lengths.others)
        && (of.begin == Begin::Call || are_even && are_as_many)
        && *most >= ITERATIONS_MIN
        && of.share >= SHARE_MIN
}

/// Whether two places are of one loop.
fn are_one(a: &Loop<'_>, b: &Loop<'_>) -> bool {
    let (few, many) = (a.iterations.most, b.iterations.most);
    let (few, many) = (few.min(many), few.max(many));
    let missing = match a.begin.max(b.begin) {
        Begin::Call => SAME.0,
        Begin::Burst => SAME_OF_BURSTS.min(few / 2),
    };
    let (a, b) = (&a.iterations.lengths, &b.iterations.lengths);
    let from_ns = a.first_ns.max(b.first_ns);
    let common_ns = a.last.to_ns.min(b.last.to_ns).saturating_sub(from_ns);
    let span_ns = |of: &Lengths| of.last.to_ns.saturating_sub(of.first_ns);
    let longer_ns = span_ns(a).max(span_ns(b));
    many - few <= missing.max(many / SAME.1) && common_ns as f64 >= COMMON * longer_ns as f64
}
