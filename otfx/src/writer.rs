//! Appends records to a level's open bin.
//!
//! A record is written piece by piece, each piece where the longest that it can be would fit, or
//! through a scratch pad at the bin's end. When a piece finds no room, what was written of the
//! record lies behind the bin's length and is never read; the record is written again in a new bin,
//! with a new dictionary. So a record needs no measuring beforehand, and a bin's end wastes less
//! than one record.

mod pieces;

pub(crate) use pieces::Body;

use crate::arena::BinInfo;
use crate::contents::{self, BIN_HEAD_BYTES};
use crate::encoding::{
    CONTINUATION, Context, EXTENDED, HEAD_MAX, Key, OPAQUE, OVERLAP, PART_MAX, PARTS_BELOW,
    VALUES_BYTES_MAX, bytes_of,
};
use crate::event::{EVENT_CLASSES, EventClass, OPAQUE_HEAD_BYTES, Opaque};
use invivo_proto::record::{MAX_PARTS, Part};
use invivo_proto::varint::zigzag;

/// An upper bound of a usual head's bytes: token, lengths, third, 7 + 8, ordinal.
const USUAL_MAX: usize = 24;

/// Writes into the bin that is handed to every call; the caller keeps to one bin between two
/// `begin`s.
#[derive(Debug)]
pub(crate) struct Writer {
    context: Context,
    at: usize,
    counts: [u32; EVENT_CLASSES],
    /// `u64::MAX` as long as there is none.
    first_end: u64,
}

impl Writer {
    pub fn new() -> Self {
        Writer {
            context: Context::new(),
            at: 0,
            counts: [0; EVENT_CLASSES],
            first_end: 0,
        }
    }

    /// Begins an empty bin.
    pub fn begin(&mut self, bin: &mut [u8], base_time: u64, next_request: u64) {
        contents::begin(bin, base_time, next_request);
        self.context.begin(base_time, next_request);
        self.at = BIN_HEAD_BYTES;
        self.counts = [0; EVENT_CLASSES];
        self.first_end = u64::MAX;
    }

    /// Begins anew, for records of another level.
    pub fn restart(&mut self) {
        self.context.time = 0;
        self.context.next_request = 0;
    }

    /// Fills in what is known of the bin now.
    pub fn describe(&self, info: &mut BinInfo) {
        info.used = self.at as u32;
        info.counts = self.counts;
        (info.first_end, info.last_end) = (self.first_end(), self.last_end());
    }

    /// Where the bin's content ends, the head included.
    pub fn used(&self) -> usize {
        self.at
    }

    /// Records that begin in the bin, by class.
    pub fn counts(&self) -> &[u32; EVENT_CLASSES] {
        &self.counts
    }

    /// The end of the first record that begins in the bin; of one without any, where it begins.
    pub fn first_end(&self) -> u64 {
        self.first_end.min(self.last_end())
    }

    /// The end of the record stored last.
    #[inline(always)]
    pub fn last_end(&self) -> u64 {
        self.context.time
    }

    /// The number that the next posted request has if it follows on.
    pub fn next_request(&self) -> u64 {
        self.context.next_request
    }

    /// Sets that number, where one is given.
    pub fn expect_request(&mut self, request: Option<u64>) {
        self.context.next_request = request.unwrap_or(self.context.next_request);
    }

    /// Writes a record that lasts, with all its parts; `false` where they do not fit. After `false`
    /// the bin must be closed: the dictionary is ahead of what it holds. (As in all that follows.)
    ///
    /// `record` is asked again where it is not a usual one: so nothing of it is kept in hand on the
    /// way that nearly all take.
    #[inline(always)]
    pub fn timed(
        &mut self,
        bin: &mut [u8],
        class: EventClass,
        record: impl Fn() -> (Key, Body),
        parts: &[Part],
    ) -> bool {
        let (start, time) = (self.at, self.context.time);
        let (key, body) = record();
        // A record that ends before its predecessor is stored as ending with it.
        let since = body.end.saturating_sub(time);
        self.context.time = time + since;
        let (first, overlap) = pieces::gap(since, body.second);
        let written = (self.usual(bin, key, &body, first, overlap, parts.len())
            || self.unusual(bin, record, since, parts.len()))
            && (parts.is_empty() || self.parts(bin, parts));
        self.committed(class, start, time, written)
    }

