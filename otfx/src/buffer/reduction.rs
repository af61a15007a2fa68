//! Reduction of a full buffer: chooses which bins are given up, and applies a change of the
//! strategy to those that are there.

use super::{Buffer, Item, Last};
use crate::arena::BinId;
use crate::geometry::Unfit;
use crate::ledger::Reason;
use crate::level::Level;
use crate::strategy::{AtCap, EventCap, Label, Sorter, Strategy};

/// Levels of earlier strategies that are told apart; when there are more, the lowest go.
pub(super) const FORMER_MAX: usize = 2 * crate::strategy::LEVELS_MAX;

impl Buffer {
    /// What the buffer keeps when not everything fits.
    pub fn strategy(&self) -> &Strategy {
        &self.strategy
    }

    /// Another strategy from now on. What is there stays as it was sorted, and goes before
    /// everything that comes. The one operation beside creation that allocates; its cost depends on
    /// the levels, not on the records.
    ///
    /// # Errors
    /// When the strategy does not fit the bins; then nothing has changed.
    pub fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Unfit> {
        self.arena.geometry().bears(strategy.levels())?;
        if matches!(self.last, Last::Call { .. }) {
            self.last = Last::Over;
        }

        let labels = strategy.labels();
        for level in &mut self.levels {
            level.close(&mut self.arena);
        }

        // Levels (with their 10 KiB dictionaries) are reused where both strategies have one.
        let old = labels.len().min(self.levels.len());
        let mut chains: alloc::vec::Vec<_> = self.levels[..old]
            .iter_mut()
            .zip(&labels)
            .map(|(level, label)| level.restart(*label))
            .collect();
        chains.extend(self.levels.drain(old..).map(|level| level.chain));
        self.levels
            .extend(labels[old..].iter().map(|label| Level::new(*label)));
        self.former.extend(chains);
        self.forget_former();
        self.sorter = Sorter::new(&strategy);
        self.summaries = super::summaries(&strategy);
        self.strategy = strategy;
        self.halvings = 0;
        self.events_dropped_at = None;
        Ok(())
    }

    /// Other samples begin: with this strategy, which is the one in force with rules for samples
    /// alone before it, or the same again. Calls and regions stay as they are; samples that are
    /// there go before all else. With any other strategy it is [`Buffer::set_strategy`].
    ///
    /// # Errors
    /// As there.
    pub fn begin_samples(&mut self, strategy: Strategy) -> Result<(), Unfit> {
        let rules = &strategy.rules;
        let added = rules.len().checked_sub(self.strategy.rules.len());
        let added = added.filter(|added| rules[*added..] == self.strategy.rules[..]);
        let labels = strategy.labels();
        let new = labels.len().saturating_sub(self.levels.len());
        let is_of_samples = |label: &Label| *label == Label::Samples;
        if added.is_none() || !labels[..new].iter().all(is_of_samples) {
            return self.set_strategy(strategy);
        }

        self.arena.geometry().bears(labels.len())?;
        if matches!(self.last, Last::Call { .. }) {
            // Its level has another number from now on.
            self.last = Last::Over;
        }
        for level in &mut self.levels {
            let label = level.chain.label;
            if !label.holds_events() {
                level.close(&mut self.arena);
                self.former.push(level.restart(label));
            }
        }
        let levels = labels[..new].iter().map(|label| Level::new(*label));
        self.levels.splice(0..0, levels);
        self.forget_former();
        self.sorter = Sorter::new(&strategy);
        self.strategy = strategy;
        self.halvings = 0;
        Ok(())
    }

    /// Another cap from now on, or none.
    pub fn set_event_cap(&mut self, cap: Option<EventCap>) {
        self.strategy.event_cap = cap;
    }

    /// Drops levels of earlier strategies that hold nothing, and the lowest of those that are too
    /// many.
    fn forget_former(&mut self) {
        let held = self.former.iter().filter(|chain| chain.bins() > 0).count();
        let mut surplus = held.saturating_sub(FORMER_MAX);
        for index in 0..self.former.len() {
            if surplus > 0 && self.former[index].bins() > 0 {
                self.remove_former(index, Reason::Strategy);
                surplus -= 1;
            }
        }

        let earlier = &mut self.earlier;
        self.former.retain(|chain| {
            if chain.bins() == 0 {
                // The losses outlive the level, so that the ledger stays balanced.
                earlier.merge(&chain.losses);
            }
            chain.bins() > 0
        });
    }

