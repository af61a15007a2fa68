//! The twin: records as plain values in bins that are `VecDeque` elements. It encodes only to learn how many
//! bytes a record takes, by copying a bin's encoder and throwing the bytes away; it removes by `pop_front`.

use crate::policy::{Policy, TestStrategy};
use invivo_otfx::{BIN_HEAD_BYTES, Geometry, Ledger, Removal, Stored};
use invivo_proto::record::{Call, Encoder, MAX_CALL_BYTES, MAX_PART_BYTES, MAX_PARTS, Part};
use std::collections::VecDeque;

/// A record as it is read back.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    Call(Call, Vec<Part>),
    Clipped(u64, Vec<Part>),
}

#[derive(Clone, Debug)]
struct Bin {
    items: Vec<Kept>,
    encoder: Encoder,
    used: usize,
}

#[derive(Debug, Default)]
struct Level {
    bins: VecDeque<Bin>,
    /// Whether the newest bin takes more.
    open: bool,
    last_end: u64,
    /// What the next request's number will be, as far as this level knows.
    next_request: u64,
}

#[derive(Debug)]
pub struct Naive {
    strategy: TestStrategy,
    geometry: Geometry,
    levels: Vec<Level>,
    ledger: Ledger,
    /// Level of the last call, and whether its head is still there.
    last: Option<usize>,
}

impl Bin {
    /// Whether a piece fits, the longest of its kind; then its bytes are added.
    fn piece(&mut self, most: usize, room: usize, write: impl Fn(&mut Encoder, *mut u8) -> *mut u8) -> bool {
        if self.used + most > room {
            return false;
        }
        let mut bytes = vec![0u8; most];
        let start = bytes.as_mut_ptr();
        self.used += write(&mut self.encoder, start) as usize - start as usize;
        true
    }

    fn parts(&mut self, parts: &[Part], room: usize) -> bool {
        parts.iter().all(|part| {
            // SAFETY: `piece` gives MAX_PART_BYTES bytes.
            (!part.facts.kind.posts() || part.request == self.encoder.next_request())
                && self.piece(MAX_PART_BYTES, room, |encoder, out| unsafe {
                    encoder.part(out, part)
                })
        })
    }

    fn call(&mut self, call: &Call, parts: &[Part], room: usize) -> bool {
        // SAFETY: `piece` gives MAX_CALL_BYTES bytes.
        (!call.facts.kind.posts() || call.request == self.encoder.next_request())
            && self.piece(MAX_CALL_BYTES, room, |encoder, out| unsafe {
                encoder.call(out, call, parts.len())
            })
            && self.parts(parts, room)
    }

    fn continuation(&mut self, parts: &[Part], room: usize) -> bool {
        // SAFETY: `piece` gives MAX_CALL_BYTES bytes.
        self.piece(MAX_CALL_BYTES, room, |encoder, out| unsafe {
            encoder.continuation(out, parts.len())
        }) && self.parts(parts, room)
    }

    fn whole(&mut self, call: &Call, parts: &[Part], room: usize) -> bool {
        let mut chunks = parts.chunks(MAX_PARTS);
        self.call(call, chunks.next().unwrap_or(&[]), room)
            && chunks.all(|chunk| self.continuation(chunk, room))
    }

    fn calls(&self) -> u64 {
        self.items
            .iter()
            .filter(|item| matches!(item, Kept::Call(..)))
            .count() as u64
    }
}

/// The longest prefix of which a worst case fits behind a head, with request numbers that follow on.
fn certain(used: usize, room: usize, parts: &[Part], mut next: u64) -> usize {
    let mut fits = 0;
    while fits < parts.len().min(MAX_PARTS) && used + MAX_CALL_BYTES + (fits + 1) * MAX_PART_BYTES <= room {
        if parts[fits].facts.kind.posts() {
            if parts[fits].request != next {
                break;
            }
            next += 1;
        }
        fits += 1;
    }
    fits
}

/// The call as it is read back: what its kind does not carry is zero, its end is not before the last.
fn normal(call: &Call, end: u64) -> Call {
    let mut call = Call { end, ..*call };
    if !call.facts.kind.posts() {
        call.request = 0;
    }
    if !call.facts.kind.has_ordinal() {
        call.ordinal = 0;
    }
    call
}

