//! Pauses of the application, and job time, when it becomes known.

use super::Waits;
use super::meeting::{self, Arrival};
use super::posted::OfRank;

impl Waits {
    /// A pause of the application begins, in job time.
    pub fn pause(&mut self, at_ns: u64) {
        self.pauses.begin(at_ns);
    }

    /// The pause ends, in job time.
    pub fn resume(&mut self, at_ns: u64) {
        self.pauses.end(at_ns);
    }

    /// Job time is known now: it is `offset_ns` ahead of the clock that was taken for it.
    pub fn learn_time(&mut self, offset_ns: i64) {
        self.is_known = true;
        self.pauses.shift(offset_ns);
        self.calls.shift(offset_ns);
        let later = |member: &mut Arrival| {
            member.begin_ns = member.begin_ns.saturating_add_signed(offset_ns);
            member.end_ns = member.end_ns.saturating_add_signed(offset_ns);
        };
        self.members.iter_mut().for_each(later);
        let early = self.of_ranks.iter_mut().flat_map(OfRank::early_mut);
        for one in self.unresolved.iter_mut().chain(early) {
            later(&mut one.arrival);
            one.enter_ns = one.enter_ns.saturating_add_signed(offset_ns);
        }
        let open = self.open.values_mut();
        open.for_each(|open| {
            meeting::shift(&mut open.untold, offset_ns);
            open.last_ns = open.last_ns.saturating_add_signed(offset_ns);
        });
    }

    /// How far this place's idea of job time may be off now, in ns.
    pub fn set_clock_error(&mut self, error_ns: u64) {
        self.clock_error_ns = error_ns;
    }
}
