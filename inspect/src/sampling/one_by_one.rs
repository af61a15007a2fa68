//! Tells each sample: gathers them by thread, and makes messages of them.
//!
//! Messages are few, because each wakes the supervisor and the place: they are made twice a second,
//! or when there are many samples. The contexts that samples were taken in go before them.

use crate::sampling::answer::Names;
use crate::sampling::held::{Held, One};
use crate::sampling::path::Step;
use invivo_proto::control::contexts::SAMPLES_PART_MAX;
use invivo_proto::control::local::FromSupervisor;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Samples that are here; of more, the newest are not told.
const SAMPLES_MAX: usize = 16_384;
/// Samples of one thread, and of all, that are told at once.
const OF_THREAD: usize = 256;
const OF_ALL: usize = 4096;
/// From one time that samples are told to the next.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long a sample waits for its names; and when no more samples come.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_AT_END: Duration = Duration::from_millis(200);
/// Between two looks for names that samples wait for.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Samples on their way to the supervisor.
pub struct OneByOne {
    held: Held,
    /// Those that have their context, by thread; none is empty.
    gathered: BTreeMap<u32, Vec<One>>,
    /// How many these are.
    samples: usize,
    /// One thread has many.
    has_many: bool,
    /// What is gathered is being told.
    is_telling: bool,
    /// When all was told.
    told: Instant,
    left_out: u64,
}

impl OneByOne {
    /// Nothing yet.
    pub fn new(now: Instant) -> OneByOne {
        OneByOne {
            held: Held::new(),
            gathered: BTreeMap::new(),
            samples: 0,
            has_many: false,
            is_telling: false,
            told: now,
            left_out: 0,
        }
    }

    /// Adds a sample with its path, behind the thread's others. Where there is no room for it, it
    /// is counted.
    pub fn add(&mut self, one: One, path: &[Step], now: Instant) {
        if self.held.len() + self.samples >= SAMPLES_MAX {
            self.left_out = self.left_out.saturating_add(1);
        } else if let Some(one) = self.held.add(one, path, now) {
            self.gather(one);
        }
    }

    fn gather(&mut self, one: One) {
        let of_thread = self.gathered.entry(one.tid).or_default();
        of_thread.push(one);
        self.has_many |= of_thread.len() >= OF_THREAD;
        self.samples += 1;
    }

    /// Looks which samples have their names now. Where no more samples come, none waits for long.
    pub fn look(&mut self, names: &Names<'_>, now: Instant, is_on: bool) {
        let patience = if is_on { PATIENCE } else { PATIENCE_AT_END };
        self.release(names, now, patience);
    }

    /// Has all samples told now, with the names that there are.
    pub fn hurry(&mut self, names: &Names<'_>, now: Instant) {
        self.release(names, now, Duration::ZERO);
        self.is_telling = true;
    }

    /// Gives up all samples that are here, and so many that are on their way.
    pub fn give_up(&mut self, on_their_way: usize) {
        // None is held: a release without patience goes before.
        let samples = std::mem::take(&mut self.samples).saturating_add(on_their_way);
        self.gathered.clear();
        let samples = u64::try_from(samples).unwrap_or(u64::MAX);
        self.left_out = self.left_out.saturating_add(samples);
    }

    fn release(&mut self, names: &Names<'_>, now: Instant, patience: Duration) {
        let mut ready = Vec::new();
        self.held
            .release(names, now, patience, |one| ready.push(one));
        ready.into_iter().for_each(|one| self.gather(one));
    }

    /// How long until there is something to do; nothing where no sample is here. What could not be
    /// sent is for the caller to wait for: then `is_stuck`.
    pub fn rest(&self, now: Instant, is_on: bool, is_stuck: bool) -> Option<Duration> {
        let look = (self.held.len() > 0).then_some(LOOK_INTERVAL);
        let tell = (self.samples > 0 && !is_stuck).then(|| match self.is_due(now, is_on) {
            true => Duration::ZERO,
            false => INTERVAL.saturating_sub(now.saturating_duration_since(self.told)),
        });
        look.into_iter().chain(tell).min()
    }

    fn is_due(&self, now: Instant, is_on: bool) -> bool {
        let is_time = now.saturating_duration_since(self.told) >= INTERVAL;
        self.samples > 0 && (is_time || !is_on || self.has_many || self.samples >= OF_ALL)
    }

    /// The next message, if it is time for one; it is to be sent before all that follow.
    pub fn tell(&mut self, now: Instant, is_on: bool) -> Option<FromSupervisor> {
        self.is_telling |= self.is_due(now, is_on);
        if !self.is_telling {
            return None;
        }
        let message = self.held.contexts.tell().or_else(|| self.part());
        if message.is_none() {
            (self.is_telling, self.has_many, self.told) = (false, false, now);
        }
        message
    }

    /// The first samples of a thread that are of one kind.
    fn part(&mut self) -> Option<FromSupervisor> {
        let mut first = self.gathered.first_entry()?;
        let (tid, ones) = (*first.key(), first.get_mut());
        let halvings = ones.first()?.halvings;
        // With another frequency the numbers begin anew.
        let is_next = |one: &One, next: &One| {
            one.halvings == next.halvings && one.taken.ordinal < next.taken.ordinal
        };
        let alike = ones.chunk_by(is_next).next()?.len();
        let some = ones.drain(..alike.min(SAMPLES_PART_MAX));
        let taken: Vec<_> = some.map(|one| one.taken).collect();
        if ones.is_empty() {
            first.remove();
        }
        self.samples -= taken.len();
        Some(FromSupervisor::Samples {
            tid,
            halvings,
            left_out: self.left_out,
            taken,
        })
    }
}

#[cfg(test)]
mod tests;
