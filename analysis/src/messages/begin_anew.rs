//! Begins to match messages in the middle of a job.

use super::Messages;
use super::counters::UnmatchedReason;
use super::endpoint::Endpoint;

impl Messages {
    /// Messages are matched from `at_ns` (job time) on, and were not right before: what is kept of
    /// an earlier time finds its other endpoint no more, and sends that began before, whose
    /// receives may not be known, are given up.
    pub fn begin_anew(&mut self, at_ns: u64) {
        let mut unknown = core::mem::take(&mut self.unknown);
        let mut matcher = self.matcher.take();
        let mut outbox = core::mem::take(&mut self.outbox);
        let counters = &mut self.counters;
        counters.forget_orders();
        let mut give_up = |endpoint: &Endpoint| counters.unmatched(endpoint, UnmatchedReason::Cut);
        for of_rank in &mut self.ranks {
            let mut receives = core::mem::take(&mut of_rank.receives);
            receives.held_mut().for_each(|endpoint| give_up(endpoint));
            of_rank.sends.forget();
            of_rank.lost_ns = of_rank.lost_ns.max(at_ns);
        }
        unknown.iter_mut().for_each(|one| give_up(&one.endpoint));
        matcher.give_up(&mut give_up);
        outbox.iter_mut().for_each(|endpoint| give_up(endpoint));
    }
}
