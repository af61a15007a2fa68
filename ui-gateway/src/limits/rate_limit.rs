//! Rate limits with a burst, for one subject or for a bounded number of keys. Time is an argument.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A rate and the burst that is allowed after a quiet time.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Between two events in the long run.
    interval: Duration,
    /// Events at once after a quiet time; 0 counts as 1.
    burst: u32,
}

impl Rate {
    /// `count` per second, and `burst` at once.
    pub const fn per_second(count: u32, burst: u32) -> Rate {
        Rate {
            interval: Duration::from_nanos(1_000_000_000 / count as u64),
            burst,
        }
    }

    /// `count` per minute, and `burst` at once.
    pub const fn per_minute(count: u32, burst: u32) -> Rate {
        Rate {
            interval: Duration::from_nanos(60_000_000_000 / count as u64),
            burst,
        }
    }
}

/// One limit, by the generic cell rate algorithm: a point in time is all its state.
#[derive(Clone, Copy, Debug)]
pub struct RateLimit {
    rate: Rate,
    /// When the full burst is available again.
    full_at: Option<Instant>,
}

impl RateLimit {
    pub fn new(rate: Rate) -> RateLimit {
        RateLimit {
            rate,
            full_at: None,
        }
    }

    /// Counts an event.
    ///
    /// # Errors
    /// The time to wait if the limit is reached; the event is not counted then.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        // Each event moves the time of the full burst one interval ahead; an idle limit starts at
        // `now`.
        let full_at = self.full_at.map_or(now, |at| at.max(now)) + self.rate.interval;
        let ahead = full_at - now;
        let room = self.rate.interval * self.rate.burst.max(1);
        // Further ahead than the burst allows: the difference is exactly the time to wait.
        if ahead > room {
            return Err(ahead - room);
        }
        self.full_at = Some(full_at);
        Ok(())
    }

    /// Whether the full burst is available: such a limit can be forgotten without any effect.
    pub fn is_idle(&self, now: Instant) -> bool {
        self.full_at.is_none_or(|at| at <= now)
    }
}

/// A limit for each of a bounded number of keys.
#[derive(Debug)]
pub struct KeyedRateLimit<K> {
    rate: Rate,
    keys_max: usize,
    limits: BTreeMap<K, RateLimit>,
}

impl<K: Ord> KeyedRateLimit<K> {
    /// Limits for at most `keys_max` keys at once.
    pub fn new(rate: Rate, keys_max: usize) -> KeyedRateLimit<K> {
        KeyedRateLimit {
            rate,
            keys_max,
            limits: BTreeMap::new(),
        }
    }

    /// Counts an event of `key`. With too many keys, a new key is refused until another one can be
    /// forgotten.
    ///
    /// # Errors
    /// The time to wait if the limit is reached.
    pub fn take(&mut self, key: K, now: Instant) -> Result<(), Duration> {
        if !self.limits.contains_key(&key) && self.limits.len() >= self.keys_max {
            // Only when full: in most calls nothing has to be searched.
            self.limits.retain(|_, limit| !limit.is_idle(now));
            if self.limits.len() >= self.keys_max {
                return Err(self.rate.interval);
            }
        }
        let rate = self.rate;
        self.limits
            .entry(key)
            .or_insert_with(|| RateLimit::new(rate))
            .take(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let begun = Instant::now();
        let mut limit = RateLimit::new(Rate::per_second(10, 3));
        assert!(limit.is_idle(begun));
        assert_eq!((0..3).try_for_each(|_| limit.take(begun)), Ok(()));
        assert_eq!(limit.take(begun), Err(Duration::from_millis(100)));
        assert_eq!(
            limit.take(begun + Duration::from_millis(60)),
            Err(Duration::from_millis(40))
        );
        assert_eq!(limit.take(begun + Duration::from_millis(100)), Ok(()));
        assert!(!limit.is_idle(begun + Duration::from_millis(100)));
        assert!(limit.is_idle(begun + Duration::from_secs(1)));
    }

    #[test]
    fn keys_are_independent_and_bounded() {
        let begun = Instant::now();
        let mut limits = KeyedRateLimit::new(Rate::per_second(1, 1), 2);
        assert_eq!(limits.take("a", begun), Ok(()));
        assert_eq!(limits.take("b", begun), Ok(()));
        assert!(limits.take("a", begun).is_err(), "its own is empty");
        assert!(limits.take("c", begun).is_err(), "no room");
        let later = begun + Duration::from_secs(1);
        assert_eq!(limits.take("c", later), Ok(()), "the others are forgotten");
    }

    proptest! {
        /// The naive twin: in any stretch of time no more than burst + stretch / interval.
        #[test]
        fn never_more_than_the_rate(
            steps in prop::collection::vec(0u64..400, 1..200),
            burst in 1u32..8,
        ) {
            let interval = Duration::from_millis(100);
            let mut limit = RateLimit::new(Rate::per_second(10, burst));
            let mut now = Instant::now();
            let mut taken = Vec::new();
            for step in steps {
                now += Duration::from_millis(step);
                match limit.take(now) {
                    Ok(()) => taken.push(now),
                    // Told exactly: a moment earlier is too early, then it is time.
                    Err(wait) => prop_assert!(wait <= interval && !wait.is_zero()),
                }
            }
            for (at, from) in taken.iter().enumerate() {
                for (count, to) in taken[at..].iter().enumerate() {
                    let most = u128::from(burst) + (*to - *from).as_nanos() / interval.as_nanos();
                    prop_assert!((count as u128) < most);
                }
            }
        }
    }
}
