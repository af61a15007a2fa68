//! Questions of the root: what has to be known before an answer, and when answers go.

use super::held_queries::is_about_peers;
use super::{Place, timeline};
use crate::time_point::Now;
use invivo_proto::control::tree::{Partial, Query, Up};
use invivo_proto::ids::WaveId;

impl Place {
    /// A question. The answer where it is ready, or what has to be known first.
    pub(super) fn query(&mut self, now: Now, wave: WaveId, query: Query) -> Vec<Up> {
        self.catch_up(now);
        if !is_about_peers(&query) {
            return Vec::from_iter(self.begin_query(now, wave, query));
        }
        let analyses = &mut self.local.feed.analyses;
        let mut first = Vec::from_iter(self.groups.defined(analyses));
        first.extend(self.groups.wanted_for_answer(now.ns, analyses));
        if self.groups.is_expecting(now.ns) || self.queries.held.is_waiting() {
            self.queries.held.hold(now.ns, wave, query);
            return first;
        }
        first.extend(match timeline::PageQuery::of(&query) {
            Some(asked) => self.page(now, wave, query, asked),
            None => self.begin_query(now, wave, query),
        });
        first
    }

    /// A page of the timeline takes what its ranks recorded till now, so that only then it is known
    /// whom it is about. The answer where it is ready, or what has to be known first.
    fn page(
        &mut self,
        now: Now,
        wave: WaveId,
        query: Query,
        asked: timeline::PageQuery,
    ) -> Option<Up> {
        let is_paused = self.commands.is_paused(now);
        let is_over = self.commands.recording.is_over();
        let clock = self.tree.clock();
        let page = timeline::page(now, asked, clock, is_paused, is_over, &mut self.local);
        let analyses = &mut self.local.feed.analyses;
        let wanted = self.groups.wanted_for_answer(now.ns, analyses);
        if wanted.is_some() {
            self.queries.held.hold(now.ns, wave, query);
            return wanted;
        }
        let page = Partial::Timeline(page);
        self.queries.named(now, wave, page, &mut self.local)
    }

    fn begin_query(&mut self, now: Now, wave: WaveId, query: Query) -> Option<Up> {
        let clock = self.tree.clock();
        self.queries
            .begin(now, wave, query, clock, &self.commands, &mut self.local)
    }

    /// Answers the questions that have waited: for members of communicators, or for supervisors.
    pub(super) fn answer_due_queries(&mut self, now: Now) {
        let is_expecting = self.groups.is_expecting(now.ns);
        for (wave, query) in self.queries.held.due(now.ns, is_expecting) {
            let answer = self.begin_query(now, wave, query);
            self.answer(now, answer);
        }
        let (is_paused, clock) = (self.commands.is_paused(now), self.tree.clock());
        let answers = self.queries.due(now, is_paused, clock, &mut self.local);
        self.answer(now, answers);
    }
}