fn normal_parts(parts: &[Part], end: u64) -> Vec<Part> {
    let normal = |part: &Part| {
        let kind = part.facts.kind;
        Part {
            facts: part.facts,
            request: if kind.completes() || kind.posts() {
                part.request
            } else {
                0
            },
            posted: if kind.completes() { part.posted.min(end) } else { 0 },
        }
    };
    parts.iter().map(normal).collect()
}

impl Naive {
    pub fn new(policy: Policy, geometry: Geometry) -> Self {
        Naive {
            strategy: TestStrategy::new(policy),
            geometry,
            levels: (0..policy.levels()).map(|_| Level::default()).collect(),
            ledger: Ledger::default(),
            last: None,
        }
    }

    pub fn store(&mut self, call: &Call, parts: &[Part]) -> Stored {
        self.ledger.stored += 1;
        self.last = None;
        let reduced = self.ledger.reduced;
        let level = self
            .strategy
            .level_of(call)
            .filter(|_| !call.facts.kind.completes());
        let Some(level) = level else {
            self.ledger.reduced += 1;
            return Stored {
                kept: false,
                given_up: 0,
            };
        };
        let room = self.geometry.bin_bytes;
        let end = call.end.max(self.levels[level].last_end);
        let item = Kept::Call(normal(call, end), normal_parts(parts, end));
        if self.try_open(level, |bin| bin.whole(call, parts, room), item.clone()) {
            self.stored_in(level, end);
            return Stored {
                kept: true,
                given_up: 0,
            };
        }
        let posted = first_request(call, parts);
        if !self.new_bin(level, end, posted) {
            self.ledger.reduced += 1;
            return Stored {
                kept: false,
                given_up: self.ledger.reduced - reduced - 1,
            };
        }
        if self.try_open(level, |bin| bin.whole(call, parts, room), item) {
            self.stored_in(level, end);
            return Stored {
                kept: true,
                given_up: self.ledger.reduced - reduced,
            };
        }
        self.levels[level].open = true;
        let behind = posted.unwrap_or(self.bin(level).encoder.next_request());
        let behind = behind + u64::from(call.facts.kind.posts());
        let fits = certain(BIN_HEAD_BYTES, room, parts, behind);
        let item = Kept::Call(normal(call, end), normal_parts(&parts[..fits], end));
        assert!(self.try_open(level, |bin| bin.call(call, &parts[..fits], room), item));
        self.stored_in(level, end);
        let parts_reduced = self.ledger.parts_reduced;
        self.store_more(&parts[fits..]);
        let gone = self.last.is_none();
        Stored {
            kept: !gone && parts_reduced == self.ledger.parts_reduced,
            given_up: self.ledger.reduced - reduced - u64::from(gone),
        }
    }

    pub fn store_more(&mut self, parts: &[Part]) {
        let room = self.geometry.bin_bytes;
        let mut parts = parts;
        while let Some(level) = self.last {
            if parts.is_empty() {
                return;
            }
            let end = self.levels[level].last_end;
            if self.levels[level].open {
                let bin = self.bin(level);
                let fits = certain(bin.used, room, parts, bin.encoder.next_request());
                let (now, later) = parts.split_at(fits);
                let item = Kept::Clipped(end, normal_parts(now, end));
                if fits > 0 && self.try_open(level, |bin| bin.continuation(now, room), item) {
                    parts = later;
                    continue;
                }
            }
            let posted = parts
                .iter()
                .find(|part| part.facts.kind.posts())
                .map(|part| part.request);
            if !self.new_bin(level, end, posted) {
                self.ledger.parts_reduced += parts.len() as u64;
                return;
            }
        }
    }

    pub fn reset(&mut self) {
        for level in &mut self.levels {
            self.ledger.reset += level.bins.iter().map(Bin::calls).sum::<u64>();
            level.bins.clear();
            level.open = false;
        }
        self.last = None;
    }

    pub fn ledger(&self) -> Ledger {
        let kept = self
            .levels
            .iter()
            .flat_map(|level| &level.bins)
            .map(Bin::calls)
            .sum();
        Ledger { kept, ..self.ledger }
    }

