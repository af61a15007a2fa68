//! Where a rank spent a time in the past, by the samples that its buffers keep of it.

use super::RankRecords;
use crate::samples::Paces;
use crate::time_point::TimePoint;
use invivo_analysis::profile::{Path, Tree};
use invivo_otfx::{Buffer, EventClass, Head};
use invivo_proto::control::contexts::Contexts;
use invivo_proto::control::profile::{NODES_MAX, NoSamples, Node, Past, Sampled};
use std::collections::BTreeMap;
use std::ops::Range;

/// How late samples come at the most, in job time: of what was since then nobody knows whether a
/// rank was on a processor.
const LATE_NS: u64 = 1_500_000_000;

/// How many samples are added up in one go: few milliseconds' worth, in which the packets of all
/// ranks wait. In tests so few that many answers take some steps.
pub const STEP_SAMPLES: usize = if cfg!(test) { 1 << 9 } else { 1 << 16 };

/// What a rank's buffers tell of a time.
#[derive(Debug)]
pub struct KeptProfile {
    pub seen: Sampled,
    /// Each before those below it, [`NODES_MAX`] at most.
    pub nodes: Vec<Node>,
    /// When the last sample of the time was taken that is gone, in ticks.
    pub gone_until: Option<u64>,
    /// Samples of any time that no buffer has got.
    pub not_kept: u64,
}

/// What a rank's buffers tell of a time, as far as it is added up.
#[derive(Debug)]
pub struct KeptSamples {
    /// The time, in ticks.
    ticks: Range<u64>,
    told: KeptProfile,
    by_context: BTreeMap<u32, u64>,
    /// The location of the rank that is read.
    location: usize,
    /// Its last two samples that were read; the last is not counted yet.
    before: Option<One>,
    last: Option<One>,
}

impl RankRecords {
    /// Begins to add up where it spent this time, as far as that was recorded: in these stretches
    /// of ticks. [`RankRecords::add_kept`] goes on with it.
    ///
    /// # Errors
    /// When there are no samples of it.
    pub fn begin_kept(
        &self,
        past: Past,
        moment: &TimePoint<'_>,
        recorded: &[(u64, u64)],
    ) -> Result<KeptSamples, NoSamples> {
        let until = moment.ticks_of(past.to_ns).min(self.sampled_until(moment));
        let ticks = moment.ticks_of(past.from_ns)..until;
        let paces = &self.samples.paces;
        let within = |(begin, end): &(u64, u64)| {
            paces.sampled(&(ticks.start.max(*begin)..ticks.end.min(*end)))
        };
        let sampled: u64 = recorded.iter().map(within).sum();
        let has_samples = |index| self.buffer_with_samples(index).is_some();
        if sampled == 0 || !(0..self.locations.len()).any(has_samples) {
            return Err(NoSamples::NotThen);
        }
        let seen = Sampled {
            elapsed_ns: moment.node().duration_ns(sampled),
            ..Sampled::default()
        };
        Ok(KeptSamples {
            ticks,
            told: KeptProfile {
                seen,
                nodes: Vec::new(),
                gone_until: None,
                not_kept: self.samples.dropped(),
            },
            by_context: BTreeMap::new(),
            location: 0,
            before: None,
            last: None,
        })
    }

    /// Adds up some more, at most `left` samples, which are taken off; whether that was all.
    pub fn add_kept(&self, adding: &mut KeptSamples, left: &mut usize) -> bool {
        while adding.location < self.locations.len() {
            if let Some(buffer) = self.buffer_with_samples(adding.location) {
                if !adding.read(buffer, &self.samples.paces, left) {
                    return false;
                }
                let gone_until = buffer.samples_gone_until();
                let before = self.locations[adding.location].before.samples_gone_until;
                let is_of_time = |until: &u64| *until >= adding.ticks.start;
                let gone_until = gone_until.max(before).filter(is_of_time);
                adding.told.gone_until = adding.told.gone_until.max(gone_until);
            } else if let Some(last) = adding.last.take() {
                // Somebody else has got the buffer while it was read.
                adding.told.gone_until = adding.told.gone_until.max(Some(last.time));
                adding.before = None;
            }
            adding.location += 1;
        }
        true
    }

    /// What has been added up.
    pub fn kept_profile(&self, added: KeptSamples) -> KeptProfile {
        let mut tree = Tree::new();
        for (context, ns) in added.by_context {
            tree.add(&self.path(context), ns);
        }
        let mut told = added.told;
        (told.nodes, _) = tree.into_nodes(self.rank, NODES_MAX);
        told
    }

    /// The buffer of the location of this number, if there are samples in it.
    fn buffer_with_samples(&self, location: usize) -> Option<&Buffer> {
        let buffer = self.locations.get(location)?.store.buffer()?;
        (buffer.ledger_of(EventClass::Sample).stored > 0).then_some(buffer)
    }

