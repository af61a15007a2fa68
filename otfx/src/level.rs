//! A hierarchy level: the bins that hold one kind of events, in a chain from the oldest to the newest.

use crate::arena::{Arena, BinId};
use crate::writer::Writer;

/// A chain of bins and the writer of its newest.
#[derive(Debug)]
pub(crate) struct Level {
    /// Writes into `open`.
    pub writer: Writer,
    /// The newest bin as long as it takes records; closed after one did not fit.
    pub open: Option<BinId>,
    oldest: Option<BinId>,
    newest: Option<BinId>,
    bins: u32,
    /// Calls that begin in these bins.
    pub calls: u64,
    /// The end of the call stored last, kept or not: ends never fall.
    pub last_end: u64,
}

impl Level {
    pub fn new() -> Self {
        Level {
            writer: Writer::new(),
            open: None,
            oldest: None,
            newest: None,
            bins: 0,
            calls: 0,
            last_end: 0,
        }
    }

    pub fn oldest(&self) -> Option<BinId> {
        self.oldest
    }

    /// Appends a bin, just taken from the arena, and opens it.
    pub fn append(&mut self, arena: &mut Arena, bin: BinId, base_time: u64, next_request: u64) {
        match self.newest {
            Some(newest) => arena.info_mut(newest).next = Some(bin),
            None => self.oldest = Some(bin),
        }
        self.newest = Some(bin);
        self.bins += 1;
        self.open = Some(bin);
        self.writer.begin(arena.bin_mut(bin), base_time, next_request);
        self.commit(arena, bin);
    }

    /// What was written into the open bin becomes its content.
    #[inline(always)]
    pub fn commit(&mut self, arena: &mut Arena, bin: BinId) {
        arena.info_mut(bin).used = self.writer.used() as u32;
    }

    /// As [`Level::commit`], of a call that begins there.
    #[inline(always)]
    pub fn commit_call(&mut self, arena: &mut Arena, bin: BinId, end: u64) {
        self.commit(arena, bin);
        self.last_end = self.last_end.max(end);
        self.calls += 1;
        let info = arena.info_mut(bin);
        if info.calls == 0 {
            info.first_end = self.last_end;
        }
        info.calls += 1;
    }

    /// Gives the oldest bin back; which it was, and how many calls went with it.
    pub fn remove_oldest(&mut self, arena: &mut Arena) -> Option<(BinId, u64)> {
        let bin = self.oldest?;
        let calls = u64::from(arena.info(bin).calls);
        self.oldest = arena.info(bin).next;
        if self.oldest.is_none() {
            self.newest = None;
            self.open = None;
        }
        self.bins -= 1;
        self.calls -= calls;
        arena.give(bin);
        Some((bin, calls))
    }

    /// Gives all bins back; how many calls went with them.
    pub fn remove_all(&mut self, arena: &mut Arena) -> u64 {
        if let (Some(oldest), Some(newest)) = (self.oldest.take(), self.newest.take()) {
            arena.give_chain(oldest, newest, self.bins);
        }
        self.open = None;
        self.bins = 0;
        core::mem::take(&mut self.calls)
    }
}

/// What a strategy sees of the levels.
#[derive(Clone, Copy, Debug)]
pub struct Levels<'a>(pub(crate) &'a [Level]);

impl Levels<'_> {
    /// Bins of a level.
    pub fn bins(&self, level: usize) -> u32 {
        self.0.get(level).map_or(0, |l| l.bins)
    }

    /// Calls in a level.
    pub fn calls(&self, level: usize) -> u64 {
        self.0.get(level).map_or(0, |l| l.calls)
    }
}
