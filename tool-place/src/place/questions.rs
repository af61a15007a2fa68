//! Questions of the root: what has to be known before an answer, and when answers go.

use super::Place;
use crate::time_point::Now;
use invivo_proto::control::tree::{Query, Up};
use invivo_proto::ids::WaveId;

impl Place {
    /// A question. The answer where it is ready, or what has to be known first.
    pub(super) fn query(&mut self, now: Now, wave: WaveId, query: Query) -> Vec<Up> {
        self.catch_up(now);
        let analyses = &mut self.local.feed.analyses;
        let mut first = Vec::from_iter(self.groups.defined(analyses));
        first.extend(self.groups.wanted_for_answer(now.ns, analyses));
        let held = &mut self.queries.held;
        if self.groups.is_expecting(now.ns) || held.is_waiting() {
            held.hold(now.ns, wave, query);
            return first;
        }
        let answer = self.begin_query(now, wave, query);
        // A page takes what its ranks recorded till now.
        if matches!(query, Query::Timeline { .. }) {
            let analyses = &mut self.local.feed.analyses;
            let wanted = self.groups.wanted_for_answer(now.ns, analyses);
            if wanted.is_some() {
                self.queries.held.hold(now.ns, wave, query);
                first.extend(wanted);
                return first;
            }
        }
        first.extend(answer);
        first
    }

    fn begin_query(&mut self, now: Now, wave: WaveId, query: Query) -> Option<Up> {
        let clock = self.tree.clock();
        self.queries
            .begin(now, wave, query, clock, &self.commands, &mut self.local)
    }

    /// Answers the questions that have waited: for members of communicators, or for supervisors.
    pub(super) fn answer_due_queries(&mut self, now: Now) {
        let analyses = &mut self.local.feed.analyses;
        for (wave, query) in self.queries.held.due(now.ns, &mut self.groups, analyses) {
            let answer = self.begin_query(now, wave, query);
            self.answer(now, answer);
        }
        let (is_paused, clock) = (self.commands.is_paused(now), self.tree.clock());
        let answers = self.queries.due(now, is_paused, clock, &mut self.local);
        self.answer(now, answers);
    }
}
