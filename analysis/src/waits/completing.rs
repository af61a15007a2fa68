//! Non-blocking collectives come to their meeting when they are complete, with the enter of the
//! call that posted them: what others wait for is that somebody posts it, and what this rank waits
//! it waits where it completes.

use super::Waits;
use super::coming::Coming;
use super::meeting::Arrival;
use super::posted::{Posted, Request};
use super::shape::Shape;
use crate::messages::{LastCall, Of};
use invivo_proto::control::peer::Clipping;
use invivo_proto::record::{Call, Part, RecordKind};

impl Waits {
    /// Non-blocking collectives of a rank that are under way.
    #[cfg(test)]
    pub fn under_way(&self, rank: invivo_proto::ids::Rank) -> usize {
        let index = self.numbers.index(rank);
        index.map_or(0, |index| self.of_ranks[index].under_way())
    }

    /// A non-blocking collective begins.
    pub(super) fn post(&mut self, of: &Of<'_, impl Fn(u64) -> u64>, call: &Call) {
        let Some(index) = self.numbers.index(of.rank) else {
            return;
        };
        if self.shapes.of(call.facts.region).is_none() {
            return;
        }
        let now_ns = (of.job_ns)(of.end);
        while let Some(given_up) = self.of_ranks[index].give_up(now_ns) {
            self.lose(&given_up);
        }
        let one = Posted {
            request: Request {
                number: call.request,
                begin: of.begin,
            },
            ordinal: call.ordinal,
            is_cut: of.clipping != Clipping::Whole,
        };
        if let Some(one) = self.of_ranks[index].post(one) {
            self.come(one, of.communicators);
        }
    }

    /// The record of the call that posted it is missing.
    fn lose(&mut self, one: &Coming) {
        self.sums.calls.open += 1;
        self.end_one_of(one.arrival.several);
    }

    /// A call completes requests. Of several collectives the longest wait is the call's.
    pub(super) fn complete(
        &mut self,
        of: &Of<'_, impl Fn(u64) -> u64>,
        call: Option<&Call>,
        parts: &[Part],
    ) {
        let Some(index) = self.numbers.index(of.rank) else {
            return;
        };
        let Waits {
            of_ranks,
            shapes,
            calls,
            ..
        } = self;
        let last = &mut of_ranks[index].last;
        match call {
            Some(call) => *last = LastCall::new(of.begin, &call.facts),
            None => last.goes_on(of.begin),
        }
        let shape = |part: &&Part| match part.facts.kind {
            RecordKind::CompletedCollective => shapes.of(part.facts.region),
            _ => None,
        };
        let count = parts.iter().filter(|part| shape(part).is_some()).count();
        last.completes(count as u32, of.rank, calls);
        let last = *last;
        for part in parts {
            if part.facts.kind == RecordKind::CompletedCollective
                && let Some(shape) = self.shapes.of(part.facts.region)
            {
                self.complete_one(index, of, last, part, shape);
            }
        }
    }

    fn complete_one(
        &mut self,
        index: usize,
        of: &Of<'_, impl Fn(u64) -> u64>,
        by: LastCall,
        part: &Part,
        shape: Shape,
    ) {
        let begin_ns = (of.job_ns)(of.begin);
        let end_ns = (of.job_ns)(of.end).max(begin_ns);
        // Who only looks waits for no time, at the end of its call.
        let waits = !self.shapes.only_looks(by.region);
        let (sends, receives) = shape.moves(&part.facts);
        let mut one = Coming {
            comm: part.facts.comm,
            peer: part.facts.peer,
            ordinal: 0,
            shape,
            at: (by.region, by.site),
            enter_ns: (of.job_ns)(part.posted.min(of.begin)),
            is_posted: true,
            arrival: Arrival {
                rank: of.rank,
                member: 0,
                begin_ns: if waits { begin_ns } else { end_ns },
                end_ns,
                several: by.number,
                is_root: false,
                sends,
                receives,
                untimed: of.clipping != Clipping::Whole,
            },
        };
        let request = Request {
            number: part.request,
            begin: part.posted,
        };
        let of_rank = &mut self.of_ranks[index];
        if let Some(ordinal) = of_rank.complete(request) {
            one.ordinal = ordinal;
            self.come(one, of.communicators);
        } else if let Some(given_up) = of_rank.wait(request, one) {
            self.lose(&given_up);
        }
    }
}
