//! Knows which receives one call completes: it waits for all of them at once.

use super::calls::{LastCall, Late};
use super::{Messages, Of};
use invivo_proto::ids::{Rank, SiteId};
use invivo_proto::record::{Facts, Part, RecordKind};

impl Messages {
    /// What follows is of this call.
    #[inline]
    pub(super) fn begin_call(&mut self, of: &Of<'_, impl Fn(u64) -> u64>, facts: &Facts) {
        if let Some(index) = self.numbers.index(of.rank) {
            self.ranks[index].last = LastCall {
                begin: of.begin,
                region: facts.region,
                site: facts.site,
                number: 0,
            };
        }
    }

    /// Of several receives that a call completes, the longest wait is the call's.
    pub(super) fn begin_several(&mut self, of: &Of<'_, impl Fn(u64) -> u64>, parts: &[Part]) {
        let receives = parts.iter().filter(|part| completes_receive(&part.facts));
        let receives = receives.count() as u32;
        let Some(index) = self.numbers.index(of.rank) else {
            return;
        };
        let last = &mut self.ranks[index].last;
        // More parts of another thread's call: the function is not known, and the call is none of
        // those that only look; nor is it known where that is called.
        if last.begin != of.begin {
            *last = LastCall {
                begin: of.begin,
                region: last.region,
                site: SiteId::NONE,
                number: 0,
            };
        }
        let goes_on = last.number != 0 && self.counters.calls.extend(last.number, receives);
        if !goes_on && receives > 1 {
            last.number = self.counters.calls.begin(receives);
        }
    }

    /// Whether the call before completed several receives.
    #[inline]
    pub(super) fn is_several(&self, rank: Rank) -> bool {
        let index = self.numbers.index(rank);
        index.is_some_and(|index| self.ranks[index].last.number != 0)
    }

    /// Calls that waited for late senders or receivers, since this was asked last; to be asked
    /// after everything that may match messages. `each` gets them.
    #[inline]
    pub fn take_late(&mut self, mut each: impl FnMut(&Late)) {
        if !self.counters.late.is_empty() {
            // Its memory is used again.
            self.counters.late.drain(..).for_each(|late| each(&late));
        }
    }
}

/// Whether it completes a receive of a message.
#[inline(always)]
pub fn completes_receive(facts: &Facts) -> bool {
    matches!(facts.kind, RecordKind::Recv | RecordKind::CompletedRecv) && facts.peer >= 0
}
