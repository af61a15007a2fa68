//! Reports what a buffer holds: levels, losses, complete history, halvings of samples.

use super::Buffer;
use crate::event::{EVENT_CLASSES, EventClass};
use crate::geometry::Geometry;
use crate::iterations::Summaries;
use crate::ledger::{Ledger, Loss, Reason};
use crate::level::{Chain, Level};
use crate::reader::Reader;
use crate::strategy::Label;

/// How full a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Bins and their size.
    pub geometry: Geometry,
    /// Bins that hold records.
    pub bins_used: u32,
    /// Bytes of these that records and heads take.
    pub bytes_used: u64,
    /// The ends of the oldest and the newest kept record, in ticks.
    pub span: Option<(u64, u64)>,
}

/// One level, in the order in which they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelStatus {
    /// What it holds.
    pub label: Label,
    /// Of a strategy that holds no more: it takes no records.
    pub former: bool,
    /// Samples of it, or events because of their cap, are not taken any more.
    pub closed: bool,
    /// Its bins.
    pub bins: u32,
    /// Its records, by class.
    pub kept: [u64; EVENT_CLASSES],
    /// The end of the last record that it gave up, in ticks: what ended later is complete. `None`:
    /// everything is.
    pub gone_until: Option<u64>,
}

impl Buffer {
    /// What became of all records so far.
    pub fn ledger(&self) -> Ledger {
        let gone = |reason: Reason| self.gone[reason as usize];
        let reduced = [
            Reason::Room,
            Reason::Closed,
            Reason::Cap,
            Reason::Strategy,
            Reason::Refused,
        ];
        Ledger {
            stored: self.stored,
            kept: self.levels().flat_map(|level| level.kept).sum(),
            reduced: reduced.into_iter().map(gone).sum(),
            // Held is not the strategy's choice, so it counts as dropped and not as reduced.
            dropped: gone(Reason::Held),
            reset: gone(Reason::Reset),
            parts_reduced: self.parts_reduced,
        }
    }

    /// As [`Buffer::ledger`], of one class. Parts are those of calls.
    pub fn ledger_of(&self, class: EventClass) -> Ledger {
        let mut ledger = Ledger {
            kept: self.kept(class),
            ..Ledger::default()
        };

        if class == EventClass::Call {
            ledger.parts_reduced = self.parts_reduced;
        }
        for loss in self.losses().filter(|loss| loss.class == class) {
            match loss.reason {
                Reason::Held => ledger.dropped += loss.records,
                Reason::Reset => ledger.reset += loss.records,
                Reason::Room
                | Reason::Closed
                | Reason::Cap
                | Reason::Strategy
                | Reason::Refused => {
                    ledger.reduced += loss.records;
                }
            }
        }

        ledger.stored = ledger.kept + ledger.reduced + ledger.dropped + ledger.reset;
        ledger
    }

