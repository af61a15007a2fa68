//! The buffer of one location: arena, levels and strategy put together, and the ledger of what it did.

use crate::arena::{Arena, BinId};
use crate::geometry::{Geometry, TooSmall};
use crate::level::{Level, Levels};
use crate::reader::Reader;
use crate::strategy::{Event, Removal, Strategy};
use alloc::boxed::Box;
use alloc::vec::Vec;
use invivo_proto::record::{Call, Part};

/// Keeps the call records of one location in memory of fixed size. Calls must come in order of their end;
/// one that ends before its predecessor is stored as ending with it.
#[derive(Debug)]
pub struct Buffer {
    arena: Arena,
    levels: Vec<Level>,
    strategy: Box<dyn Strategy>,
    stored: u64,
    reduced: u64,
    reset: u64,
    parts_reduced: u64,
    /// Where the call stored last begins, as long as it is kept: its further parts go there.
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    level: usize,
    bin: BinId,
}

/// Where the calls are that were stored, each in exactly one place: **stored = kept + reduced + reset**.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Calls given to [`Buffer::store`].
    pub stored: u64,
    /// Calls in the buffer.
    pub kept: u64,
    /// Calls given up to make room, or at once.
    pub reduced: u64,
    /// Calls forgotten by [`Buffer::reset`].
    pub reset: u64,
    /// Parts of kept calls for which a strategy gave no room. (Parts of calls that went are not counted.)
    pub parts_reduced: u64,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// It is in the buffer, with all parts that were given.
    pub kept: bool,
    /// Other calls that had to go for it.
    pub given_up: u64,
}

/// How full a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Bins and their size.
    pub geometry: Geometry,
    /// Bins that hold records.
    pub bins_used: u32,
    /// Bytes of these that records and heads take.
    pub bytes_used: u64,
    /// The ends of the oldest and the newest kept call, in ticks.
    pub span: Option<(u64, u64)>,
}

impl Buffer {
    /// Allocates at most `bytes` for records, all of it now. Beside it stand 24 bytes for each bin and 3 KiB
    /// for each level. Nothing is allocated later.
    ///
    /// # Errors
    /// When `bytes` is below [`Geometry::bytes_min`] of the strategy's levels.
    pub fn new(bytes: usize, strategy: Box<dyn Strategy>) -> Result<Self, TooSmall> {
        let levels = strategy.levels();
        Ok(Buffer {
            arena: Arena::new(Geometry::of(bytes, levels)?),
            levels: (0..levels).map(|_| Level::new()).collect(),
            strategy,
            stored: 0,
            reduced: 0,
            reset: 0,
            parts_reduced: 0,
            last: None,
        })
    }

    /// Stores a call with its parts. Request numbers of posting kinds should follow on from call to call: each
    /// gap begins a new bin. Completions are parts; as a call they mean nothing and are given up.
    #[inline]
    pub fn store(&mut self, call: &Call, parts: &[Part]) -> Stored {
        self.stored += 1;
        let level = match self.strategy.level(&Event::Call { call, parts }) {
            Some(level) if !call.facts.kind.completes() => level,
            _ => return self.give_up_at_once(),
        };
        let Level { open, writer, .. } = &mut self.levels[level];
        if let Some(bin) = *open
            && writer.whole(self.arena.bin_mut(bin), call, parts)
        {
            self.commit_call(level, bin, call);
            return Stored {
                kept: true,
                given_up: 0,
            };
        }
        self.store_in_new_bin(level, call, parts)
    }

    /// Stores more parts of the call stored last, which came apart from it. Where that call is gone they go
    /// with it.
    pub fn store_more(&mut self, mut parts: &[Part]) {
        while let Some(Last { level, .. }) = self.last
            && !parts.is_empty()
        {
            let Level {
                open,
                writer,
                last_end,
                ..
            } = &mut self.levels[level];
            let next_request = first_request(None, parts).unwrap_or(writer.next_request());
            let base_time = *last_end;
            if let Some(bin) = *open {
                let memory = self.arena.bin_mut(bin);
                let fits = writer.certain(memory, parts, writer.next_request());
                if fits > 0 && writer.continuation(memory, &parts[..fits]) {
                    self.levels[level].commit(&mut self.arena, bin);
                    parts = &parts[fits..];
                    continue;
                }
            }
            if self.open_bin(level, base_time, next_request).is_none() {
                self.parts_reduced += parts.len() as u64;
                return;
            }
        }
    }

    /// Forgets everything, in time that does not depend on how much there is.
    pub fn reset(&mut self) {
        self.last = None;
        for level in &mut self.levels {
            self.reset += level.remove_all(&mut self.arena);
        }
    }

