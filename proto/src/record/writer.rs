//! Encodes records, unchecked, into room that the caller has made.
//!
//! The shim hands over facts in words and everything else as numbers, so that all of them stay in
//! registers.

use super::{
    Call, Context, DICTIONARY_SLOTS, Part, RecordKind, TOKEN_CONTINUATION, TOKEN_LITERAL,
    TOKEN_OCCUPANT, Words,
};
use crate::varint::{self, zigzag};

/// Writes records into one packet.
#[derive(Clone, Debug)]
pub struct Encoder(Context<Words>);

impl Encoder {
    /// Begins a packet. `base_time` and `next_request` go into its header.
    pub fn new(base_time: u64, next_request: u64) -> Self {
        Encoder(Context::new(base_time, next_request))
    }

    /// Begins the next packet in place, without moving the dictionary's two kilobytes.
    pub fn restart(&mut self, base_time: u64) {
        self.0.time = base_time;
        // The reader of the packet begins with the same number from the packet's header.
        self.0.last_completed = self.0.next_request;
        self.0.ordinal = 0;
        self.0.dictionary.fill(Words::default());
    }

    /// The number that the next posted request gets.
    #[inline(always)]
    pub fn next_request(&self) -> u64 {
        self.0.next_request
    }

    /// The end of the call written last.
    pub fn time(&self) -> u64 {
        self.0.time
    }

    /// Time passes to the next record; gives how much. Where the clock stepped back, none does: a
    /// thread's records are in order.
    #[inline(always)]
    pub(super) fn pass(&mut self, time: u64) -> u64 {
        let since = time.saturating_sub(self.0.time);
        self.0.time += since;
        since
    }

    /// Gives a request number away without a record (its record was dropped), so that numbers stay
    /// unique.
    #[inline(always)]
    pub fn skip_request(&mut self) {
        self.0.next_request = self.0.next_request.wrapping_add(1);
    }

    /// Writes a call and announces `parts` parts behind it; returns the address behind.
    /// `call.request` is ignored: a posting kind takes [`Encoder::next_request`].
    ///
    /// # Safety
    /// [`MAX_CALL_BYTES`](super::MAX_CALL_BYTES) bytes from `out` on must be writable.
    pub unsafe fn call(&mut self, out: *mut u8, call: &Call, parts: usize) -> *mut u8 {
        let words = Words::from(&call.facts);
        // SAFETY: the caller vouches for the room.
        unsafe {
            self.call_of(
                out,
                call.facts.kind,
                words,
                call.end,
                call.duration,
                call.ordinal,
                parts,
            )
        }
    }

