//! Exchanges communicators' members with the parent: reports definitions, requests unknown groups.

use crate::analyses::Analyses;
use invivo_proto::control::tree::Up;

/// Between two questions for members of communicators: until the first is answered, their traffic
/// is not resolved, and a screen shows that for no longer than this.
const WANT_NS: u64 = 250_000_000;
/// The same when the ranks are through and only the last questions are to come.
const WANT_LAST_NS: u64 = 20_000_000;

/// When groups were requested last.
#[derive(Debug, Default)]
pub struct GroupExchange {
    asked_ns: u64,
    /// Groups were wanted then.
    is_wanting: bool,
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
        self.asked_ns = now_ns;
        let wanted = analyses.wanted_groups();
        self.is_wanting = !wanted.is_empty();
        self.is_wanting.then_some(Up::WantGroups(wanted))
    }
}
