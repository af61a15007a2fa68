//! What a call does where the gate, recording or its epoch is not what the thread's location is
//! settled for.
//!
//! Each switching on is a new *epoch*. A call that was entered before it and leaves after it is
//! recorded with the moment of the switch as its begin; one that was entered while recording was on
//! is recorded whenever it leaves.

use super::location::Location;
use super::{gate, packet_pool};
use crate::clock::ticks;
use core::sync::atomic::Ordering;
use invivo_proto::ids::RegionId;
use invivo_proto::shm::{inside, recording};

/// In the place of an open gate: no pause has this number.
const UNSETTLED: u64 = u32::MAX as u64;

/// A word for which a location is settled while the gate is open.
fn settled(word: u32) -> u64 {
    u64::from(word) << 32
}

impl Location {
    /// On the way in: waits at the gate, and settles for the place's word as it is then. Gives what
    /// the location is settled for.
    #[cold]
    #[inline(never)]
    pub fn settle(&mut self) -> u64 {
        if self.control.gate.load(Ordering::Relaxed) != 0 {
            gate::hold(self, inside::HELD_AT_ENTER);
        }
        let word = self.control.recording.load(Ordering::Acquire);
        if recording::is_on(word) {
            self.begin_epoch(recording::epoch(word));
        } else if self.status.entered_at.load(Ordering::Relaxed) != u64::from(word) {
            self.pass_unseen(word);
        }
        self.settled_for = settled(word);
        self.settled_for
    }

    /// Settles for the place's word without a change of the page, for the call that initialised
    /// MPI, and counts it. Says whether it is recorded.
    pub fn settle_initialised(&mut self) -> bool {
        let word = self.control.recording.load(Ordering::Acquire);
        self.begin_epoch(recording::epoch(word));
        // The next call settles as others do.
        self.settled_for = settled(word) | UNSETTLED;
        let is_recorded = recording::is_on(word);
        if is_recorded {
            self.count_entered();
        }
        is_recorded
    }

    /// On the way out: another word than on the way in. Gives begin and end of the call, which is
    /// recorded now: either it was to be all the same, or recording was switched on meanwhile, or
    /// on and off again.
    #[cold]
    #[inline(never)]
    pub fn switched(&mut self, word: u32, region: RegionId, begin: u64) -> (u64, u64) {
        let end = ticks();
        let entered = (self.settled_for >> 32) as u32;
        // Off by the program on one side at least, and off on the other one: the place's switches
        // meanwhile had no effect.
        let is_off = !recording::is_on(word) && !recording::is_on(entered);
        if is_off
            && [word, entered]
                .into_iter()
                .any(recording::is_off_by_program)
        {
            return (begin, end);
        }
        let begin = if begin == 0 {
            self.recorded_from_now(region, end)
        } else {
            begin
        };
        // A record is of the epoch in which its call returns. The next call settles for the word.
        self.begin_epoch(recording::epoch(word));
        (begin, end)
    }

    /// The begin of a call during which recording was switched on: it counts as entered now, and
    /// begins for us where recording did.
    fn recorded_from_now(&mut self, region: RegionId, end: u64) -> u64 {
        let since = self.control.recording_since.load(Ordering::Relaxed);
        let begin = since.min(end).max(1);
        let status = self.status;
        status.region.store(u32::from(region.0), Ordering::Relaxed);
        status.entered_at.store(begin, Ordering::Relaxed);
        self.count_entered();
        begin
    }

    fn count_entered(&self) {
        let entered = self.status.entered.load(Ordering::Relaxed);
        self.status.entered.store(entered + 1, Ordering::Release);
    }

    /// Begins the records of another epoch: a packet has those of one alone.
    fn begin_epoch(&mut self, epoch: u32) {
        if epoch != self.epoch {
            packet_pool::close(self);
            self.epoch = epoch;
        }
    }

    /// Notes on the status page that calls are not recorded from here on, after the place's word
    /// became this one: the page would go on to name the last call recorded.
    fn pass_unseen(&mut self, word: u32) {
        self.status.region.store(0, Ordering::Relaxed);
        self.status
            .entered_at
            .store(u64::from(word), Ordering::Release);
        // Also where the epoch goes on: requests that are numbered from here on are in no record,
        // and only a packet's header says where numbers go on.
        packet_pool::close(self);
        self.epoch = recording::epoch(word);
    }
}
