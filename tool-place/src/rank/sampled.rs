//! A rank's samples, which its sampler takes from outside: each goes into the buffer of the
//! location whose thread it was taken of.
//!
//! They come up to a second behind the calls of their time: what buffers keep of them stands in
//! levels of its own, where they are in order.

use super::{Feed, RankRecords, id};
use crate::contexts::OutOfOrder;
use crate::location::Both;
use crate::store::KeepsSamples;
use crate::time_point::TimePoint;
use invivo_otfx::Sample;
use invivo_proto::control::contexts::{Context, Contexts, Taken};
use invivo_proto::control::saved::SavedLocation;
use std::sync::atomic::Ordering;

/// More halvings than a number of samples has bits mean nothing.
const HALVINGS_MAX: u32 = 63;

impl RankRecords {
    /// Calling contexts were met.
    ///
    /// # Errors
    /// When they do not follow on those that are known.
    pub fn met(&mut self, first: u32, contexts: Vec<Context>) -> Result<(), OutOfOrder> {
        self.samples.contexts.add(first, contexts)
    }

    /// Samples of the thread that the kernel numbers so, with the halvings of their frequency.
    pub fn sampled(
        &mut self,
        now_ticks: u64,
        (tid, halvings): (u32, u32),
        left_out: u64,
        taken: &[Taken],
        feed: &mut Feed,
    ) {
        let samples = &mut self.samples;
        samples.halvings = Some(halvings);
        samples.left_out = samples.left_out.max(left_out);
        // Without levels of their own they would lie among calls that were made after them.
        let has_room = feed.budget.keeping().samples != KeepsSamples::No;
        let Some(thread) = self.thread_of(tid).filter(|_| has_room) else {
            self.leave_out(taken.len());
            return;
        };
        self.location(thread, feed);
        let location = &mut self.locations[thread];
        let mut both = Both {
            cuts: &mut feed.cuts,
            cut_off: &mut location.cut_off,
            store: &mut location.store,
            analyses: feed.analyses.sink(id(self.rank, thread)),
        };
        for one in taken {
            let time = both.analyses.ticks_of(one.at_ns);
            // Nobody has seen what is to come.
            if time > now_ticks {
                self.samples.elsewhere += 1;
                continue;
            }
            self.samples.newest = self.samples.newest.max(time);
            both.sample(&Sample {
                time,
                ordinal: one.ordinal,
                context: self.samples.contexts.number(one.context),
                values: &[],
            });
        }
    }

    /// So many samples go into no buffer.
    pub fn leave_out(&mut self, samples: usize) {
        self.samples.elsewhere += samples as u64;
    }

    /// The location that a thread of the kernel's has now.
    fn thread_of(&self, tid: u32) -> Option<usize> {
        let mut locations = self.memory.as_ref()?.locations();
        locations.position(|status| tid != 0 && status.tid.load(Ordering::Relaxed) == tid)
    }

    /// How often the frequency of the samples that came last was halved.
    pub(super) fn halvings_known(&self) -> u32 {
        self.samples.halvings.unwrap_or(0).min(HALVINGS_MAX)
    }

    /// How often its samples are to be halved: as the buffer wants it that holds the most.
    pub fn halvings_wanted(&self) -> u32 {
        let wanted = self.locations.iter().filter_map(|one| one.store.halvings());
        wanted.max().unwrap_or(0)
    }

    /// Adds a context with its callers to others; how many were not among them.
    pub(super) fn give_context(&self, number: u32, to: &mut Contexts) -> usize {
        self.samples.contexts.give(number, to)
    }

    /// Says with the first location of a save what holds for all samples.
    pub fn describe_samples(&self, of: &mut SavedLocation, moment: &TimePoint<'_>) {
        of.piece.contexts = self.samples.contexts.all();
        let paces = self.samples.paces.changes();
        let in_job_time = |(since, unit_ns)| (moment.job_of_ticks(since), unit_ns);
        of.paces = paces.map(in_job_time).collect();
    }

    /// It is sampled at this pace from now on; 0: no longer.
    pub fn paced(&mut self, ticks: u64, unit_ns: u64) {
        self.samples.paces.note(ticks, unit_ns);
    }
}
