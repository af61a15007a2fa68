//! Questions that wait until the members of communicators that ranks met just now are known: the
//! answers are about the ranks that those are.

use crate::time_point::LATENCY_NS;
use invivo_proto::control::tree::Query;
use invivo_proto::ids::WaveId;

/// The questions, in their order.
#[derive(Default)]
pub struct HeldQueries {
    waiting: Vec<(WaveId, Query)>,
    /// Then they are answered with what is known.
    until_ns: u64,
}

impl HeldQueries {
    /// Whether one waits, so that a further one waits behind it.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Holds one.
    pub fn hold(&mut self, now_ns: u64, wave: WaveId, query: Query) {
        if self.waiting.is_empty() {
            self.until_ns = now_ns.saturating_add(LATENCY_NS);
        }
        self.waiting.push((wave, query));
    }

    /// Those that wait no longer: what is `expected` has come, or an answer would be late.
    pub fn due(&mut self, now_ns: u64, expected: bool) -> Vec<(WaveId, Query)> {
        match expected && now_ns < self.until_ns {
            true => Vec::new(),
            false => std::mem::take(&mut self.waiting),
        }
    }
}

/// Whether an answer is about the ranks that calls name.
pub fn is_about_peers(query: &Query) -> bool {
    matches!(
        query,
        Query::Matrix { .. }
            | Query::Messages { .. }
            | Query::Records { .. }
            | Query::Timeline { .. }
            | Query::WaitStates { .. }
    )
}
