//! Sets the buffers' strategy on all ranks, and moves buffers of ended threads to new ones.

use super::interval_timer::Every;
use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use crate::notes::Trouble;
use crate::store::{Keeping, KeepsSamples};
use crate::time_point::Now;
use invivo_otfx::Unfit;
use invivo_proto::control::strategy::Strategy;
use invivo_proto::control::tree::{Acks, FAILURES_MAX};
use std::time::Instant;

/// Between two looks for threads that have ended, while a location wants a buffer: each look asks
/// the kernel once for each thread.
const RECYCLE_NS: u64 = 250_000_000;

/// The job's strategy, from the start.
pub fn begin(strategy: Strategy, local: &mut LocalRanks) {
    let acks = keep(strategy, local);
    if let Some((_, why)) = acks.failures.first() {
        local.feed.notes.add(Trouble::Strategy, || {
            format!("buffers cannot keep {strategy}: {why}; they are flight recorders")
        });
    }
}

/// Samples come from now on, at another frequency than before if some came already: buffers make
/// room for them, as far as they are large enough.
pub fn begin_samples(local: &mut LocalRanks) {
    let asked = local.feed.budget.keeping().asked;
    let keeping = Keeping::new(asked, local.feed.analyses.clock(), KeepsSamples::Now);
    if let Err(unfit) = try_begin_samples(&keeping, local) {
        local.feed.notes.add(Trouble::Strategy, || {
            format!("buffers are too small for samples, and keep none: {unfit}")
        });
    }
}

fn try_begin_samples(keeping: &Keeping, local: &mut LocalRanks) -> Result<(), Unfit> {
    for one in &local.ranks {
        one.records.bears(keeping)?;
    }
    local.feed.budget.keep(keeping)?;
    for one in &mut local.ranks {
        one.records.begin_samples(keeping)?;
    }
    Ok(())
}

/// Samples of the frequency of before come again, or no more: a part of each buffer is theirs, or
/// all of it is for whatever comes.
pub fn share(is_sampled: bool, local: &mut LocalRanks) {
    let keeping = local.feed.budget.keeping();
    let samples = match (keeping.samples, is_sampled) {
        // They had no room.
        (KeepsSamples::No, _) => return,
        (_, true) => KeepsSamples::Now,
        (_, false) => KeepsSamples::NoMore,
    };
    let keeping = Keeping::new(keeping.asked, local.feed.analyses.clock(), samples);
    // The levels are the same: what was borne is borne.
    if local.feed.budget.keep(&keeping).is_ok() {
        for one in &mut local.ranks {
            one.records.share(&keeping);
        }
    }
}

/// Another strategy, on all ranks or on none.
pub fn keep(strategy: Strategy, local: &mut LocalRanks) -> Acks {
    let begun = Instant::now();
    let samples = local.feed.budget.keeping().samples;
    let keeping = Keeping::new(strategy, local.feed.analyses.clock(), samples);
    let mut acks = Acks {
        targets: local.len() as u32,
        ..Acks::default()
    };
    let ranks = local.numbers();
    if let Err(unfit) = try_keep(&keeping, local) {
        let failures = ranks.take(FAILURES_MAX);
        acks.failures = failures.map(|rank| (rank, unfit.to_string())).collect();
        return acks;
    }
    acks.done = acks.targets;
    acks.slowest = ranks
        .last()
        .map(|rank| (rank, begun.elapsed().as_nanos() as u64));
    acks
}

fn try_keep(keeping: &Keeping, local: &mut LocalRanks) -> Result<(), Unfit> {
    // All are asked before one is changed: a command takes effect on all ranks or on none.
    for one in &local.ranks {
        one.records.bears(keeping)?;
    }
    local.feed.budget.keep(keeping)?;
    for one in &mut local.ranks {
        one.records.keep(keeping)?;
    }
    Ok(())
}

/// Gives buffers of threads that have ended to threads that have none.
pub struct Recycling {
    every: Every,
}

impl Default for Recycling {
    fn default() -> Recycling {
        Recycling {
            every: Every::new(RECYCLE_NS, 0),
        }
    }
}

impl Recycling {
    /// Where threads want buffers and there is no memory for more, those of threads that have ended
    /// change hands.
    pub fn recycle(&mut self, now: Now, local: &mut LocalRanks) {
        if !local.feed.budget.is_spent() || !self.every.is_due(now.ns) {
            return;
        }
        for index in 0..local.ranks.len() {
            while local.ranks[index].life == Life::Alive
                && local.ranks[index].records.adopt(&mut local.feed)
            {
                // Any rank's ended thread will do: the budget is that of the place.
                let mut ranks = local.ranks.iter_mut();
                if !ranks.any(|other| other.records.recycle(&mut local.feed)) {
                    return;
                }
            }
        }
    }
}
