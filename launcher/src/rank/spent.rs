//! What sampling and measuring take, and when a supervisor tells its place.

use std::time::{Duration, Instant};

/// Between two times.
const INTERVAL: Duration = Duration::from_secs(1);
/// With something else that is sent it may be told so much earlier.
const EARLIER: Duration = Duration::from_millis(300);

/// What sampling and measuring took so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Time on a processor beside the rank.
    pub beside: Duration,
    /// Time of the rank itself.
    pub in_rank: Duration,
}

impl Cost {
    /// The larger one of each.
    pub fn max(self, other: Cost) -> Cost {
        Cost {
            beside: self.beside.max(other.beside),
            in_rank: self.in_rank.max(other.in_rank),
        }
    }
}

/// What was told, and when.
pub struct Spent {
    told: Cost,
    at: Instant,
}

impl Default for Spent {
    fn default() -> Spent {
        Spent {
            told: Cost::default(),
            at: Instant::now(),
        }
    }
}

impl Spent {
    /// How long until it is told again.
    pub fn before(&self, now: Instant) -> Duration {
        INTERVAL.saturating_sub(now.saturating_duration_since(self.at))
    }

    /// Whether it is so soon that it may go with something else, which wakes the place anyway.
    pub fn is_soon(&self, now: Instant) -> bool {
        self.before(now) <= EARLIER
    }

    /// What is to be told where it is so much now; nothing where that is no more than was told.
    /// Neither number ever falls.
    pub fn to_tell(&self, cost: Cost) -> Option<Cost> {
        Some(cost.max(self.told)).filter(|cost| *cost != self.told)
    }

    /// It was tried to tell, and this was taken.
    pub fn tried(&mut self, now: Instant, told: Option<Cost>) {
        self.at = now;
        self.told = told.unwrap_or(self.told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn cost(beside_ms: u64, in_rank_ms: u64) -> Cost {
        Cost {
            beside: ms(beside_ms),
            in_rank: ms(in_rank_ms),
        }
    }

    #[test]
    fn what_is_refused_is_told_a_second_later() {
        let mut spent = Spent::default();
        let begin = spent.at;
        assert_eq!(spent.before(begin + ms(400)), ms(600));
        assert!(!spent.is_soon(begin + ms(600)) && spent.is_soon(begin + ms(700)));
        spent.tried(begin + ms(1000), None);
        assert_eq!(spent.to_tell(cost(6, 0)), Some(cost(6, 0)));
        assert_eq!(spent.before(begin + ms(1500)), ms(500));
        spent.tried(begin + ms(2000), Some(cost(6, 0)));
        assert_eq!(spent.to_tell(cost(6, 0)), None);
        assert_eq!(spent.before(begin + ms(9000)), Duration::ZERO);
    }

    #[test]
    fn what_is_told_never_falls() {
        let mut spent = Spent::default();
        spent.tried(spent.at, Some(cost(6, 5)));
        assert_eq!(spent.to_tell(cost(7, 5)), Some(cost(7, 5)));
        assert_eq!(spent.to_tell(cost(0, 6)), Some(cost(6, 6)));
        // A sampler is gone, and its times with it.
        assert_eq!(spent.to_tell(cost(0, 0)), None);
    }
}
