//! Writes records into a thread's open packet, or counts them as dropped.

use super::back_pressure::next_packet;
use super::location::{Location, add};
use super::packet_pool;
use core::sync::atomic::Ordering;
use invivo_proto::packet::DropReason;
use invivo_proto::record::{Call, MAX_CALL_BYTES, MAX_PART_BYTES, MAX_PARTS};
use invivo_proto::shm::recording;

impl Location {
    /// Writes a call with the first `parts` of this location's parts, opening packets as needed;
    /// drops and counts it where none can be had.
    #[inline(always)]
    pub fn record(&mut self, call: &Call, parts: usize) {
        let together = parts.min(MAX_PARTS);
        let room = MAX_CALL_BYTES + together * MAX_PART_BYTES;
        // A packet's times are of its calls' begins and ends: the first begin is its base.
        if !self.packet.has_room(room) && !next_packet(self, call.end - call.duration) {
            return self.drop_record(call, parts);
        }

        // SAFETY: `room` bytes are free behind `out`, which is what the call and its parts need at
        // most.
        let out = unsafe {
            let mut out = self.encoder.call(self.packet.out(), call, together);
            for part in self.parts.get(..together).unwrap_or_default() {
                out = self.encoder.part(out, part);
            }
            out
        };
        self.packet.commit(out, 1);

        if parts > together {
            self.continuations(together, parts, call.end);
        }
    }

    /// Writes the parts that did not fit beside their call.
    #[cold]
    fn continuations(&mut self, mut from: usize, parts: usize, end: u64) {
        while from < parts {
            let together = (parts - from).min(MAX_PARTS);
            let room = MAX_CALL_BYTES + together * MAX_PART_BYTES;
            if !self.packet.has_room(room) && !next_packet(self, end) {
                return;
            }

            // SAFETY: as in `record`.
            let out = unsafe {
                let mut out = self.encoder.continuation(self.packet.out(), together);
                for part in self.parts.get(from..from + together).unwrap_or_default() {
                    out = self.encoder.part(out, part);
                }
                out
            };
            self.packet.commit(out, 0);
            from += together;
        }
    }

    #[cold]
    fn drop_record(&mut self, call: &Call, parts: usize) {
        add(&self.status.dropped[DropReason::NoPacket as usize], 1);

        // The requests that it posts are numbered all the same: their completions name the numbers.
        let posted = self
            .parts
            .iter()
            .take(parts)
            .filter(|p| p.facts.kind.posts())
            .count();
        for _ in 0..posted + usize::from(call.facts.kind.posts()) {
            self.encoder.skip_request();
        }
    }

    /// Begins the records of another epoch: a packet has those of one alone.
    #[cold]
    #[inline(never)]
    pub fn begin_epoch(&mut self, epoch: u32) {
        packet_pool::close(self);
        self.epoch = epoch;
    }

    /// Notes on the status page that calls are not recorded from here on, after the place's word
    /// became this one: the page would go on to name the last call recorded.
    #[cold]
    #[inline(never)]
    pub fn pass_unseen(&mut self, word: u32) {
        self.status.region.store(0, Ordering::Relaxed);
        self.status
            .entered_at
            .store(u64::from(word), Ordering::Release);
        // Also where the epoch goes on: requests that are numbered from here on are in no record,
        // and only a packet's header says where numbers go on.
        self.begin_epoch(recording::epoch(word));
    }
}
