//! Detects the loss of the root by the silence of the parent.

use crate::limits::{SILENCE_NS_MAX, START_NS_MAX};

/// The deadline for the next message from above: all of them originate at the root. Before the
/// first one a longer deadline holds, because the root may be slow to start.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat {
    deadline_ns: u64,
    lost: bool,
}

impl Heartbeat {
    /// Nothing has come yet.
    pub fn new(now_ns: u64) -> Heartbeat {
        Heartbeat {
            deadline_ns: now_ns.saturating_add(START_NS_MAX),
            lost: false,
        }
    }

    /// Something came from above; a root that was only slow is not lost any more.
    pub fn hear(&mut self, now_ns: u64) {
        *self = Heartbeat {
            deadline_ns: now_ns.saturating_add(SILENCE_NS_MAX),
            lost: false,
        };
    }

    /// True once per silence that is too long.
    pub fn stops(&mut self, now_ns: u64) -> bool {
        let silent = now_ns >= self.deadline_ns;
        // Reported once; the next message from above arms it again.
        silent && !core::mem::replace(&mut self.lost, true)
    }

    pub fn next_deadline_ns(&self) -> Option<u64> {
        (!self.lost).then_some(self.deadline_ns)
    }
}
