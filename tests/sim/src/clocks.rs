//! The clocks of the hosts: each began at another time and runs a little faster or slower.

use crate::agenda::Time;
use crate::case::stream;

/// One host's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostClock {
    offset_ns: u64,
    drift_ppm: i64,
}

impl HostClock {
    /// A clock that is at most so many milliseconds ahead of simulated time at its beginning, and
    /// runs at most so many parts per million too fast or too slow.
    pub fn of(seed: u64, offset_ms_max: u32, drift_ppm_max: u32) -> HostClock {
        let mut rng = stream(seed, "clock");
        let drift = i64::from(drift_ppm_max);
        HostClock {
            offset_ns: rng.u64(..=u64::from(offset_ms_max) * crate::agenda::MS),
            drift_ppm: rng.i64(-drift..=drift),
        }
    }

    /// What it shows at a time.
    pub fn local(&self, time: Time) -> u64 {
        // In 128 bits: hours of nanoseconds times parts per million overflow 64.
        let drift = i128::from(time) * i128::from(self.drift_ppm) / 1_000_000;
        (i128::from(self.offset_ns) + i128::from(time) + drift) as u64
    }

    /// The earliest time at which it shows `local` or more.
    pub fn time_of(&self, local: u64) -> Time {
        if local <= self.offset_ns {
            return 0;
        }
        let run = i128::from(local - self.offset_ns);
        let mut time = (run * 1_000_000 / (1_000_000 + i128::from(self.drift_ppm))) as Time;
        // Rounding may have gone either way by one.
        while time > 0 && self.local(time - 1) >= local {
            time -= 1;
        }
        while self.local(time) < local {
            time += 1;
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_found_by_what_the_clock_shows_then() {
        for seed in 0..200 {
            let clock = HostClock::of(seed, 1000, 25);
            for time in [0, 1, 39_999, 40_000, 40_001, 1_000_000_007, 60_000_000_000] {
                let local = clock.local(time);
                let found = clock.time_of(local);
                assert!(
                    found <= time && clock.local(found) >= local,
                    "{clock:?} {time}"
                );
                assert!(
                    found == 0 || clock.local(found - 1) < local,
                    "{clock:?} {time}"
                );
            }
        }
    }
}
