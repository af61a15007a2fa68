//! What a rank's supervisor does once its tool place is gone.

use super::{Supervisor, THROUGH_POLL};
use invivo_proto::channel::PLACE_GONE;
use invivo_proto::shm::phase;
use rustix::net::SendFlags;
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
        if let Some(shim) = &self.shim {
            // One that is gone needs not know.
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let _ = rustix::net::send(shim, PLACE_GONE, flags);
        }
    }
}
