//! Until when a node has to answer at once, by what has come from above.

use crate::limits::{ALERT_NS, CLOCK_ALERT_NS};
use invivo_proto::control::tree::{Down, Query};

/// The end of the time in which the next message should not wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alertness {
    until_ns: u64,
}

impl Alertness {
    /// Of a node that starts: nobody has looked yet. What its start needs, it waits for by itself.
    pub fn new() -> Alertness {
        Alertness { until_ns: 0 }
    }

    /// A message from above: where somebody steers or asks, more follows.
    pub fn hear(&mut self, now_ns: u64, message: &Down) {
        let is_followed = match message {
            Down::Command(_) | Down::Release | Down::Shutdown => true,
            // The watchdog and the governor ask these all the time, while nobody watches. Views
            // that are renewed ask for more than the status.
            Down::Query { query, .. } => !matches!(query, Query::Hang { .. } | Query::Status),
            // What every start says, or what nobody asked for.
            Down::Job(_)
            | Down::Analyses(_)
            | Down::Heartbeat
            | Down::Time { .. }
            | Down::Groups(_) => false,
        };
        if is_followed {
            self.stay(now_ns, ALERT_NS);
        }
    }

    /// A child measures this node's clock, several times in a row.
    pub fn answered_time(&mut self, now_ns: u64) {
        self.stay(now_ns, CLOCK_ALERT_NS);
    }

    fn stay(&mut self, now_ns: u64, for_ns: u64) {
        self.until_ns = self.until_ns.max(now_ns.saturating_add(for_ns));
    }

    pub fn is_alert(&self, now_ns: u64) -> bool {
        now_ns < self.until_ns
    }
}
