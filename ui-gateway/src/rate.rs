//! How often something may happen: a bucket that fills at a steady rate up to a burst. Time is an
//! argument.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A rate and the burst that it allows after a quiet time.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Between two in the long run.
    interval: Duration,
    /// At once after a quiet time, at least one.
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

/// A bucket (the generic cell rate algorithm: one point in time is all its state).
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    rate: Rate,
    /// When the bucket is full again.
    full_at: Option<Instant>,
}

impl Bucket {
    /// A full one.
    pub fn new(rate: Rate) -> Bucket {
        Bucket {
            rate,
            full_at: None,
        }
    }

    /// Takes one out.
    ///
    /// # Errors
    /// The time until there is one again.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let full_at = self.full_at.map_or(now, |at| at.max(now)) + self.rate.interval;
        let ahead = full_at - now;
        let room = self.rate.interval * self.rate.burst.max(1);
        if ahead > room {
            return Err(ahead - room);
        }
        self.full_at = Some(full_at);
        Ok(())
    }

    /// Whether nothing was taken out of it lately.
    pub fn is_full(&self, now: Instant) -> bool {
        self.full_at.is_none_or(|at| at <= now)
    }
}

/// A bucket for each of a bounded number of keys.
#[derive(Debug)]
pub struct Buckets<K> {
    rate: Rate,
    keys_max: usize,
    buckets: BTreeMap<K, Bucket>,
}

impl<K: Ord> Buckets<K> {
    /// Buckets for at most `keys_max` keys at once.
    pub fn new(rate: Rate, keys_max: usize) -> Buckets<K> {
        Buckets {
            rate,
            keys_max,
            buckets: BTreeMap::new(),
        }
    }

    /// Takes one out of the key's bucket. With too many keys a new one gets nothing until another's
    /// bucket is full again and can be forgotten.
    ///
    /// # Errors
    /// The time until there is one again.
    pub fn take(&mut self, key: K, now: Instant) -> Result<(), Duration> {
        if !self.buckets.contains_key(&key) && self.buckets.len() >= self.keys_max {
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
            if self.buckets.len() >= self.keys_max {
                return Err(self.rate.interval);
            }
        }
        let rate = self.rate;
        self.buckets
            .entry(key)
            .or_insert_with(|| Bucket::new(rate))
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
        let mut bucket = Bucket::new(Rate::per_second(10, 3));
        assert!(bucket.is_full(begun));
        assert_eq!((0..3).try_for_each(|_| bucket.take(begun)), Ok(()));
        assert_eq!(bucket.take(begun), Err(Duration::from_millis(100)));
        assert_eq!(
            bucket.take(begun + Duration::from_millis(60)),
            Err(Duration::from_millis(40))
        );
        assert_eq!(bucket.take(begun + Duration::from_millis(100)), Ok(()));
        assert!(!bucket.is_full(begun + Duration::from_millis(100)));
        assert!(bucket.is_full(begun + Duration::from_secs(1)));
    }

    #[test]
    fn keys_are_apart_and_bounded() {
        let begun = Instant::now();
        let mut buckets = Buckets::new(Rate::per_second(1, 1), 2);
        assert_eq!(buckets.take("a", begun), Ok(()));
        assert_eq!(buckets.take("b", begun), Ok(()));
        assert!(buckets.take("a", begun).is_err(), "its own is empty");
        assert!(buckets.take("c", begun).is_err(), "no room");
        let later = begun + Duration::from_secs(1);
        assert_eq!(buckets.take("c", later), Ok(()), "the others are forgotten");
    }

    proptest! {
        /// The naive twin: in any stretch of time no more than burst + stretch / interval.
        #[test]
        fn never_more_than_the_rate(steps in prop::collection::vec(0u64..400, 1..200), burst in 1u32..8) {
            let interval = Duration::from_millis(100);
            let mut bucket = Bucket::new(Rate::per_second(10, burst));
            let mut now = Instant::now();
            let mut taken = Vec::new();
            for step in steps {
                now += Duration::from_millis(step);
                match bucket.take(now) {
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
