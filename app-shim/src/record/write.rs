//! Writes records into a thread's open packet, or counts them as dropped.

use super::back_pressure::next_packet;
use super::location::{Location, add};
use invivo_proto::packet::DropReason;
use invivo_proto::record::{MAX_PART_BYTES, MAX_PARTS, RecordKind, Words};

impl Location {
    /// Writes a call with the first `parts` of this location's parts, opening packets as needed;
    /// drops and counts it where none can be had.
    #[inline(always)]
    pub fn record(
        &mut self,
        kind: RecordKind,
        facts: Words,
        (begin, end): (u64, u64),
        ordinal: u64,
        parts: usize,
    ) {
        let together = parts.min(MAX_PARTS);
        // A packet's times are of its calls' begins and ends: the first begin is its base.
        if !self.packet.has_room(together * MAX_PART_BYTES) && !next_packet(self, begin) {
            return self.drop_record(kind.posts(), parts);
        }

        let duration = end.wrapping_sub(begin);
        // SAFETY: as many bytes are free behind `out` as the call and its parts need at most.
        let out = unsafe {
            let out = self.packet.out();
            let out = self
                .encoder
                .call_of(out, kind, facts, end, duration, ordinal, together);
            if parts == 0 {
                out
            } else {
                self.parts_of(out, 0, together)
            }
        };
        self.packet.commit(out, 1);

        if parts > together {
            self.continuations(together, parts, end);
        }
    }

    /// Writes the parts of this location from `from` on, which are announced.
    ///
    /// # Safety
    /// There is room for so many parts behind `out`.
    #[inline(always)]
    unsafe fn parts_of(&mut self, mut out: *mut u8, from: usize, parts: usize) -> *mut u8 {
        for part in self.parts.get(from..from + parts).unwrap_or_default() {
            // SAFETY: the caller vouches for the room.
            out = unsafe {
                self.encoder
                    .part_of(out, part.facts, part.request, part.posted)
            };
        }
        out
    }

    /// Writes the parts that did not fit beside their call.
    #[cold]
    #[inline(never)]
    fn continuations(&mut self, mut from: usize, parts: usize, end: u64) {
        while from < parts {
            let together = (parts - from).min(MAX_PARTS);
            if !self.packet.has_room(together * MAX_PART_BYTES) && !next_packet(self, end) {
                return;
            }

            // SAFETY: as in `record`.
            let out = unsafe {
                let out = self.encoder.continuation(self.packet.out(), together);
                self.parts_of(out, from, together)
            };
            self.packet.commit(out, 0);
            from += together;
        }
    }

    /// Counts a call that is not selected.
    #[inline(always)]
    pub fn leave_out(&self) {
        add(&self.status.dropped[DropReason::NotSelected as usize], 1);
    }

    /// Counts a call that is dropped; `posts` says whether it posts a request, its parts apart.
    #[cold]
    #[inline(never)]
    fn drop_record(&mut self, posts: bool, parts: usize) {
        add(&self.status.dropped[DropReason::NoPacket as usize], 1);

        // The requests that it posts are numbered all the same: their completions name the numbers.
        let parts = self.parts.get(..parts).unwrap_or_default();
        let posted = parts.iter().filter(|part| part.facts.posts()).count();
        for _ in 0..posted + usize::from(posts) {
            self.encoder.skip_request();
        }
    }
}
