//! Knows which receives, and which sends, one call completes: it waits for all of them at once.

use super::calls::{LastCall, Late};
use super::counters::Counters;
use super::endpoint::UNKNOWN_NS;
use super::sends::{Completing, Waited};
use super::{Messages, Of, short};
use invivo_proto::control::meetings::LatePost;
use invivo_proto::control::peer::Clipping;
use invivo_proto::control::wait_states::WaitState;
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

    /// A call completes sends. Of one that completes receives as well their senders are told alone:
    /// who is late does not send either, as a rule, and one time would count twice.
    #[inline]
    pub(super) fn complete_sends(&mut self, of: &Of<'_, impl Fn(u64) -> u64>, parts: &[Part]) {
        if let Some(index) = self.numbers.index(of.rank)
            && parts.iter().any(|part| completes_send(&part.facts))
        {
            self.complete_sends_of(index, of, parts);
        }
    }

    fn complete_sends_of(
        &mut self,
        index: usize,
        of: &Of<'_, impl Fn(u64) -> u64>,
        parts: &[Part],
    ) {
        let begin_ns = (of.job_ns)(of.begin);
        let end_ns = (of.job_ns)(of.end).max(begin_ns);
        let last = &mut self.ranks[index].last;
        last.goes_on(of.begin);
        last.receives |= parts.iter().any(|part| completes_receive(&part.facts));
        let last = *last;
        let counters = &self.counters;
        let pause = counters.pauses.net(begin_ns, end_ns);
        let is_timed = of.clipping == Clipping::Whole
            && short(self.clock_error_ns) != UNKNOWN_NS
            && end_ns > counters.reset_ns
            && pause.paused == 0
            && pause.exact;
        let by = Completing {
            begin_ns,
            end_ns,
            region: last.region,
            site: last.site,
            may_wait: is_timed && !last.receives && !counters.only_looks(last.region),
        };
        for part in parts.iter().filter(|part| completes_send(&part.facts)) {
            if let Some(waited) = self.ranks[index].sends.complete(part.posted, by) {
                self.tell(&waited);
            }
        }
    }

    /// A receive of a send of a rank here was posted late, as another place tells, whose time may
    /// be off by so much, in ns. False where that cannot be.
    pub fn late_post(&mut self, post: LatePost, told_error_ns: u64) -> bool {
        let error_ns = told_error_ns.saturating_add(self.reading_error_ns);
        let is_one = post.receiver.0 < self.job_ranks;
        is_one && self.take_post(post, error_ns.max(self.clock_error_ns))
    }

    fn take_post(&mut self, post: LatePost, error_ns: u64) -> bool {
        let Some(index) = self.numbers.index(post.rank) else {
            return false;
        };
        let sends = &mut self.ranks[index].sends;
        let waited = sends.post(post, error_ns);
        self.lost_posts += sends.take_lost();
        if let Some(waited) = waited {
            self.tell(&waited);
        }
        true
    }

    fn tell(&mut self, waited: &Waited) {
        let Waited { by, post, .. } = *waited;
        self.counters.late.push(Late {
            state: WaitState::LateReceiver,
            waiter: post.rank,
            causer: post.receiver,
            comm: post.comm,
            region: by.region,
            site: by.site,
            from_ns: by.begin_ns.saturating_add(waited.before_ns),
            before_ns: waited.before_ns,
            ns: waited.ns,
            error_ns: waited.error_ns,
        });
    }

    /// Whether [`Messages::take_posts`], [`Messages::take_lost_posts`] or [`Messages::take_late`]
    /// have something.
    #[inline]
    pub fn has_found(&self) -> bool {
        let Counters { late, posts, .. } = &self.counters;
        !late.is_empty() || !posts.is_empty() || self.lost_posts != 0
    }

    /// Receives that were posted late to sends of ranks of other places, since this was asked last;
    /// to be asked after everything that may match messages, and before
    /// [`Messages::take_late`]. `each` gets them.
    #[inline]
    pub fn take_posts(&mut self, mut each: impl FnMut(LatePost)) {
        if self.counters.posts.is_empty() {
            return;
        }
        // Taken out, as `late_post` borrows all of `self`; put back to reuse its memory.
        let mut posts = core::mem::take(&mut self.counters.posts);
        for post in posts.drain(..) {
            // Both of this place: their times are by one clock.
            if !self.take_post(post, 0) {
                each(post);
            }
        }
        self.counters.posts = posts;
    }

    /// Receives that were posted late and forgotten for want of room, since this was asked last.
    pub fn take_lost_posts(&mut self) -> u64 {
        core::mem::take(&mut self.lost_posts)
    }

    /// What was told of sends so far does not count.
    pub(super) fn forget_sends(&mut self) {
        let ranks = self.ranks.iter_mut();
        ranks.for_each(|of_rank| of_rank.sends.forget());
    }

    /// Whether by their order something is told of messages from now on; those so far are compared
    /// with no later ones.
    pub fn follow_orders(&mut self, follows: bool) {
        self.counters.follow_orders(follows);
    }

    /// Messages so far are compared with each other: what of their waiting is in wrong order is
    /// told then, or later.
    pub fn settle(&mut self) {
        self.counters.settle_orders();
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

/// Whether it completes a non-blocking send of a message.
#[inline(always)]
pub fn completes_send(facts: &Facts) -> bool {
    facts.kind == RecordKind::CompletedSend && facts.peer >= 0
}

/// Whether it completes a receive of a message.
#[inline(always)]
pub fn completes_receive(facts: &Facts) -> bool {
    matches!(facts.kind, RecordKind::Recv | RecordKind::CompletedRecv) && facts.peer >= 0
}
