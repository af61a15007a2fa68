//! Exchanges communicators' members with the parent: reports definitions, requests unknown groups.

use crate::analyses::Analyses;
use crate::time_point::LATENCY_NS;
use invivo_proto::control::tree::Up;
use invivo_proto::ids::CommId;

/// Between two questions for members of communicators: until the first is answered, their traffic
/// is not resolved, and a screen shows that for no longer than this.
const WANT_NS: u64 = 250_000_000;
/// The same when the ranks are through and only the last questions are to come.
const WANT_LAST_NS: u64 = 20_000_000;

/// When groups were requested last.
#[derive(Debug, Default)]
pub struct GroupExchange {
    asked_ns: u64,
    /// Members are missing, and since when some are.
    is_wanting: bool,
    since_ns: u64,
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
        (!groups.is_empty()).then_some(Up::Groups(groups))
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
        let wanted = self.unknown(now_ns, analyses);
        self.ask(now_ns, wanted)
    }

    /// Asks for groups before an answer that is to be about them, where nobody was asked yet.
    pub fn wanted_for_answer(&mut self, now_ns: u64, analyses: &mut Analyses) -> Option<Up> {
        let was_wanting = self.is_wanting;
        let wanted = self.unknown(now_ns, analyses);
        match was_wanting {
            false => self.ask(now_ns, wanted),
            true => None,
        }
    }

    /// Whether what is missing may come in time for an answer: what has not come till now is not
    /// waited for again.
    pub fn is_expecting(&self, now_ns: u64) -> bool {
        self.is_wanting && now_ns.saturating_sub(self.since_ns) < LATENCY_NS
    }

    fn ask(&mut self, now_ns: u64, wanted: Vec<CommId>) -> Option<Up> {
        self.asked_ns = now_ns;
        self.is_wanting.then_some(Up::WantGroups(wanted))
    }

    /// Whether the members of all communicators that ranks met are known.
    pub fn are_known(&mut self, now_ns: u64, analyses: &mut Analyses) -> bool {
        self.unknown(now_ns, analyses).is_empty()
    }

    fn unknown(&mut self, now_ns: u64, analyses: &mut Analyses) -> Vec<CommId> {
        let wanted = analyses.wanted_groups();
        if !self.is_wanting {
            self.since_ns = now_ns;
        }
        self.is_wanting = !wanted.is_empty();
        wanted
    }
}
