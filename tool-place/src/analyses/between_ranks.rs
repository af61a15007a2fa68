//! Messages and collectives of one rank on their way to those of the others, and waits on their way
//! to the axis of time.

use super::{Analyses, OneSink};
use crate::traffic::When;
use invivo_analysis::switches::Share;
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::grid::AHEAD_NS;
use invivo_proto::control::peer::Clipping;
use invivo_proto::record::{Call, MAX_PARTS, Part, RecordKind};

impl OneSink<'_> {
    /// A call and its parts, or more parts of it, for the order of messages alone: whether or not
    /// the rest of the analyses gets it.
    #[inline]
    pub fn messages(&mut self, when: &When, call: Option<&Call>, parts: &[Part]) {
        let plain = self.analyses.switches.plain(when.begin, when.end);
        match plain {
            Some(on) if on.contains(Analysis::Messages) => self.match_messages(when, call, parts),
            Some(_) => {}
            None => self.match_near_switch(*when, call, parts),
        }
        let is_collective = call.is_some_and(|call| call.facts.kind.has_ordinal());
        let completes = |part: &Part| part.facts.kind == RecordKind::CompletedCollective;
        // Who has as many parts as a record holds may go on with a collective.
        let may_go_on = parts.len() >= MAX_PARTS;
        if !is_collective && !may_go_on && !parts.iter().any(completes) {
            return;
        }
        match plain {
            Some(on) if on.contains(Analysis::WaitStates) => self.meet(when, call, parts),
            Some(_) => {}
            None => self.meet_near_switch(*when, call, parts),
        }
    }

    /// Matches the messages of a call that a switch may have cut.
    #[cold]
    fn match_near_switch(&mut self, mut when: When, call: Option<&Call>, parts: &[Part]) {
        if self.near_switch(Analysis::Messages, &mut when) {
            self.match_messages(&when, call, parts);
        }
    }

    /// Whether an analysis gets a call that a switch may have cut, or what is left of it.
    fn near_switch(&mut self, analysis: Analysis, when: &mut When) -> bool {
        let Share { on, from } = self.analyses.switches.judge(when.begin, when.end);
        if from[analysis as usize] > when.begin && when.clipping == Clipping::Whole {
            when.clipping = Clipping::Clipped;
        }
        on.contains(analysis)
    }

    fn match_messages(&mut self, when: &When, call: Option<&Call>, parts: &[Part]) {
        self.analyses.begin_matching();
        let Analyses {
            traffic,
            matrix,
            clock,
            ..
        } = &mut *self.analyses;
        traffic.record(self.rank, when, call, parts, matrix.communicators(), clock);
        self.analyses.note_waiting();
    }

    /// A collective is met by those of other ranks: when it is left, or is complete.
    fn meet(&mut self, when: &When, call: Option<&Call>, parts: &[Part]) {
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

    /// The same of a call that a switch may have cut.
    #[cold]
    fn meet_near_switch(&mut self, mut when: When, call: Option<&Call>, parts: &[Part]) {
        if self.near_switch(Analysis::WaitStates, &mut when) {
            self.meet(&when, call, parts);
        }
    }
}

impl Analyses {
    /// All that is known of messages is told of waits.
    pub(super) fn settle_waits(&mut self) {
        self.traffic.settle();
        self.note_waiting();
    }

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
