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

    /// Whether so much is more than was told.
    pub fn lacks(&self, cost: Duration) -> bool {
        cost > self.told
    }

    /// It was tried to tell, and this was taken.
    pub fn tried(&mut self, now: Instant, told: Option<Duration>) {
        self.at = now;
        self.told = told.unwrap_or(self.told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_told_a_second_later() {
        let ms = Duration::from_millis;
        let mut spent = Spent::default();
        let begin = spent.at;
        assert_eq!(spent.before(begin + ms(400)), ms(600));
        spent.tried(begin + ms(1000), None);
        assert!(spent.lacks(ms(6)));
        assert_eq!(spent.before(begin + ms(1500)), ms(500));
        spent.tried(begin + ms(2000), Some(ms(6)));
        assert!(!spent.lacks(ms(6)) && spent.lacks(ms(7)));
        assert_eq!(spent.before(begin + ms(9000)), Duration::ZERO);
    }
}