    /// As [`Encoder::call`], of facts in words, which are of this kind. The end is never before the
    /// previous one.
    ///
    /// # Safety
    /// As for [`Encoder::call`].
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "each stays in a register")]
    pub unsafe fn call_of(
        &mut self,
        out: *mut u8,
        kind: RecordKind,
        words: Words,
        end: u64,
        duration: u64,
        ordinal: u64,
        parts: usize,
    ) -> *mut u8 {
        let since = self.pass(end);
        // SAFETY: MAX_CALL_BYTES counts every field written here and in `facts`; the caller has
        // room for them.
        unsafe {
            let mut out = self.facts(out, words, parts != 0);
            out = varint::put(out, since);
            out = varint::put(out, duration);
            if kind.has_ordinal() {
                out = varint::put(out, zigzag(ordinal.wrapping_sub(self.0.ordinal) as i64));
                self.0.ordinal = ordinal;
            }
            if kind.posts() {
                self.0.next_request = self.0.next_request.wrapping_add(1);
            }
            if parts != 0 {
                out = varint::put(out, parts as u64);
            }
            out
        }
    }

    /// Writes one of the parts that [`Encoder::call`] or [`Encoder::continuation`] announced.
    ///
    /// # Safety
    /// [`MAX_PART_BYTES`](super::MAX_PART_BYTES) bytes from `out` on must be writable.
    pub unsafe fn part(&mut self, out: *mut u8, part: &Part) -> *mut u8 {
        let words = Words::from(&part.facts);
        // SAFETY: the caller vouches for the room.
        unsafe { self.part_of(out, words, part.request, part.posted) }
    }

    /// As [`Encoder::part`], of facts in words.
    ///
    /// # Safety
    /// As for [`Encoder::part`].
    #[inline(always)]
    pub unsafe fn part_of(
        &mut self,
        out: *mut u8,
        words: Words,
        request: u64,
        posted: u64,
    ) -> *mut u8 {
        // SAFETY: MAX_PART_BYTES counts every field written here and in `facts`; the caller has
        // room for them.
        unsafe {
            let mut out = self.facts(out, words, false);
            if words.completes() {
                let apart = request.wrapping_sub(self.0.last_completed) as i64;
                out = varint::put(out, zigzag(apart));
                self.0.last_completed = request;
                out = varint::put(out, self.0.time.saturating_sub(posted));
            } else if words.posts() {
                self.0.next_request = self.0.next_request.wrapping_add(1);
            }
            out
        }
    }

    /// Announces `parts` more parts of the call written last, perhaps in an earlier packet.
    ///
    /// # Safety
    /// [`MAX_CALL_BYTES`](super::MAX_CALL_BYTES) bytes from `out` on must be writable.
    pub unsafe fn continuation(&mut self, out: *mut u8, parts: usize) -> *mut u8 {
        // SAFETY: one token and one varint, far below MAX_CALL_BYTES.
        unsafe {
            out.write(TOKEN_CONTINUATION);
            varint::put(out.add(1), parts as u64)
        }
    }

    /// Says whose calls follow: the location's occupant of this number. To be said in each packet,
    /// unless it is the first.
    ///
    /// # Safety
    /// [`MAX_CALL_BYTES`](super::MAX_CALL_BYTES) bytes from `out` on must be writable.
    pub unsafe fn occupant(&mut self, out: *mut u8, occupant: u32) -> *mut u8 {
        // SAFETY: one token and one varint, far below MAX_CALL_BYTES.
        unsafe {
            out.write(TOKEN_OCCUPANT);
            varint::put(out.add(1), u64::from(occupant))
        }
    }

    /// # Safety
    /// Two bytes and seven varints from `out` on must be writable.
    #[inline(always)]
    unsafe fn facts(&mut self, out: *mut u8, words: Words, with_parts: bool) -> *mut u8 {
        // Six bits; the mask lets the compiler see it.
        let slot = words.slot() & (DICTIONARY_SLOTS - 1);
        // Of a region that is no function nothing is taken from the dictionary: its empty slots
        // say just that.
        let is_known = self.0.dictionary[slot] == words && words.region().0 != 0;
        // SAFETY: the caller vouches for the room.
        unsafe {
            if !is_known {
                let Words {
                    head,
                    message,
                    bytes_out,
                    bytes_in,
                } = words;
                return self.literal(out, head, message, bytes_out, bytes_in, with_parts);
            }
            out.write(slot as u8 | u8::from(with_parts) << 7);
            out.add(1)
        }
    }

    /// Writes facts in full, and keeps them. Apart from its caller, of whose way it is the rare
    /// turn: facts that repeat take a byte. It is given words one by one, which then need not be
    /// written to memory for it.
    ///
    /// # Safety
    /// As for [`Encoder::facts`].
    #[cold]
    #[inline(never)]
    unsafe fn literal(
        &mut self,
        out: *mut u8,
        head: u64,
        message: u64,
        bytes_out: u64,
        bytes_in: u64,
        with_parts: bool,
    ) -> *mut u8 {
        let words = Words {
            head,
            message,
            bytes_out,
            bytes_in,
        };
        self.0.dictionary[words.slot() & (DICTIONARY_SLOTS - 1)] = words;
        // SAFETY: the caller vouches for the room.
        unsafe {
            out.write(TOKEN_LITERAL | u8::from(with_parts) << 7);
            out.add(1).write(words.kind());
            let mut out = varint::put(out.add(2), u64::from(words.region().0));
            out = varint::put(out, u64::from(words.comm().0));
            out = varint::put(out, zigzag(i64::from(words.peer())));
            out = varint::put(out, zigzag(i64::from(words.tag())));
            out = varint::put(out, words.bytes_out);
            out = varint::put(out, words.bytes_in);
            varint::put(out, u64::from(words.site().0))
        }
    }
}