    /// Writes a sample or a metric.
    #[inline(always)]
    pub fn reading(
        &mut self,
        bin: &mut [u8],
        class: EventClass,
        key: Key,
        body: Body,
        values: &[u64],
    ) -> bool {
        let (start, time) = (self.at, self.context.time);
        let since = body.end.saturating_sub(time);
        self.context.time = time + since;
        // Metrics have no ordinal.
        let ordinal = if class == EventClass::Sample {
            body.second
        } else {
            self.context.sample
        };

        let second = ordinal.wrapping_sub(self.context.sample);
        // Samples are stored as the difference from the ordinal before.
        self.context.sample = ordinal;
        let body = Body { second, ..body };
        let written = (self.usual(bin, key, &body, since, OVERLAP, 0)
            || self.head(bin, key, &body, since, OVERLAP, 0))
            && self.values(bin, values);
        self.committed(class, start, time, written)
    }

    /// Writes a record as it came.
    pub fn opaque(&mut self, bin: &mut [u8], record: &Opaque<'_>, end: u64) -> bool {
        let length = OPAQUE_HEAD_BYTES + record.bytes.len();
        let Some(out) = bin
            .get_mut(self.at..)
            .and_then(|rest| rest.get_mut(..length))
        else {
            return false;
        };

        (out[0], out[1]) = (OPAQUE, record.class as u8);
        out[2..4].copy_from_slice(&(record.bytes.len() as u16).to_le_bytes());
        // Full width: opaque records are rare, and keep the size that they state.
        out[4..12].copy_from_slice(&end.to_le_bytes());
        out[12..20].copy_from_slice(&record.ordinal.to_le_bytes());
        out[OPAQUE_HEAD_BYTES..].copy_from_slice(record.bytes);
        let (start, time) = (self.at, self.context.time);
        self.context.time = end;
        self.at += length;
        self.committed(record.class, start, time, true)
    }

    /// Writes as many of `parts` as surely fit, more parts of the call before; how many.
    pub fn continuation(&mut self, bin: &mut [u8], parts: &[Part]) -> usize {
        // Four bytes for the token and the count of at most three bytes.
        let room = (bin.len() - self.at).saturating_sub(4);
        let fit = parts.len().min(MAX_PARTS).min(room / PART_MAX);
        if fit == 0 {
            return 0;
        }
        bin[self.at] = CONTINUATION;
        self.at = pieces::put_varint(bin, self.at + 1, fit as u64);
        // There is room for all of them.
        for part in &parts[..fit] {
            self.part(bin, part);
        }
        fit
    }

    /// How many of `parts` surely fit behind a head written next.
    pub fn certain(&self, bin: &[u8], parts: usize) -> usize {
        let room = (bin.len() - self.at).saturating_sub(HEAD_MAX);
        parts.min(MAX_PARTS).min(room / PART_MAX)
    }

    #[inline(always)]
    fn committed(&mut self, class: EventClass, start: usize, time: u64, written: bool) -> bool {
        if !written {
            // The bytes behind `at` are never read; the dictionary is not restored (see `timed`).
            (self.at, self.context.time) = (start, time);
            return false;
        }
        self.first_end = self.first_end.min(self.context.time);
        self.counts[class as usize] += 1;
        true
    }

    /// Writes the head that most records have: facts that the dictionary knows, lengths, two
    /// numbers; `false` where it is another one, and then nothing has changed.
    #[inline(always)]
    fn usual(
        &mut self,
        bin: &mut [u8],
        key: Key,
        body: &Body,
        first: u64,
        overlap: u8,
        parts: usize,
    ) -> bool {
        let context = &mut self.context;
        let Some(slot) = context.find(&key) else {
            return false;
        };

        // Any of these needs a mark, a third byte with flags, or longer numbers.
        if (first | body.second) >> 56 != 0
            || body.marks != context.marks
            || body.clipped
            || parts >= PARTS_BELOW
            || body
                .request
                .is_some_and(|request| request != context.next_request)
        {
            return false;
        }

        let mut ordinal = 0;
        if let Some(number) = body.ordinal {
            ordinal = zigzag(number.wrapping_sub(context.ordinal) as i64);
            // The usual head has room for one byte of it.
            if ordinal >= 0x80 {
                return false;
            }
        }

        let Some(out) = bin
            .get_mut(self.at..)
            .and_then(|rest| rest.first_chunk_mut::<USUAL_MAX>())
        else {
            return false;
        };

        // Both are at most 7; saying so spares checks.
        let (first_bytes, second_bytes) = (bytes_of(first) & 7, bytes_of(body.second) & 7);
        let third = usize::from(parts != 0);
        out[0] = slot;
        out[1] = first_bytes as u8 | overlap | (second_bytes as u8) << 4 | (third as u8) << 7;
        debug_assert_eq!(EXTENDED, 1 << 7);
        out[2] = parts as u8;
        let mut at = 2 + third;
        // Always eight bytes: the next piece overwrites the surplus, which is cheaper than a copy
        // of variable length.
        out[at..at + 8].copy_from_slice(&first.to_le_bytes());
        at += first_bytes;
        out[at..at + 8].copy_from_slice(&body.second.to_le_bytes());
        at += second_bytes;
        if let Some(number) = body.ordinal {
            context.ordinal = number;
            out[at] = ordinal as u8;
            at += 1;
        }

        context.next_request = context
            .next_request
            .wrapping_add(u64::from(body.request.is_some()));
        self.at += at;
        true
    }

