//! Collectives of one rank on their way to those of the others, and waits on their way to the axis
//! of time.

use super::{Analyses, OneSink};
use crate::traffic::When;
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::grid::AHEAD_NS;
use invivo_proto::record::{Call, Part};

impl OneSink<'_> {
    /// A collective is met by those of other ranks: when it is left, or is complete.
    pub(super) fn meet(&mut self, when: &When, call: Option<&Call>, parts: &[Part]) {
        let Analyses {
            traffic,
            matrix,
            clock,
            ..
        } = &mut *self.analyses;
        let communicators = matrix.communicators();
        traffic.collective(self.rank, when, call, parts, communicators, clock);
        self.analyses.note_waiting();
    }
}

impl OneSink<'_> {
    /// The same of a call that a switch may have cut.
    #[cold]
    pub(super) fn meet_near_switch(&mut self, mut when: When, call: Option<&Call>, parts: &[Part]) {
        if self.near_switch(Analysis::WaitStates, &mut when) {
            self.meet(&when, call, parts);
        }
    }
}

impl Analyses {
    /// Waits for others that were found go where their rank's time is.
    #[inline]
    pub(super) fn note_waiting(&mut self) {
        let Analyses {
            traffic,
            ranks,
            anchor,
            ..
        } = self;
        // What another place says may be anything; a time to come would make all bins wide.
        let last_ns = anchor.1.saturating_add(AHEAD_NS);
        traffic.take_waiting(|of| {
            if of.from_ns.saturating_add(of.ns) <= last_ns {
                ranks[of.index].over_time.wait(of.from_ns, of.ns);
            }
        });
    }
}
