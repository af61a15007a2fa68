//! A timer for work that is done once per period.

/// When it was done last, and how often it is done.
#[derive(Clone, Copy, Debug)]
pub struct Every {
    period_ns: u64,
    last_ns: u64,
}

impl Every {
    /// Every `period_ns`, for the first time so long after `last_ns`.
    pub fn new(period_ns: u64, last_ns: u64) -> Every {
        Every { period_ns, last_ns }
    }

    /// Whether it is time; then it counts as done.
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        let is_due = now_ns.saturating_sub(self.last_ns) >= self.period_ns;
        if is_due {
            self.last_ns = now_ns;
        }
        is_due
    }

    /// It was done, for another reason.
    pub fn done(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
    }

    /// How long ago it was done.
    pub fn since_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.last_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_begins_when_the_last_one_was_used() {
        let mut every = Every::new(10, 100);
        let due = [105, 110, 115, 119, 125, 136].map(|now_ns| every.is_due(now_ns));
        assert_eq!(due, [false, true, false, false, true, true]);
        every.done(140);
        assert!(every.since_ns(149) == 9 && !every.is_due(149) && every.is_due(150));
    }
}
