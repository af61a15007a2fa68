//! A hierarchy level: the bins that hold one kind of events, in a chain from the oldest to the
//! newest.

use crate::arena::{Arena, BinId};
use crate::event::{EVENT_CLASSES, EventClass};
use crate::ledger::{Losses, Reason};
use crate::strategy::Label;
use crate::writer::Writer;

/// Bins in order of their records' ends, and what the level has lost.
#[derive(Debug)]
pub(crate) struct Chain {
    pub label: Label,
    oldest: Option<BinId>,
    newest: Option<BinId>,
    bins: u32,
    /// Records that begin in the closed bins.
    counts: [u64; EVENT_CLASSES],
    /// The end of the last record of the newest closed bin, ever.
    last_end: u64,
    /// What ended after it is kept, as far as anything is; the end of the last record that was
    /// given up.
    pub gone_until: Option<u64>,
    pub losses: Losses,
}

impl Chain {
    pub fn new(label: Label) -> Self {
        Chain {
            label,
            oldest: None,
            newest: None,
            bins: 0,
            counts: [0; EVENT_CLASSES],
            last_end: 0,
            gone_until: None,
            losses: Losses::default(),
        }
    }

    pub fn oldest(&self) -> Option<BinId> {
        self.oldest
    }

    pub fn newest(&self) -> Option<BinId> {
        self.newest
    }

    pub fn bins(&self) -> u32 {
        self.bins
    }

    pub fn counts(&self) -> &[u64; EVENT_CLASSES] {
        &self.counts
    }

    /// Takes note of something that was given up without having been in a bin.
    pub fn refuse(&mut self, class: EventClass, reason: Reason, end: u64) {
        self.losses.add(class, reason, 1, end, end);
        self.gone_until = self.gone_until.max(Some(end));
    }

    /// The oldest bin leaves the chain; all bins must be closed. Returns the bin, and how many
    /// records go with it.
    pub fn remove_oldest(&mut self, arena: &Arena, reason: Reason) -> Option<(BinId, u64)> {
        let bin = self.oldest?;
        let info = arena.info(bin);
        self.oldest = if self.bins == 1 { None } else { info.next };
        if self.oldest.is_none() {
            self.newest = None;
        }

        self.bins -= 1;
        let mut records = 0;
        for (class, total) in EventClass::ALL.into_iter().zip(&mut self.counts) {
            let count = u64::from(info.counts[class as usize]);
            *total -= count;
            records += count;
            self.losses
                .add(class, reason, count, info.first_end, info.last_end);
        }

        if records > 0 {
            self.gone_until = self.gone_until.max(Some(info.last_end));
        }
        Some((bin, records))
    }

    /// All bins leave the chain, at the cost of one; they must be closed. Returns the oldest and
    /// the newest bin, their number and that of the records.
    pub fn remove_all(
        &mut self,
        arena: &Arena,
        reason: Reason,
    ) -> Option<(BinId, BinId, u32, u64)> {
        let (oldest, newest) = (self.oldest.take()?, self.newest.take()?);
        // Losses are stated for the whole span of the level: looking at each bin would cost time
        // per bin.
        let first_end = arena.info(oldest).first_end;
        let mut records = 0;
        for (class, count) in EventClass::ALL
            .into_iter()
            .zip(core::mem::take(&mut self.counts))
        {
            records += count;
            self.losses
                .add(class, reason, count, first_end, self.last_end);
        }

        if records > 0 {
            self.gone_until = self.gone_until.max(Some(self.last_end));
        }
        Some((oldest, newest, core::mem::take(&mut self.bins), records))
    }
}

/// A chain and the writer of its newest bin.
#[derive(Debug)]
pub(crate) struct Level {
    pub chain: Chain,
    /// Writes into `open`.
    pub writer: Writer,
    /// The newest bin as long as it takes records; closed after one did not fit.
    pub open: Option<BinId>,
    /// It takes no records any more.
    pub closed: bool,
    /// A level of samples: it goes as a whole.
    pub samples: bool,
}

impl Level {
    pub fn new(label: Label) -> Self {
        let mut level = Level {
            chain: Chain::new(label),
            writer: Writer::new(),
            open: None,
            closed: false,
            samples: false,
        };
        level.restart(label);
        level
    }

    /// A level of another strategy begins in its place; the chain of the old one.
    pub fn restart(&mut self, label: Label) -> Chain {
        self.open = None;
        self.writer.restart();
        self.closed = false;
        self.samples = matches!(label, Label::Ordinal(_));
        core::mem::replace(&mut self.chain, Chain::new(label))
    }

    /// Appends a bin, just taken from the arena, and opens it. The one before must be closed.
    pub fn append(&mut self, arena: &mut Arena, bin: BinId, base_time: u64, next_request: u64) {
        // The links of the chain lie in the infos of the bins.
        match self.chain.newest {
            Some(newest) => arena.info_mut(newest).next = Some(bin),
            None => self.chain.oldest = Some(bin),
        }
        self.chain.newest = Some(bin);
        self.chain.bins += 1;
        self.open = Some(bin);
        self.writer
            .begin(arena.bin_mut(bin), base_time, next_request);
    }

    /// Closes the open bin: what was written becomes its content.
    pub fn close(&mut self, arena: &mut Arena) {
        let Some(bin) = self.open.take() else { return };
        self.writer.describe(arena.info_mut(bin));
        for (total, count) in self.chain.counts.iter_mut().zip(self.writer.counts()) {
            *total += u64::from(*count);
        }
        // Needed by `remove_all`, which does not look at the bins.
        self.chain.last_end = self.writer.last_end();
    }

    /// Records that begin in its bins, by class.
    pub fn counts(&self) -> [u64; EVENT_CLASSES] {
        let mut counts = self.chain.counts;
        if self.open.is_some() {
            for (total, count) in counts.iter_mut().zip(self.writer.counts()) {
                *total += u64::from(*count);
            }
        }
        counts
    }
}