    /// Bins in use, and their bytes.
    pub fn used(&self) -> (usize, usize) {
        let bins = self.levels.iter().flat_map(|level| &level.bins);
        (bins.clone().count(), bins.map(|bin| bin.used).sum())
    }

    /// The ends of the oldest and the newest kept call.
    pub fn span(&self) -> Option<(u64, u64)> {
        let bins = self.levels.iter().flat_map(|level| &level.bins);
        let ends = bins.flat_map(|bin| &bin.items).filter_map(|item| match item {
            Kept::Call(call, _) => Some(call.end),
            Kept::Clipped(..) => None,
        });
        ends.clone().min().zip(ends.max())
    }

    /// All that is kept: each level's records with their continuations joined, then sorted by their end.
    pub fn kept(&self) -> Vec<Kept> {
        let mut all = Vec::new();
        for level in &self.levels {
            let mut joined: Vec<Kept> = Vec::new();
            for item in level.bins.iter().flat_map(|bin| &bin.items) {
                match (joined.last_mut(), item) {
                    (Some(Kept::Call(_, parts) | Kept::Clipped(_, parts)), Kept::Clipped(_, more)) => {
                        parts.extend(more);
                    }
                    _ => joined.push(item.clone()),
                }
            }
            all.extend(joined);
        }
        all.sort_by_key(|item| match item {
            Kept::Call(call, _) => call.end,
            Kept::Clipped(end, _) => *end,
        });
        all
    }

    fn bin(&self, level: usize) -> &Bin {
        self.levels[level].bins.back().expect("an open level has a bin")
    }

    fn stored_in(&mut self, level: usize, end: u64) {
        self.levels[level].last_end = end;
        self.last = Some(level);
    }

    /// Writes into a copy of the open bin; if that works, the copy takes its place. If not, the bin is closed.
    fn try_open(&mut self, level: usize, write: impl Fn(&mut Bin) -> bool, item: Kept) -> bool {
        let level = &mut self.levels[level];
        if !level.open {
            return false;
        }
        let bin = level.bins.back_mut().expect("an open level has a bin");
        let mut copy = bin.clone();
        if write(&mut copy) {
            copy.items.push(item);
            level.next_request = copy.encoder.next_request();
            *bin = copy;
        } else {
            level.open = false;
        }
        level.open
    }

    fn new_bin(&mut self, level: usize, base_time: u64, next_request: Option<u64>) -> bool {
        self.levels[level].open = false;
        while self.levels.iter().map(|level| level.bins.len()).sum::<usize>() == self.geometry.bins as usize {
            let bins = [0, 1].map(|l| self.levels.get(l).map_or(0, |level| level.bins.len()));
            let gone: Vec<Bin> = match self.strategy.decide(level, bins) {
                Removal::OldestBin(victim) => self.levels[victim].bins.pop_front().into_iter().collect(),
                Removal::Level(victim) => self.levels[victim].bins.drain(..).collect(),
                Removal::Nothing => return false,
            };
            if gone.is_empty() {
                return false;
            }
            self.ledger.reduced += gone.iter().map(Bin::calls).sum::<u64>();
            self.forget_last_if_gone();
        }
        let level = &mut self.levels[level];
        level.next_request = next_request.unwrap_or(level.next_request);
        let encoder = Encoder::new(base_time, level.next_request);
        level.bins.push_back(Bin {
            items: Vec::new(),
            encoder,
            used: BIN_HEAD_BYTES,
        });
        level.open = true;
        true
    }

    /// The last call is the newest of its level: it is gone when no call is left there.
    fn forget_last_if_gone(&mut self) {
        self.last = self
            .last
            .filter(|&level| self.levels[level].bins.iter().any(|bin| bin.calls() > 0));
        for level in &mut self.levels {
            level.open &= !level.bins.is_empty();
        }
    }
}

fn first_request(call: &Call, parts: &[Part]) -> Option<u64> {
    if call.facts.kind.posts() {
        return Some(call.request);
    }
    parts
        .iter()
        .find(|part| part.facts.kind.posts())
        .map(|part| part.request)
}
