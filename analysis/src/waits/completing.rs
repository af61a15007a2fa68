//! Non-blocking collectives come to their meeting when they are complete, with the enter of the
//! call that posted them: what others wait for is that somebody posts it, and what this rank waits
//! it waits where it completes.

use super::Waits;
use super::meeting::Arrival;
use super::posted::Posted;
use super::shape::Shape;
use super::unresolved::Unresolved;
use crate::messages::{LastCall, Of};
use invivo_proto::control::peer::Clipping;
use invivo_proto::ids::SiteId;
use invivo_proto::record::{Call, Facts, Part, RecordKind};

impl Waits {
    /// Non-blocking collectives of a rank that are under way.
    #[cfg(test)]
    pub fn under_way(&self, rank: invivo_proto::ids::Rank) -> usize {
        let index = self.numbers.index(rank);
        index.map_or(0, |index| self.of_ranks[index].under_way())
    }

    /// A non-blocking collective begins.
    pub(super) fn post(&mut self, of: &Of<'_, impl Fn(u64) -> u64>, call: &Call) {
        if self.shapes.of(call.facts.region).is_some()
            && let Some(index) = self.numbers.index(of.rank)
        {
            self.of_ranks[index].post(Posted {
                request: call.request,
                begin: of.begin,
                ordinal: call.ordinal,
            });
        }
    }

    /// A call completes requests. Of several collectives the longest wait is the call's.
    #[inline]
    pub(super) fn complete(
        &mut self,
        of: &Of<'_, impl Fn(u64) -> u64>,
        call: Option<&Call>,
        parts: &[Part],
    ) {
        let Some(index) = self.numbers.index(of.rank) else {
            return;
        };
        // Most ranks have none under way.
        let completes = |part: &Part| part.facts.kind == RecordKind::CompletedCollective;
        if self.of_ranks[index].under_way() != 0 || parts.iter().any(completes) {
            self.complete_some(index, of, call, parts);
        }
    }

    fn complete_some(
        &mut self,
        index: usize,
        of: &Of<'_, impl Fn(u64) -> u64>,
        call: Option<&Call>,
        parts: &[Part],
    ) {
        let Waits {
            of_ranks,
            shapes,
            calls,
            ..
        } = self;
        let last = &mut of_ranks[index].last;
        if let Some(call) = call {
            *last = LastCall {
                begin: of.begin,
                region: call.facts.region,
                site: call.facts.site,
                number: 0,
            };
        } else if last.begin != of.begin {
            // More parts of another thread's call: its function and site are not known.
            *last = LastCall {
                begin: of.begin,
                site: SiteId::NONE,
                number: 0,
                ..*last
            };
        }
        let shape = |facts: &Facts| match facts.kind {
            RecordKind::CompletedCollective => shapes.of(facts.region),
            _ => None,
        };
        let count = parts.iter().filter(|part| shape(&part.facts).is_some());
        let count = count.count() as u32;
        let goes_on = last.number != 0 && calls.extend(last.number, count);
        if !goes_on && count > 1 {
            last.number = calls.begin(count);
        }
        let last = *last;
        for part in parts {
            let shape = match part.facts.kind {
                RecordKind::CompletedCollective => self.shapes.of(part.facts.region),
                _ => None,
            };
            if let Some(shape) = shape {
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
        let Some(ordinal) = self.of_ranks[index].complete(part.request, part.posted) else {
            // The record of the call that posted it is missing.
            self.sums.calls.open += 1;
            self.end_one_of(by.number);
            return;
        };
        let begin_ns = (of.job_ns)(of.begin);
        let end_ns = (of.job_ns)(of.end).max(begin_ns);
        let waits = !self.shapes.only_looks(by.region);
        let (sends, receives) = shape.moves(&part.facts);
        self.come(
            Unresolved {
                comm: part.facts.comm,
                peer: part.facts.peer,
                ordinal,
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
            },
            of.communicators,
        );
    }
}
