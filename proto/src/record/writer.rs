//! Encodes records, unchecked, into room that the caller has made.

use super::{Call, Context, DICTIONARY_SLOTS, Facts, Part, TOKEN_CONTINUATION, TOKEN_LITERAL};
use crate::varint::{self, zigzag};

/// Writes records into one packet.
#[derive(Clone, Debug)]
pub struct Encoder(Context);

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
        self.0.dictionary.fill(Facts::default());
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

    /// Gives a request number away without a record (its record was dropped), so that numbers stay
    /// unique.
    #[inline(always)]
    pub fn skip_request(&mut self) {
        self.0.next_request = self.0.next_request.wrapping_add(1);
    }

    /// Writes a call and announces `parts` parts behind it; returns the address behind.
    /// `call.request` is ignored: a posting kind takes [`Encoder::next_request`]. The end is never
    /// before the previous one.
    ///
    /// # Safety
    /// [`MAX_CALL_BYTES`] bytes from `out` on must be writable.
    #[inline]
    pub unsafe fn call(&mut self, out: *mut u8, call: &Call, parts: usize) -> *mut u8 {
        // A thread's calls end in order; if the clock stepped back, the record ends with its
        // predecessor.
        let since = call.end.saturating_sub(self.0.time);
        self.0.time += since;
        // SAFETY: MAX_CALL_BYTES counts every field written here and in `facts`; the caller has
        // room for them.
        unsafe {
            let mut out = self.facts(out, &call.facts, parts != 0);
            out = varint::put(out, since);
            out = varint::put(out, call.duration);
            if call.facts.kind.has_ordinal() {
                out = varint::put(
                    out,
                    zigzag(call.ordinal.wrapping_sub(self.0.ordinal) as i64),
                );
                self.0.ordinal = call.ordinal;
            }
            if call.facts.kind.posts() {
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
    /// [`MAX_PART_BYTES`] bytes from `out` on must be writable.
    #[inline]
    pub unsafe fn part(&mut self, out: *mut u8, part: &Part) -> *mut u8 {
        // SAFETY: MAX_PART_BYTES counts every field written here and in `facts`; the caller has
        // room for them.
        unsafe {
            let mut out = self.facts(out, &part.facts, false);
            if part.facts.kind.completes() {
                out = varint::put(
                    out,
                    zigzag(part.request.wrapping_sub(self.0.last_completed) as i64),
                );
                self.0.last_completed = part.request;
                out = varint::put(out, self.0.time.saturating_sub(part.posted));
            } else if part.facts.kind.posts() {
                self.0.next_request = self.0.next_request.wrapping_add(1);
            }
            out
        }
    }

    /// Announces `parts` more parts of the call written last, perhaps in an earlier packet.
    ///
    /// # Safety
    /// [`MAX_CALL_BYTES`] bytes from `out` on must be writable.
    pub unsafe fn continuation(&mut self, out: *mut u8, parts: usize) -> *mut u8 {
        // SAFETY: one token and one varint, far below MAX_CALL_BYTES.
        unsafe {
            out.write(TOKEN_CONTINUATION);
            varint::put(out.add(1), parts as u64)
        }
    }

    /// # Safety
    /// Two bytes and six varints from `out` on must be writable.
    #[inline(always)]
    unsafe fn facts(&mut self, mut out: *mut u8, facts: &Facts, with_parts: bool) -> *mut u8 {
        let slot = facts.slot();
        // `slot` has six bits; the mask lets the compiler see it.
        let known = &mut self.0.dictionary[slot & (DICTIONARY_SLOTS - 1)];
        // SAFETY: the caller vouches for the room.
        unsafe {
            if *known == *facts && facts.region.0 != 0 {
                out.write(slot as u8 | u8::from(with_parts) << 7);
                return out.add(1);
            }
            *known = *facts;
            out.write(TOKEN_LITERAL | u8::from(with_parts) << 7);
            out.add(1).write(facts.kind as u8);
            out = varint::put(out.add(2), u64::from(facts.region.0));
            out = varint::put(out, u64::from(facts.comm.0));
            out = varint::put(out, zigzag(i64::from(facts.peer)));
            out = varint::put(out, zigzag(i64::from(facts.tag)));
            out = varint::put(out, facts.bytes_out);
            varint::put(out, facts.bytes_in)
        }
    }
}