    /// What became of all calls so far.
    pub fn ledger(&self) -> Ledger {
        Ledger {
            stored: self.stored,
            kept: self.levels.iter().map(|level| level.calls).sum(),
            reduced: self.reduced,
            reset: self.reset,
            parts_reduced: self.parts_reduced,
        }
    }

    /// How full the buffer is. Looks at every bin.
    pub fn fill(&self) -> Fill {
        let geometry = self.arena.geometry();
        let bins = self.levels.iter().flat_map(|level| {
            core::iter::successors(level.oldest(), |bin| self.arena.info(*bin).next)
                .map(|bin| self.arena.info(bin))
        });
        let oldest = bins
            .clone()
            .filter(|bin| bin.calls > 0)
            .map(|bin| bin.first_end)
            .min();
        let newest = self
            .levels
            .iter()
            .filter(|level| level.calls > 0)
            .map(|level| level.last_end)
            .max();
        Fill {
            geometry,
            bins_used: geometry.bins - self.arena.free_bins(),
            bytes_used: bins.map(|bin| u64::from(bin.used)).sum(),
            span: oldest.zip(newest),
        }
    }

    /// Bytes allocated for records: the same from the beginning to the end.
    pub fn arena_bytes(&self) -> usize {
        self.arena.capacity()
    }

    /// Reads what is kept, oldest first.
    pub fn read(&self) -> Reader<'_> {
        Reader::new(&self.arena, &self.levels)
    }

    /// The open bin has no room, or there is none, or the request numbers have a gap.
    #[cold]
    fn store_in_new_bin(&mut self, level: usize, call: &Call, parts: &[Part]) -> Stored {
        self.last = None;
        let reduced = self.reduced;
        let end = call.end.max(self.levels[level].last_end);
        let next_request =
            first_request(Some(call), parts).unwrap_or(self.levels[level].writer.next_request());
        let Some(bin) = self.open_bin(level, end, next_request) else {
            let given_up = self.reduced - reduced;
            return Stored {
                given_up,
                ..self.give_up_at_once()
            };
        };
        let writer = &mut self.levels[level].writer;
        let memory = self.arena.bin_mut(bin);
        if writer.whole(memory, call, parts) {
            self.commit_call(level, bin, call);
            return Stored {
                kept: true,
                given_up: self.reduced - reduced,
            };
        }
        // More than a bin holds: the head takes what surely fits, continuations the rest.
        writer.begin(memory, end, next_request);
        let behind = next_request.wrapping_add(u64::from(call.facts.kind.posts()));
        let fits = writer.certain(memory, parts, behind);
        let written = writer.call(memory, call, &parts[..fits]);
        assert!(written, "the smallest bin holds any call and ten of its parts");
        self.commit_call(level, bin, call);
        let parts_reduced = self.parts_reduced;
        self.store_more(&parts[fits..]);
        let kept = self.last.is_some();
        Stored {
            kept: kept && self.parts_reduced == parts_reduced,
            given_up: self.reduced - reduced - u64::from(!kept),
        }
    }

    #[inline(always)]
    fn commit_call(&mut self, level: usize, bin: BinId, call: &Call) {
        self.levels[level].commit_call(&mut self.arena, bin, call.end);
        self.last = Some(Last { level, bin });
    }

    #[cold]
    fn give_up_at_once(&mut self) -> Stored {
        self.last = None;
        self.reduced += 1;
        Stored {
            kept: false,
            given_up: 0,
        }
    }

    /// Closes the level's open bin and opens a free one, for which others may have to go.
    fn open_bin(&mut self, level: usize, base_time: u64, next_request: u64) -> Option<BinId> {
        self.levels[level].open = None;
        while self.arena.free_bins() == 0 {
            match self.strategy.make_room(level, Levels(&self.levels)) {
                Removal::OldestBin(victim) => {
                    let (bin, calls) = self.levels.get_mut(victim)?.remove_oldest(&mut self.arena)?;
                    self.reduced += calls;
                    self.last = self.last.filter(|last| last.bin != bin);
                }
                Removal::Level(victim) => {
                    self.reduced += self.levels.get_mut(victim)?.remove_all(&mut self.arena);
                    self.last = self.last.filter(|last| last.level != victim);
                }
                Removal::Nothing => return None,
            }
        }
        let bin = self.arena.take()?;
        self.levels[level].append(&mut self.arena, bin, base_time, next_request);
        Some(bin)
    }
}

/// The number of the first request that a record posts.
fn first_request(call: Option<&Call>, parts: &[Part]) -> Option<u64> {
    let of_call = call
        .filter(|call| call.facts.kind.posts())
        .map(|call| call.request);
    of_call.or_else(|| {
        parts
            .iter()
            .find(|part| part.facts.kind.posts())
            .map(|part| part.request)
    })
}