    /// Closes the level's open bin and opens a free one, for which others may have to go; or says
    /// why not.
    pub(super) fn open_bin(&mut self, item: &Item) -> Result<BinId, Reason> {
        let wanting = &mut self.levels[item.level];
        if wanting.closed {
            return Err(if wanting.samples {
                Reason::Closed
            } else {
                Reason::Cap
            });
        }

        // Closed before room is made: its own oldest bin may be the one that goes.
        wanting.close(&mut self.arena);
        self.keep_to_cap(item)?;
        while self.arena.free_bins() == 0 {
            self.make_room(item.level, false)?;
        }

        let bin = self.arena.take().ok_or(Reason::Room)?;
        let level = &mut self.levels[item.level];
        let base_time = item.end.max(level.writer.last_end());
        let next_request = item.request.unwrap_or(level.writer.next_request());
        level.append(&mut self.arena, bin, base_time, next_request);
        Ok(bin)
    }

    /// Keeps what is no sample to its part of the bins.
    fn keep_to_cap(&mut self, item: &Item) -> Result<(), Reason> {
        let Some(cap) = self.strategy.event_cap else {
            return Ok(());
        };
        if !self.levels[item.level].chain.label.holds_events() {
            return Ok(());
        }

        let limit = u64::from(self.arena.geometry().bins) * u64::from(cap.bins_permille) / 1000;
        // `>=`, because the bin about to be opened is not counted yet.
        while self.event_bins() >= limit {
            match cap.then {
                AtCap::Oldest => self.make_room(item.level, true)?,
                AtCap::DropAll => {
                    for index in 0..self.levels.len() {
                        if self.levels[index].chain.label.holds_events() {
                            self.remove_level(index, Reason::Cap);
                            self.levels[index].closed = true;
                        }
                    }
                    self.events_dropped_at = Some(item.end);
                    return Err(Reason::Cap);
                }
            }
        }

        Ok(())
    }

    fn event_bins(&self) -> u64 {
        let chains = self.levels.iter().map(|level| &level.chain);
        let events = chains.filter(|chain| chain.label.holds_events());
        events.map(|chain| u64::from(chain.bins())).sum()
    }

    /// Gives up the least valuable bin, or level of samples; or says why nothing may go for a bin
    /// of `wanting`.
    pub(super) fn make_room(&mut self, wanting: usize, events_only: bool) -> Result<(), Reason> {
        // Levels of former strategies rank below all others.
        if !events_only && let Some(index) = self.former.iter().position(|chain| chain.bins() > 0) {
            return self.remove_oldest_former(index);
        }

        // Only levels up to the one that wants room: a record never displaces a more valuable one.
        for index in 0..=wanting {
            let level = &self.levels[index];
            if level.closed || events_only && !level.chain.label.holds_events() {
                continue;
            }
            let holds = level.chain.bins() > 0;
            if !level.samples {
                if holds {
                    return self.remove_oldest(index);
                }
                continue;
            }
            // Checked first, as a level of samples goes as a whole or not at all.
            if level.chain.oldest().is_some_and(|bin| self.is_frozen(bin)) {
                return Err(Reason::Held);
            }
            // The producer learns the new frequency from this number; samples of this level would
            // be refused from now on.
            if let Label::Ordinal(lambda) = level.chain.label {
                self.halvings = u32::from(lambda) + 1;
            }
            self.remove_level(index, Reason::Room);
            self.levels[index].closed = true;
            // The level gave up itself: the record has no level any more.
            if index == wanting {
                return Err(Reason::Closed);
            }
            if holds {
                return Ok(());
            }
        }

        Err(Reason::Room)
    }

    fn remove_oldest(&mut self, index: usize) -> Result<(), Reason> {
        let level = &mut self.levels[index];
        let oldest = level.chain.oldest();
        if oldest.is_some_and(|bin| self.is_frozen(bin)) {
            return Err(Reason::Held);
        }
        let level = &mut self.levels[index];
        if level.open == oldest {
            level.close(&mut self.arena);
        }
        let removed = level.chain.remove_oldest(&self.arena, Reason::Room);
        self.give_one(removed);
        Ok(())
    }

    fn remove_oldest_former(&mut self, index: usize) -> Result<(), Reason> {
        let oldest = self.former[index].oldest();
        if oldest.is_some_and(|bin| self.is_frozen(bin)) {
            return Err(Reason::Held);
        }
        let removed = self.former[index].remove_oldest(&self.arena, Reason::Room);
        self.give_one(removed);
        Ok(())
    }

    fn give_one(&mut self, removed: Option<(BinId, u64)>) {
        let Some((gone, records)) = removed else {
            return;
        };
        self.gone[Reason::Room as usize] += records;
        self.reductions += 1;
        // Parts that still come for a call in this bin have nowhere to go.
        if matches!(self.last, Last::Call { bin, .. } if bin == gone) {
            self.last = Last::Gone;
        }
        self.arena.give(gone);
    }

