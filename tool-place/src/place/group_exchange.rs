//! Exchanges communicators' members with the parent: reports definitions, requests unknown groups.

use crate::analyses::Analyses;
use crate::time_point::LATENCY_NS;
use invivo_proto::control::tree::Up;
use invivo_proto::ids::CommId;
use std::collections::BTreeSet;

/// Between two questions for members of communicators: until the first is answered, their traffic
/// is not resolved, and a screen shows that for no longer than this.
const WANT_NS: u64 = 250_000_000;
/// The same when the ranks are through and only the last questions are to come.
const WANT_LAST_NS: u64 = 20_000_000;

/// Groups that are remembered as requested: beyond that all are forgotten, and requested again.
const ASKED_MAX: usize = 1 << 12;

/// When groups were requested last.
#[derive(Debug, Default)]
pub struct GroupExchange {
    asked_ns: u64,
    /// Groups were wanted then.
    is_wanting: bool,
    /// Those that were requested since they are wanted.
    asked: BTreeSet<CommId>,
    /// Those that were requested last for the first time, and when that was.
    expected: BTreeSet<CommId>,
    expected_ns: u64,
}

impl GroupExchange {
    /// Whether the members of communicators are still to come.
    pub fn is_wanting(&self) -> bool {
        self.is_wanting
    }

    /// The groups that the ranks defined since the last call.
    pub fn defined(&mut self, analyses: &mut Analyses) -> Option<Up> {
        // Definitions may have come since: messages that waited for them are matched now.
        analyses.resolve();
        let groups = analyses.take_groups();
        if groups.is_empty() {
            return None;
        }
        self.learned(analyses);
        Some(Up::Groups(groups))
    }

    /// Asks for groups that the ranks met, if it is time. `through_ns` is since when the ranks are
    /// through, where they are.
    pub fn wanted(
        &mut self,
        now_ns: u64,
        through_ns: Option<u64>,
        analyses: &mut Analyses,
    ) -> Option<Up> {
        let period_ns = through_ns.map_or(WANT_NS, |_| WANT_LAST_NS);
        // At once when the ranks are through: the last questions wait for the answer.
        let unasked = through_ns.is_some_and(|through_ns| self.asked_ns <= through_ns);
        if !unasked && now_ns.saturating_sub(self.asked_ns) < period_ns {
            return None;
        }
        self.asked_ns = now_ns;
        let wanted = analyses.wanted_groups();
        self.is_wanting = !wanted.is_empty();
        if !self.is_wanting || self.asked.len() > ASKED_MAX {
            self.asked.clear();
        }
        self.expect(now_ns, &wanted);
        self.is_wanting.then_some(Up::WantGroups(wanted))
    }

    /// Asks for groups before an answer that is to be about them, where nobody was asked yet.
    pub fn wanted_for_answer(&mut self, now_ns: u64, analyses: &mut Analyses) -> Option<Up> {
        let mut wanted = analyses.wanted_groups();
        wanted.retain(|id| !self.asked.contains(id));
        self.is_wanting |= !wanted.is_empty();
        self.expect(now_ns, &wanted);
        (!wanted.is_empty()).then_some(Up::WantGroups(wanted))
    }

    /// Whether what was requested may come in time for an answer. What has not come till then is
    /// not waited for again.
    pub fn is_expecting(&self, now_ns: u64) -> bool {
        !self.expected.is_empty() && now_ns.saturating_sub(self.expected_ns) < LATENCY_NS
    }

    /// Something was said of groups: the rest of what was expected still is.
    pub fn learned(&mut self, analyses: &Analyses) {
        let communicators = analyses.communicators();
        self.expected.retain(|id| communicators.is_missing(*id));
    }

    fn expect(&mut self, now_ns: u64, wanted: &[CommId]) {
        let new = wanted.iter().filter(|id| !self.asked.contains(id));
        let new: BTreeSet<CommId> = new.copied().collect();
        if !new.is_empty() {
            self.asked.extend(&new);
            self.expected = new;
            self.expected_ns = now_ns;
        }
    }
}
