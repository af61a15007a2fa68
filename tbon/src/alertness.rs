//! Until when a node has to answer at once, by what has come from above.

use crate::limits::{ALERT_NS, CLOCK_ALERT_NS};
use invivo_proto::control::tree::{Down, Query};

/// The end of the time in which the next message should not wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alertness {
    until_ns: u64,
}

impl Alertness {
    pub fn new(now_ns: u64) -> Alertness {
        Alertness {
            until_ns: now_ns.saturating_add(ALERT_NS),
        }
    }

    /// A message from above: where somebody steers or asks, more follows.
    pub fn hear(&mut self, now_ns: u64, message: &Down) {
        let is_followed = match message {
            Down::Job(_)
            | Down::Analyses(_)
            | Down::Command(_)
            | Down::Release
            | Down::Shutdown => true,
            // The watchdog asks this all the time, while nobody watches.
            Down::Query { query, .. } => !matches!(query, Query::Hang { .. }),
            Down::Heartbeat | Down::Time { .. } | Down::Groups(_) => false,
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