    /// Writes any head of a record that lasts and ends so many ticks after the one before.
    #[inline(never)]
    fn unusual(
        &mut self,
        bin: &mut [u8],
        record: impl Fn() -> (Key, Body),
        since: u64,
        parts: usize,
    ) -> bool {
        let (key, body) = record();
        let (first, overlap) = pieces::gap(since, body.second);
        self.head(bin, key, &body, first, overlap, parts.min(MAX_PARTS))
    }

    /// Writes the parts that a head announced, and those beyond as continuations.
    #[inline(always)]
    fn parts(&mut self, bin: &mut [u8], parts: &[Part]) -> bool {
        let (beside, rest) = parts.split_at(parts.len().min(MAX_PARTS));
        for part in beside {
            if !self.usual_part(bin, part) && !self.part(bin, part) {
                return false;
            }
        }
        rest.is_empty() || self.continuations(bin, rest)
    }

    #[cold]
    fn continuations(&mut self, bin: &mut [u8], mut rest: &[Part]) -> bool {
        while !rest.is_empty() {
            let fit = self.continuation(bin, rest);
            if fit == 0 {
                return false;
            }
            rest = &rest[fit..];
        }
        true
    }

    /// Writes what most parts are: a completion whose facts the dictionary knows; `false` where it
    /// is something else, and then nothing has changed.
    #[inline(always)]
    fn usual_part(&mut self, bin: &mut [u8], part: &Part) -> bool {
        let context = &mut self.context;
        let key = Key::of(&part.facts, 0);
        let Some(slot) = context.find(&key) else {
            return false;
        };

        let request = zigzag(part.request.wrapping_sub(context.last_completed) as i64);
        let age = context.time.saturating_sub(part.posted);
        if !part.facts.kind.completes() || (request | age) >> 56 != 0 {
            return false;
        }

        let Some(out) = bin
            .get_mut(self.at..)
            .and_then(|rest| rest.first_chunk_mut::<USUAL_MAX>())
        else {
            return false;
        };

        let (request_bytes, age_bytes) = (bytes_of(request) & 7, bytes_of(age) & 7);
        out[0] = slot;
        out[1] = request_bytes as u8 | (age_bytes as u8) << 4;
        // Eight bytes each; the second overwrites the surplus of the first.
        out[2..10].copy_from_slice(&request.to_le_bytes());
        out[2 + request_bytes..10 + request_bytes].copy_from_slice(&age.to_le_bytes());
        context.last_completed = part.request;
        self.at += 2 + request_bytes + age_bytes;
        true
    }

    /// Writes a piece of at most `MAX` bytes; `false` where it does not fit. Near the bin's end it
    /// is written beside and copied.
    #[inline(always)]
    fn piece<const MAX: usize>(
        &mut self,
        bin: &mut [u8],
        write: impl FnOnce(&mut Context, &mut [u8; MAX]) -> usize,
    ) -> bool {
        // The encoder needs room for the longest possible piece; the actual one may still fit.
        let mut pad = None;
        let out = match bin
            .get_mut(self.at..)
            .and_then(|rest| rest.first_chunk_mut())
        {
            Some(room) => room,
            None => pad.insert([0; MAX]),
        };

        let length = write(&mut self.context, out);
        if let Some(pad) = pad {
            let Some(room) = bin
                .get_mut(self.at..)
                .and_then(|rest| rest.get_mut(..length))
            else {
                return false;
            };
            room.copy_from_slice(&pad[..length]);
        }

        self.at += length;
        true
    }

    /// Writes any head.
    #[inline(never)]
    fn head(
        &mut self,
        bin: &mut [u8],
        key: Key,
        body: &Body,
        first: u64,
        overlap: u8,
        parts: usize,
    ) -> bool {
        self.piece::<HEAD_MAX>(bin, |context, out| {
            pieces::head(context, out, key, body, first, overlap, parts)
        })
    }

    /// Writes any part.
    #[inline(never)]
    fn part(&mut self, bin: &mut [u8], part: &Part) -> bool {
        self.piece::<PART_MAX>(bin, |context, out| pieces::part(context, out, part))
    }

    /// Writes counters.
    fn values(&mut self, bin: &mut [u8], values: &[u64]) -> bool {
        self.piece::<VALUES_BYTES_MAX>(bin, |context, out| pieces::values(context, out, values))
    }
}
