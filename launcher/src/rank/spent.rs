//! When a supervisor tells its place what sampling and measuring take.

use std::time::{Duration, Instant};

/// Between two times.
const INTERVAL: Duration = Duration::from_secs(1);

/// What was told, and when.
pub struct Spent {
    told: Duration,
    at: Instant,
}

impl Default for Spent {
    fn default() -> Spent {
        Spent {
            told: Duration::ZERO,
            at: Instant::now(),
        }
    }
}

impl Spent {
    /// How long until it is told again.
    pub fn before(&self, now: Instant) -> Duration {
        INTERVAL.saturating_sub(now.saturating_duration_since(self.at))
    }

    /// What to tell now, if it is time and there is something new.
    pub fn due(&mut self, now: Instant, cost: impl FnOnce() -> Duration) -> Option<Duration> {
        if !self.before(now).is_zero() {
            return None;
        }
        self.at = now;
        let cost = cost();
        (cost > self.told).then(|| {
            self.told = cost;
            cost
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_is_told_once_a_second() {
        let ms = Duration::from_millis;
        let mut spent = Spent::default();
        let begin = spent.at;
        let mut due = |at, cost| spent.due(begin + ms(at), || ms(cost));
        assert_eq!(due(999, 5), None);
        assert_eq!(due(1000, 6), Some(ms(6)));
        assert_eq!(due(1500, 9), None);
        assert_eq!(due(2100, 6), None, "nothing new");
        assert_eq!(due(3100, 10), Some(ms(10)));
    }
}
