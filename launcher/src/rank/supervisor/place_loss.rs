//! What a rank's supervisor does once its tool place is gone.

use super::{Supervisor, THROUGH_POLL};
use crate::rank::salvager::AwaitedSalvager;
use invivo_proto::channel::PLACE_GONE;
use invivo_proto::control::local::FromSupervisor;
use invivo_proto::ids::Rank;
use invivo_proto::shm::{phase, recording};
use rustix::net::SendFlags;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Supervisor<'_> {
    /// Without a place: notes once that the rank is through, for the root's supervisor, which may
    /// have to end the job then. Not at once: in each job places leave before the ranks.
    pub(super) fn note_through(&mut self) {
        let is_early = |since: Instant| since.elapsed() < THROUGH_POLL && self.ended.is_none();
        if self.place_gone.is_none_or(is_early) {
            return;
        }
        let phase = self.memory.region().page().phase.load(Ordering::Acquire);
        // Where a silent one is cannot be seen: no other rank is to wait for it for ever.
        let is_through = self.ended.is_some() || matches!(phase, phase::DRAINED | phase::SILENT);
        if let (true, Some(barrier)) = (is_through, &self.assignment.barrier) {
            barrier.through(self.assignment.identity.rank);
            self.place_gone = None;
        }
    }

    /// The place is gone: the rank is told, and goes on unobserved.
    pub(super) fn lose_place(&mut self) {
        self.place = None;
        self.place_gone = Some(Instant::now());
        self.end_sampling();
        self.end_measuring();
        if let Some(shim) = &self.shim {
            // One that is gone needs not know.
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let _ = rustix::net::send(shim, PLACE_GONE, flags);
        }
    }

    /// The place takes no message: it is gone, or does not read for so long that it counts as gone.
    pub(super) fn place_fails(&mut self, error: &std::io::Error) {
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => self.place_closed(),
            _ => self.lose_place(),
        }
    }

    /// The place has closed its connection: it has left, or was killed, and then what the rank has
    /// recorded may still be taken from its memory.
    pub(super) fn place_closed(&mut self) {
        self.lose_place();
        // Once: whoever comes in its stead is not followed by another.
        let path = self.place_path.take();
        self.salvager = path.and_then(AwaitedSalvager::of_place);
        if self.salvager.is_some() {
            self.keep_what_is_recorded();
        }
    }

    /// Ends the recording of a rank that has no place any more: the packets that it would write
    /// take the room of those that nobody has yet.
    fn keep_what_is_recorded(&self) {
        let word = &self.memory.region().page().control.recording;
        let off = |word| Some(recording::by_place(word, recording::epoch(word), false));
        // The rank writes its own part at any time.
        let _ = word.fetch_update(Ordering::Release, Ordering::Relaxed, off);
    }

    /// Goes to whoever takes what the rank has recorded, once that is there.
    pub(super) fn seek_salvager(&mut self) {
        let Some(salvager) = &self.salvager else {
            return;
        };
        if salvager.is_late() {
            self.salvager = None;
            return;
        }
        let rank = Rank(self.memory.region().page().rank.load(Ordering::Acquire));
        let pid = self.child.as_raw_nonzero().get() as u32;
        let hello = FromSupervisor::Attach { rank, pid };
        if let Some(place) = salvager.attach(&hello, self.memory.as_fd()) {
            self.place = Some(place);
            self.salvager = None;
        }
    }
}