    /// All of a level goes.
    pub(super) fn remove_level(&mut self, index: usize, reason: Reason) {
        let level = &mut self.levels[index];
        level.close(&mut self.arena);
        if matches!(self.last, Last::Call { level, .. } if level == index) {
            self.last = Last::Gone;
        }
        let removed = level.chain.remove_all(&self.arena, reason);
        self.give_all(removed, reason);
    }

    pub(super) fn remove_former(&mut self, index: usize, reason: Reason) {
        let removed = self.former[index].remove_all(&self.arena, reason);
        self.give_all(removed, reason);
    }

    fn give_all(&mut self, removed: Option<(BinId, BinId, u32, u64)>, reason: Reason) {
        let Some((oldest, newest, bins, records)) = removed else {
            return;
        };
        self.gone[reason as usize] += records;
        self.reductions += u64::from(reason != Reason::Reset);
        if self.frozen_before.is_none() {
            self.arena.give_chain(oldest, newest, bins);
            return;
        }

        // One by one: those of the frozen view stay until it is given back.
        let mut next = Some(oldest);
        for _ in 0..bins {
            let Some(bin) = next else { return };
            next = self.arena.info(bin).next;
            if self.is_frozen(bin) {
                self.arena.info_mut(bin).detached = true;
            } else {
                self.arena.give(bin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Head;
    use crate::event::{Attributes, EventClass, Sample};
    use crate::strategy::Dimension;
    use alloc::vec::Vec;
    use invivo_proto::record::Call;

    const SAMPLES: [EventClass; 1] = [EventClass::Sample];

    fn long_ones(samples: bool, cap: Option<u16>) -> Strategy {
        let long = Strategy::by(Dimension::Duration {
            kept_log2: 10,
            levels: 2,
        });
        let first = match samples {
            true => Strategy::by_class(&SAMPLES),
            false => Strategy::flight_recorder(),
        };
        Strategy {
            event_cap: cap.map(|bins_permille| EventCap {
                bins_permille,
                then: AtCap::Oldest,
            }),
            ..first.then(long)
        }
    }

    fn call(buffer: &mut Buffer, number: u64) {
        let call = Call {
            end: 10_000 * (number + 1),
            // Every hundredth is a long one.
            duration: if number.is_multiple_of(100) { 5_000 } else { 5 },
            ..Call::default()
        };
        buffer.store_call(&call, &[], Attributes::default());
    }

    fn ends(buffer: &Buffer) -> (Vec<u64>, Vec<u64>) {
        let (mut calls, mut samples) = (Vec::new(), Vec::new());
        let mut reader = buffer.read();
        while let Some(contents) = reader.next().unwrap() {
            match contents.head {
                Head::Call(call) if call.duration > 1_000 => calls.push(call.end),
                Head::Sample { ordinal, .. } => samples.push(ordinal),
                _ => {}
            }
        }
        (calls, samples)
    }

    /// Samples that begin take nothing from the order in which calls go.
    #[test]
    fn long_calls_stay_when_samples_begin() {
        let mut buffer = Buffer::new(256 << 10, long_ones(false, None)).unwrap();
        (0..100_000).for_each(|number| call(&mut buffer, number));
        let before = ends(&buffer).0;
        assert_eq!(before.len(), 1_000);
        buffer.begin_samples(long_ones(true, Some(750))).unwrap();
        for number in 100_000..200_000 {
            call(&mut buffer, number);
            let sample = Sample {
                time: 10_000 * (number + 1) - 100,
                ordinal: number - 99_999,
                ..Sample::default()
            };
            buffer.store_sample(&sample);
        }
        let (calls, samples) = ends(&buffer);
        assert_eq!(calls.len(), 2_000);
        assert!(samples.len() > 5_000, "{}", samples.len());
        assert!(samples.windows(2).all(|two| two[1] == two[0] + 1));
        assert_eq!(
            buffer.events_gone_until().map(|at| at > 1_000_000),
            Some(true)
        );

        // Another frequency: those of before go first, and calls stay.
        buffer.begin_samples(long_ones(true, Some(750))).unwrap();
        for ordinal in 1..=100 {
            let time = 3_000_000_000 + ordinal;
            buffer.store_sample(&Sample {
                time,
                ordinal,
                ..Sample::default()
            });
        }
        assert_eq!(ends(&buffer).0.len(), 2_000);
        assert!(ends(&buffer).1.ends_with(&[98, 99, 100]));
        // Without a cap calls take the room of samples.
        buffer.set_event_cap(None);
        (300_000..400_000).for_each(|number| call(&mut buffer, number));
        let (calls, samples) = ends(&buffer);
        assert_eq!((calls.len(), samples.len()), (3_000, 0));
    }
}