    /// Up to when its samples have come, in ticks.
    fn sampled_until(&self, moment: &TimePoint<'_>) -> u64 {
        let late = moment.ticks_of(moment.job_ns().saturating_sub(LATE_NS));
        let behind_newest = self.samples.newest.saturating_add(1);
        behind_newest.clamp(late, moment.ticks().max(late))
    }

    /// The functions of a context, the outermost first, without lines.
    fn path(&self, context: u32) -> Path {
        let mut with_callers = Contexts::new();
        self.give_context(context, &mut with_callers);
        // A caller has a lower number.
        let frames = with_callers.into_values().map(|one| (one.frame, None));
        frames.collect()
    }
}

/// A sample of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct One {
    time: u64,
    ordinal: u64,
    context: u32,
}

impl KeptSamples {
    /// Reads on in a buffer, no more than `left` samples; whether it was read to the end. What it
    /// does not hold as it was written counts as far as it was read.
    fn read(&mut self, buffer: &Buffer, paces: &Paces, left: &mut usize) -> bool {
        let begun = self.last;
        let since = begun.map_or(self.ticks.start, |begun| begun.time);
        let mut reader = buffer.read_samples_since(since);
        while let Ok(Some(contents)) = reader.next() {
            let Head::Sample {
                time,
                ordinal,
                context,
            } = contents.head
            else {
                continue;
            };
            // Read the last time.
            if begun.is_some_and(|begun| (time, ordinal) <= (begun.time, begun.ordinal)) {
                continue;
            }
            if *left == 0 {
                return false;
            }
            *left -= 1;
            let one = One {
                time,
                ordinal,
                context,
            };
            self.count_last(paces, Some(one));
            (self.before, self.last) = (self.last, Some(one));
            // What follows is of later.
            if time >= self.ticks.end {
                break;
            }
        }
        self.count_last(paces, None);
        (self.before, self.last) = (None, None);
        true
    }

    /// Counts the last sample that was read, now that the one behind it is known.
    fn count_last(&mut self, paces: &Paces, after: Option<One>) {
        let Some(one) = self.last else {
            return;
        };
        let unit_ns = paces.at(one.time);
        // Where it is 0, the frequency of the sample was forgotten.
        if !self.ticks.contains(&one.time) || unit_ns == 0 {
            return;
        }
        let ordinal = |of: One| of.ordinal;
        let units = units(self.before.map(ordinal), one.ordinal, after.map(ordinal));
        let ns = unit_ns.saturating_mul(units);
        let frequency = (1_000_000_000 + ns / 2) / ns;
        let frequency = u32::try_from(frequency).unwrap_or(u32::MAX);
        let seen = &mut self.told.seen;
        seen.samples += 1;
        seen.cpu_ns = seen.cpu_ns.saturating_add(ns);
        seen.frequency = match seen.frequency {
            (0, _) => (frequency, frequency),
            (low, high) => (low.min(frequency), high.max(frequency)),
        };
        let sum: &mut u64 = self.by_context.entry(one.context).or_default();
        *sum = sum.saturating_add(ns);
    }
}

/// How many units of ordinals a sample stands for, by those of its neighbours: as many as to the
/// nearer one, so that a gap is nobody's; and no more than the lowest bit of its own, because where
/// every 2^n-th sample is taken or kept the ordinals are multiples of 2^n.
fn units(before: Option<u64>, ordinal: u64, after: Option<u64>) -> u64 {
    let multiple = 1 << ordinal.trailing_zeros().min(u64::BITS - 1);
    // Another sampler, or another thread, numbers anew.
    let since = before.and_then(|before| ordinal.checked_sub(before));
    let until = after.and_then(|after| after.checked_sub(ordinal));
    let distances = since.into_iter().chain(until).filter(|units| *units > 0);
    distances.min().unwrap_or(1).min(multiple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_stands_for_the_way_to_its_nearer_neighbour() {
        let of = |ordinals: &[u64]| -> Vec<u64> {
            let at = |index: usize| ordinals.get(index).copied();
            let each = ordinals.iter().enumerate();
            let before = |index: usize| index.checked_sub(1).and_then(at);
            each.map(|(index, ordinal)| units(before(index), *ordinal, at(index + 1)))
                .collect()
        };
        assert_eq!(of(&[1, 2, 3, 4]), [1, 1, 1, 1]);
        // Every fourth is kept.
        assert_eq!(of(&[4, 8, 12, 16]), [4, 4, 4, 4]);
        // Halved on the way, and the other way round.
        assert_eq!(of(&[5, 6, 7, 8, 10, 12, 14]), [1, 1, 1, 1, 2, 2, 2]);
        assert_eq!(of(&[8, 10, 12, 13, 14]), [2, 2, 1, 1, 1]);
        // A gap is nobody's.
        assert_eq!(of(&[1, 2, 15, 16, 17]), [1, 1, 1, 1, 1]);
        // Another sampler numbers anew.
        assert_eq!(of(&[99, 100, 1, 2]), [1, 1, 1, 1]);
        assert_eq!(of(&[64]), [1]);
    }
}