    /// What was lost, by level, class and reason, with the time in which it lay.
    pub fn losses(&self) -> impl Iterator<Item = Loss> + '_ {
        let earlier = core::iter::once((&self.earlier, Label::Earlier));
        let former = self.former.iter().map(|chain| (&chain.losses, chain.label));
        let levels = self
            .levels
            .iter()
            .map(|level| (&level.chain.losses, level.chain.label));
        earlier
            .chain(former)
            .chain(levels)
            .flat_map(|(losses, label)| losses.rows(label))
    }

    /// When the last record ended that was given up and was no sample, in ticks: calls and regions
    /// that ended later are complete. Nothing where they all are.
    pub fn events_gone_until(&self) -> Option<u64> {
        let events = self.levels().filter(|level| level.label.holds_events());
        events.filter_map(|level| level.gone_until).max()
    }

    /// When the last sample was taken that is missing, in ticks: those that came later are
    /// complete. Samples that are thinned evenly stand for those between them; they are missing
    /// where another strategy, or other samples, took their room.
    pub fn samples_gone_until(&self) -> Option<u64> {
        let earlier = core::iter::once((&self.earlier, Label::Earlier));
        let former = self
            .former
            .iter()
            .map(|chain| (&chain.losses, Label::Earlier));
        let chains = self.levels.iter().map(|level| &level.chain);
        let newest = chains.filter(|chain| !matches!(chain.label, Label::Ordinal(_)));
        let newest = newest.map(|chain| (&chain.losses, chain.label));
        let all = earlier.chain(former).chain(newest);
        let lost = all.flat_map(|(losses, label)| losses.rows(label));
        let lost =
            lost.filter(|loss| loss.class == EventClass::Sample && loss.reason != Reason::Closed);
        lost.map(|loss| loss.last_end).max()
    }

    /// All levels, those of earlier strategies first.
    pub fn levels(&self) -> impl Iterator<Item = LevelStatus> + '_ {
        let status = |chain: &Chain, former, closed, kept| LevelStatus {
            label: chain.label,
            former,
            closed,
            bins: chain.bins(),
            kept,
            gone_until: chain.gone_until,
        };

        let former = self
            .former
            .iter()
            .map(move |chain| status(chain, true, false, *chain.counts()));
        let levels = self
            .levels
            .iter()
            .map(move |level: &Level| status(&level.chain, false, level.closed, level.counts()));
        former.chain(levels)
    }

    /// Records in the buffer of one class.
    pub fn kept(&self, class: EventClass) -> u64 {
        self.levels().map(|level| level.kept[class as usize]).sum()
    }

    /// How full the buffer is. Looks at every bin.
    pub fn fill(&self) -> Fill {
        let mut fill = Fill {
            geometry: self.arena.geometry(),
            bins_used: 0,
            bytes_used: 0,
            span: None,
        };

        let mut add = |records: u32, used: u64, first_end: u64, last_end: u64| {
            fill.bins_used += 1;
            fill.bytes_used += used;
            if records > 0 {
                let (first, last) = fill.span.unwrap_or((first_end, last_end));
                fill.span = Some((first.min(first_end), last.max(last_end)));
            }
        };

        let levels = self.levels.iter().map(|level| (&level.chain, level.open));
        let former = self.former.iter().map(|chain| (chain, None));
        // The info of an open bin is not up to date: its writer is asked below.
        for (chain, open) in former.chain(levels) {
            let behind = |bin: &_| self.arena.info(*bin).next;
            let closed = core::iter::successors(chain.oldest(), behind).take(chain.bins() as usize);
            for bin in closed.filter(|bin| Some(*bin) != open) {
                let info = self.arena.info(bin);
                let records = info.counts.iter().sum();
                add(records, u64::from(info.used), info.first_end, info.last_end);
            }
        }

        for level in self.levels.iter().filter(|level| level.open.is_some()) {
            let writer = &level.writer;
            let records = writer.counts().iter().sum();
            add(
                records,
                writer.used() as u64,
                writer.first_end(),
                writer.last_end(),
            );
        }

        fill
    }

    /// Bytes allocated for records: the same from the beginning to the end.
    pub fn arena_bytes(&self) -> usize {
        self.arena.capacity()
    }

    /// How often a level has given something up so far, its oldest bin or all of it.
    pub fn reductions(&self) -> u64 {
        self.reductions
    }

    /// When events reached their cap and were dropped for good, in ticks.
    pub fn events_dropped_at(&self) -> Option<u64> {
        self.events_dropped_at
    }

    /// Whether the strategy thins samples, so that their producer is to be told of halvings.
    pub fn thins_samples(&self) -> bool {
        self.levels.iter().any(|level| level.samples)
    }

    /// How often the frequency of samples has been halved, for their producer. A new strategy and a
    /// reset begin at 0 again.
    pub fn halvings(&self) -> u32 {
        self.halvings
    }

    /// What happened in each iteration, if the strategy sorts by iterations.
    pub fn summaries(&self) -> Option<&Summaries> {
        self.summaries.as_deref()
    }

    /// Reads what is kept, oldest first.
    pub fn read(&self) -> Reader<'_> {
        Reader::new(&self.arena, &self.former, &self.levels)
    }

    /// The same, but for most of what ended before `ticks`: bins whose last record did are not
    /// read. What they hold of a record that goes on in the next bin is left out with them, so that
    /// its rest stands alone. For records that were stored in the order of their ends, as those of
    /// one thread are.
    pub fn read_since(&self, ticks: u64) -> Reader<'_> {
        Reader::since(&self.arena, &self.former, &self.levels, ticks)
    }

    /// The same, of levels that hold samples alone, where there are such.
    pub fn read_samples_since(&self, ticks: u64) -> Reader<'_> {
        let mut reader = self.read_since(ticks);
        let holds_samples_alone = |label: Label| !label.holds_events();
        let mut chains = self.levels.iter().map(|level| &level.chain);
        if chains.any(|chain| holds_samples_alone(chain.label)) {
            reader.keep(holds_samples_alone);
        }
        reader
    }
}
