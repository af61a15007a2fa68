//! Questions that wait until the members of communicators that ranks met just now are known: the
//! answers are about the ranks that those are.

use super::group_exchange::GroupExchange;
use crate::analyses::Analyses;
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

    /// Those that wait no longer: all members are known, or an answer would be late.
    pub fn due(
        &mut self,
        now_ns: u64,
        groups: &mut GroupExchange,
        analyses: &mut Analyses,
    ) -> Vec<(WaveId, Query)> {
        let is_due =
            self.is_waiting() && (now_ns >= self.until_ns || groups.are_known(now_ns, analyses));
        match is_due {
            true => std::mem::take(&mut self.waiting),
            false => Vec::new(),
        }
    }
}
