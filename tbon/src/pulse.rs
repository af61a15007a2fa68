//! Whether the root is alive, as heard from above.

use crate::limits::SILENCE_NS_MAX;

/// Listens to what comes from above: all of it begins at the root.
#[derive(Clone, Debug)]
pub(crate) struct Pulse {
    heard_ns: u64,
    lost: bool,
}

impl Pulse {
    pub fn new(now_ns: u64) -> Pulse {
        Pulse {
            heard_ns: now_ns,
            lost: false,
        }
    }

    /// Something came from above; a root that was only slow is not lost any more.
    pub fn hear(&mut self, now_ns: u64) {
        *self = Pulse::new(now_ns);
    }

    /// True once per silence that is too long.
    pub fn stops(&mut self, now_ns: u64) -> bool {
        let silent = now_ns >= self.deadline_ns();
        silent && !core::mem::replace(&mut self.lost, true)
    }

    fn deadline_ns(&self) -> u64 {
        self.heard_ns.saturating_add(SILENCE_NS_MAX)
    }

    pub fn next_deadline_ns(&self) -> Option<u64> {
        (!self.lost).then(|| self.deadline_ns())
    }
}
