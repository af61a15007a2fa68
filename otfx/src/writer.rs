//! Appends records to a level's open bin. The one file of this crate with unsafe code: the encoder of
//! [`invivo_proto::record`] writes through a pointer, and here is where its room is measured.
//!
//! A record is written piece by piece, each piece only where the longest that it can be would fit. When a
//! later piece finds no room, what was written of the record lies behind the bin's committed length and is
//! never read; the record is written again in a new bin, with a new encoder. So a record needs no measuring
//! beforehand and no copy, and a bin's end wastes at most one record and one longest part.
#![allow(unsafe_code)]

use crate::bin::{self, BIN_HEAD_BYTES};
use invivo_proto::record::{Call, Encoder, MAX_CALL_BYTES, MAX_PART_BYTES, MAX_PARTS, Part};

/// Writes into the bin that is handed to every call; the caller keeps to one bin between two `begin`s.
#[derive(Debug)]
pub(crate) struct Writer {
    encoder: Encoder,
    at: usize,
}

impl Writer {
    pub fn new() -> Self {
        Writer {
            encoder: Encoder::new(0, 0),
            at: 0,
        }
    }

    /// Begins an empty bin.
    pub fn begin(&mut self, bin: &mut [u8], base_time: u64, next_request: u64) {
        bin::begin(bin, base_time, next_request);
        self.encoder = Encoder::new(base_time, next_request);
        self.at = BIN_HEAD_BYTES;
    }

    /// Where the bin's content ends, the head included; to be asked after what could be written.
    #[inline(always)]
    pub fn used(&self) -> usize {
        self.at
    }

    /// The number that the next posted request must have to be written here.
    pub fn next_request(&self) -> u64 {
        self.encoder.next_request()
    }

    /// Writes a call with all its parts; `false` where they do not fit or their request numbers do not follow
    /// on. After `false` the bin is closed: the encoder is ahead of what was committed.
    #[inline]
    pub fn whole(&mut self, bin: &mut [u8], call: &Call, parts: &[Part]) -> bool {
        let (beside, rest) = parts.split_at(parts.len().min(MAX_PARTS));
        self.call(bin, call, beside) && rest.chunks(MAX_PARTS).all(|more| self.continuation(bin, more))
    }

    /// Writes a call with at most [`MAX_PARTS`] parts, or answers as [`Writer::whole`].
    #[inline(always)]
    pub fn call(&mut self, bin: &mut [u8], call: &Call, parts: &[Part]) -> bool {
        if call.facts.kind.posts() && call.request != self.encoder.next_request() {
            return false;
        }
        let Some(room) = room(bin, self.at, MAX_CALL_BYTES) else {
            return false;
        };
        // SAFETY: `room` has MAX_CALL_BYTES bytes.
        let end = unsafe { self.encoder.call(room.as_mut_ptr(), call, parts.len()) };
        self.at += end as usize - room.as_ptr() as usize;
        self.parts(bin, parts)
    }

    /// Writes at most [`MAX_PARTS`] more parts of the call written last, or answers as [`Writer::whole`].
    pub fn continuation(&mut self, bin: &mut [u8], parts: &[Part]) -> bool {
        let Some(room) = room(bin, self.at, MAX_CALL_BYTES) else {
            return false;
        };
        // SAFETY: `room` has MAX_CALL_BYTES bytes.
        let end = unsafe { self.encoder.continuation(room.as_mut_ptr(), parts.len()) };
        self.at += end as usize - room.as_ptr() as usize;
        self.parts(bin, parts)
    }

    #[inline(always)]
    fn parts(&mut self, bin: &mut [u8], parts: &[Part]) -> bool {
        for part in parts {
            if part.facts.kind.posts() && part.request != self.encoder.next_request() {
                return false;
            }
            let Some(room) = room(bin, self.at, MAX_PART_BYTES) else {
                return false;
            };
            // SAFETY: `room` has MAX_PART_BYTES bytes.
            let end = unsafe { self.encoder.part(room.as_mut_ptr(), part) };
            self.at += end as usize - room.as_ptr() as usize;
        }
        true
    }

    /// How many of `parts` fit for certain behind a call or a continuation written next, if the first
    /// posting one gets the number `next_request`.
    pub fn certain(&self, bin: &[u8], parts: &[Part], mut next_request: u64) -> usize {
        let room = (bin.len() - self.at).saturating_sub(MAX_CALL_BYTES);
        let most = parts.len().min(MAX_PARTS).min(room / MAX_PART_BYTES);
        let follows_on = |part: &&Part| {
            let posts = part.facts.kind.posts();
            let fits = !posts || part.request == next_request;
            next_request = next_request.wrapping_add(u64::from(posts));
            fits
        };
        parts[..most].iter().take_while(follows_on).count()
    }
}

/// The next `bytes` bytes of `bin`, if there are as many.
#[inline(always)]
fn room(bin: &mut [u8], at: usize, bytes: usize) -> Option<&mut [u8]> {
    bin.get_mut(at..)?.get_mut(..bytes)
}
