//! Collectives of one rank on their way to those of the others.

use super::{Analyses, OneSink};
use crate::traffic::When;
use invivo_analysis::switches::Share;
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::peer::Clipping;
use invivo_proto::record::Call;

impl OneSink<'_> {
    /// A collective is met by those of other ranks.
    pub(super) fn meet(&mut self, mut when: When, call: &Call) {
        let Share { on, from } = self.analyses.switches.judge(when.begin, when.end);
        if !on.contains(Analysis::WaitStates) {
            return;
        }
        if from[Analysis::WaitStates as usize] > when.begin && when.clipping == Clipping::Whole {
            when.clipping = Clipping::Clipped;
        }
        let Analyses {
            traffic,
            matrix,
            clock,
            ..
        } = &mut *self.analyses;
        traffic.collective(self.rank, when, call, matrix.communicators(), clock);
        self.analyses.note_waiting();
    }
}
