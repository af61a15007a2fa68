//! Knows which receives one call completes: it waits for all of them at once.

use super::calls::{LastCall, Late};
use super::{Messages, Of};
use invivo_proto::ids::Rank;
use invivo_proto::record::{Facts, Part, RecordKind};

impl Messages {
    /// What follows is of this call.
    #[inline]
    pub(super) fn begin_call(&mut self, of: &Of<'_, impl Fn(u64) -> u64>, facts: &Facts) {
        if let Some(index) = self.numbers.index(of.rank) {
            self.ranks[index].last = LastCall::new(of.begin, facts);
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
        last.goes_on(of.begin);
        last.completes(receives, of.rank, &mut self.counters.calls);
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
