//! What the place's buffers keep: the strategy in force, questions about them, and buffers that
//! change hands.

use super::{Life, Now, Place};
use crate::notes::Trouble;
use crate::store::Keeping;
use invivo_otfx::Unfit;
use invivo_proto::control::buffers::{Buffers, Cursor, Records};
use invivo_proto::control::strategy::Strategy;
use invivo_proto::control::tree::{Acks, FAILURES_MAX};
use invivo_proto::ids::{LocationId, Rank};
use std::ops::Range;
use std::time::Instant;

/// Between two looks for threads that have ended, while a location wants a buffer: each look asks
/// the kernel once for each thread.
const RECYCLE_NS: u64 = 250_000_000;

impl Place {
    /// The job's strategy, from the start.
    pub(super) fn begin_keeping(&mut self, strategy: Strategy) {
        let acks = self.keep(strategy);
        if let Some((_, why)) = acks.failures.first() {
            self.feed.notes.add(Trouble::Strategy, || {
                format!("buffers cannot keep {strategy}: {why}; they are flight recorders")
            });
        }
    }

    /// Another strategy, on all ranks or on none.
    pub(super) fn keep(&mut self, strategy: Strategy) -> Acks {
        let begun = Instant::now();
        let keeping = Keeping::new(strategy, self.feed.analyses.clock());
        let mut acks = Acks {
            targets: self.ranks.len() as u32,
            ..Acks::default()
        };
        let ranks = (self.first..).map(Rank);
        if let Err(unfit) = self.try_keep(&keeping) {
            let failures = ranks.take(self.ranks.len().min(FAILURES_MAX));
            acks.failures = failures.map(|rank| (rank, unfit.to_string())).collect();
            return acks;
        }
        acks.done = acks.targets;
        acks.slowest = ranks
            .take(self.ranks.len())
            .last()
            .map(|rank| (rank, begun.elapsed().as_nanos() as u64));
        acks
    }

    fn try_keep(&mut self, keeping: &Keeping) -> Result<(), Unfit> {
        for one in &self.ranks {
            one.records.bears(keeping)?;
        }
        self.feed.budget.keep(keeping)?;
        for one in &mut self.ranks {
            one.records.keep(keeping)?;
        }
        Ok(())
    }

    /// What the buffers hold and what they gave up.
    pub(super) fn buffers(&self, now: Now) -> Buffers {
        let moment = self.moment(now);
        let mut sum = Buffers {
            recycled: self.feed.budget.recycled(),
            tick_ps: moment.tick_ps(),
            ..Buffers::default()
        };
        let strategy = self.feed.budget.keeping().asked;
        for one in &self.ranks {
            *sum.strategies.entry(strategy).or_default() += 1;
            one.records.add_buffers(&moment, &mut sum);
        }
        sum
    }

    /// A page of what one location's buffer keeps.
    pub(super) fn kept_records(
        &self,
        now: Now,
        location: LocationId,
        job_ns: Range<u64>,
        after: Option<Cursor>,
        max: u32,
    ) -> Records {
        let records = self
            .index(location.rank)
            .map(|index| &self.ranks[index].records);
        records
            .and_then(|records| {
                records.page(&self.moment(now), location.thread, job_ns, after, max)
            })
            .unwrap_or_default()
    }

    /// Where threads want buffers and there is no memory for more, those of threads that have ended
    /// change hands.
    pub(super) fn recycle(&mut self, now: Now) {
        if !self.feed.budget.is_spent() || now.ns.saturating_sub(self.recycled_ns) < RECYCLE_NS {
            return;
        }
        self.recycled_ns = now.ns;
        for index in 0..self.ranks.len() {
            while self.ranks[index].life == Life::Alive
                && self.ranks[index].records.adopt(&mut self.feed)
            {
                let mut ranks = self.ranks.iter_mut();
                if !ranks.any(|other| other.records.recycle(&mut self.feed)) {
                    return;
                }
            }
        }
    }
}
