//! What is known of a rank's samples beside those in its buffers.

use crate::contexts::RankContexts;
use std::collections::VecDeque;
use std::ops::Range;

/// What is known of a rank's samples.
#[derive(Debug, Default)]
pub struct Samples {
    pub contexts: RankContexts,
    /// How often their frequency was halved when the last ones were taken; nothing before the
    /// first.
    pub halvings: Option<u32>,
    /// Samples that the sampler has taken and not told.
    pub left_out: u64,
    /// Samples of threads that have no location (such never called MPI, or have ended), or of which
    /// buffers keep none.
    pub elsewhere: u64,
    /// How often it was sampled when.
    pub paces: Paces,
    /// When the newest of those that came was taken, in ticks.
    pub newest: u64,
}

/// Changes of the frequency that are known: the last ones.
const PACES_MAX: usize = 64;

/// Since when a unit of the samples' ordinals stands for how many ns on a processor.
#[derive(Debug, Default)]
pub struct Paces {
    /// Rising ticks; 0 ns while there are no samples.
    changes: VecDeque<(u64, u64)>,
}

impl Paces {
    /// From now on a unit stands for so many ns; 0: no more samples.
    pub fn note(&mut self, ticks: u64, unit_ns: u64) {
        let (since, before) = self.changes.back().copied().unwrap_or_default();
        if before == unit_ns {
            return;
        }
        // They rise whatever is said.
        let ticks = ticks.max(since);
        if self.changes.len() == PACES_MAX {
            self.changes.pop_front();
        }
        self.changes.push_back((ticks, unit_ns));
    }

    /// What a unit stood for then, in ns.
    pub fn at(&self, ticks: u64) -> u64 {
        let after = self.changes.partition_point(|(since, _)| *since <= ticks);
        let before = after.checked_sub(1).and_then(|at| self.changes.get(at));
        before.map_or(0, |(_, unit_ns)| *unit_ns)
    }

    /// Ticks of a time in which samples were taken.
    pub fn sampled(&self, time: &Range<u64>) -> u64 {
        let ends = self.changes.iter().skip(1).map(|(since, _)| *since);
        let stretches = self.changes.iter().zip(ends.chain([u64::MAX]));
        let within = stretches.map(|((begin, unit_ns), end)| match unit_ns {
            0 => 0,
            _ => end.min(time.end).saturating_sub(time.start.max(*begin)),
        });
        within.sum()
    }

    /// All that are known, oldest first.
    pub fn changes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.changes.iter().copied()
    }
}

impl Samples {
    /// Samples that no buffer has got.
    pub fn dropped(&self) -> u64 {
        self.left_out.saturating_add(self.elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list of every tick.
        #[test]
        fn paces_are_those_of_each_tick(
            changes in prop::collection::vec((1u64..9, 0u64..3), 0..PACES_MAX),
            (from, length) in (0u64..99, 0u64..99),
        ) {
            let (mut paces, mut each, mut now) = (Paces::default(), Vec::new(), 0);
            for (later, unit_ns) in changes {
                each.resize((now + later) as usize, each.last().copied().unwrap_or(0));
                now += later;
                paces.note(now, unit_ns);
                each.push(unit_ns);
                now += 1;
            }
            each.resize(300.max(each.len()), each.last().copied().unwrap_or(0));
            for (tick, unit_ns) in (0..).zip(&each) {
                prop_assert_eq!(paces.at(tick), *unit_ns);
            }
            let time = from..from + length;
            let naive = time.clone().filter(|tick| each[*tick as usize] > 0).count() as u64;
            prop_assert_eq!(paces.sampled(&time), naive);
        }
    }
}
