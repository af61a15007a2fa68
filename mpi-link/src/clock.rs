//! The node's clock: converts ticks of the ranks' time stamps to `CLOCK_MONOTONIC` and back.
//!
//! The rate is measured at start over a few milliseconds, then over an ever longer run.

#[cfg(feature = "test-hooks")]
use invivo_proto::clock::skew::{here, tsc};
use invivo_proto::clock::thinning::least_missed;
#[cfg(not(feature = "test-hooks"))]
use invivo_proto::clock::tsc;
use invivo_proto::clock::{self, ClockKind};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Length of the first measurement. Both clocks are read within some 50 ns, so its rate is good to
/// about 5 ppm; refining makes it better.
const FIRST_RUN: Duration = Duration::from_millis(20);
/// Tries per reading; the one with the least time between its ends counts.
const TRIES: usize = 8;
/// Both clocks are read closely within so many ticks: a microsecond or two.
const CLOSE_TICKS: u64 = 4_000;
/// Readings that are remembered.
const READINGS_MAX: usize = 512;
/// Fraction bits of the factors.
const SHIFT: u32 = 40;

/// One look at both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The ranks' clock.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`.
    pub ns: u64,
    /// How far apart in ticks the two may have been read.
    pub width_ticks: u64,
}

/// Converts between ticks and nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Debug)]
pub struct NodeClock {
    first: Reading,
    last: Reading,
    /// Readings before the last, oldest first.
    past: Vec<Reading>,
    /// Nanoseconds per tick, and ticks per nanosecond, times 2^SHIFT.
    ns_per_tick: u128,
    ticks_per_ns: u128,
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    #[cfg(feature = "test-hooks")]
    let ns = here().ns(ns);
    ns
}

/// CPU time of this process in nanoseconds.
pub fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Ticks now, by the clock that the ranks of this node use.
pub fn ticks() -> u64 {
    match clock::kind() {
        ClockKind::Tsc => tsc(),
        ClockKind::Monotonic => monotonic_ns(),
    }
}

/// Reads both clocks together, as closely as they can be.
pub fn read() -> Reading {
    read_until(0)
}

/// Reads both clocks together, once if nothing came in between.
pub fn read_closely() -> Reading {
    read_until(CLOSE_TICKS)
}

/// Reads both clocks until they are read within `enough` ticks, [`TRIES`] times at most.
fn read_until(enough: u64) -> Reading {
    if clock::kind() == ClockKind::Monotonic {
        let ns = monotonic_ns();
        return Reading {
            ticks: ns,
            ns,
            width_ticks: 0,
        };
    }
    let one = || {
        let before = tsc();
        let ns = monotonic_ns();
        let width_ticks = tsc().saturating_sub(before);
        Reading {
            ticks: before + width_ticks / 2,
            ns,
            width_ticks,
        }
    };
    // Between the two readings this process may be descheduled, or the virtual machine be stopped.
    let mut best = one();
    for _ in 1..TRIES {
        if best.width_ticks <= enough {
            break;
        }
        let next = one();
        if next.width_ticks < best.width_ticks {
            best = next;
        }
    }
    best
}

impl NodeClock {
    /// Measures for the first time; takes 20 ms where ticks are not nanoseconds already.
    pub fn start() -> NodeClock {
        let first = read();
        if clock::kind() == ClockKind::Monotonic {
            return NodeClock::from_readings(first, first);
        }
        std::thread::sleep(FIRST_RUN);
        NodeClock::from_readings(first, read())
    }

    /// The clock that two readings tell; the same reading twice means that ticks are nanoseconds.
    pub fn from_readings(first: Reading, last: Reading) -> NodeClock {
        let (ticks, ns) = (
            last.ticks.saturating_sub(first.ticks),
            last.ns.saturating_sub(first.ns),
        );
        // No division by zero, and the identity where ticks are nanoseconds.
        let (ticks, ns) = if ticks == 0 || ns == 0 {
            (1, 1)
        } else {
            (ticks, ns)
        };
        NodeClock {
            first,
            last,
            past: Vec::new(),
            ns_per_tick: (u128::from(ns) << SHIFT) / u128::from(ticks),
            ticks_per_ns: (u128::from(ticks) << SHIFT) / u128::from(ns),
        }
    }

    /// Measures again, over the whole run so far.
    pub fn refine(&mut self, reading: Reading) {
        // Always from the first reading: the longer the run, the less the readings' widths weigh.
        if reading.ticks > self.last.ticks && reading.ns > self.last.ns {
            let mut past = std::mem::take(&mut self.past);
            if past.len() == READINGS_MAX {
                past.remove(least_missed(past.len(), |index| past[index].ns));
            }
            past.push(self.last);
            *self = NodeClock {
                past,
                ..NodeClock::from_readings(self.first, reading)
            };
        }
    }

    /// The reading taken last.
    pub fn last(&self) -> Reading {
        self.last
    }

    /// The readings around a point before the last one, of which `before` says whether a reading
    /// lies before it.
    fn around(&self, before: impl Fn(u64, u64) -> bool) -> Option<[(u64, u64); 2]> {
        let next = self.past.partition_point(|one| before(one.ticks, one.ns));
        let first = self.past.get(next.checked_sub(1)?)?;
        let next = self.past.get(next).unwrap_or(&self.last);
        Some([first, next].map(|one| (one.ticks, one.ns)))
    }

    /// A point in ticks of `CLOCK_MONOTONIC`, the inverse of [`NodeClock::at_ns`].
    pub fn at_ticks(&self, ns: u64) -> u64 {
        if ns >= self.last.ns {
            let since_ns = ns - self.last.ns;
            return self
                .last
                .ticks
                .saturating_add(self.duration_ticks(since_ns));
        }
        match self.around(|_, at_ns| at_ns <= ns) {
            Some([from, to]) => between((from.1, from.0), (to.1, to.0), ns),
            None => {
                let oldest = self.past.first().unwrap_or(&self.last);
                let before_ns = oldest.ns.saturating_sub(ns);
                oldest.ticks.saturating_sub(self.duration_ticks(before_ns))
            }
        }
    }

    /// A length of time in nanoseconds.
    #[inline]
    pub fn duration_ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * self.ns_per_tick) >> SHIFT) as u64
    }

    /// A length of time in ticks.
    #[inline]
    pub fn duration_ticks(&self, ns: u64) -> u64 {
        ((u128::from(ns) * self.ticks_per_ns) >> SHIFT) as u64
    }

    /// A point of time on `CLOCK_MONOTONIC`, counted from the readings around it, because the two
    /// clocks' rates may change: time daemons slew one of them.
    pub fn at_ns(&self, ticks: u64) -> u64 {
        if ticks >= self.last.ticks {
            let since_ns = self.duration_ns(ticks - self.last.ticks);
            return self.last.ns.saturating_add(since_ns);
        }
        match self.around(|at_ticks, _| at_ticks <= ticks) {
            Some([from, to]) => between(from, to, ticks),
            None => {
                let oldest = self.past.first().unwrap_or(&self.last);
                let before = oldest.ticks.saturating_sub(ticks);
                oldest.ns.saturating_sub(self.duration_ns(before))
            }
        }
    }

    /// How far [`NodeClock::at_ns`] may be off at the reading taken last.
    pub fn error_ns(&self) -> u64 {
        self.duration_ns(self.first.width_ticks.max(self.last.width_ticks))
    }

    /// How far a time from `ns` on may be off, for who reads the clocks as closely as
    /// [`read_closely`] does: another process of the node has readings of its own, so that the two
    /// may tell times that differ by as much as both are off.
    pub fn error_since_ns(&self, ns: u64) -> u64 {
        let before = self.past.partition_point(|one| one.ns <= ns);
        let since = &self.past[before.saturating_sub(1)..];
        let widths = since.iter().chain([&self.first, &self.last]);
        let widest = widths.map(|one| one.width_ticks).max().unwrap_or(0);
        let close = match clock::kind() {
            ClockKind::Tsc => CLOSE_TICKS,
            ClockKind::Monotonic => 0,
        };
        // A clock is read somewhere between the two readings of the other one.
        self.duration_ns(widest.max(close)).div_ceil(2)
    }
}

/// The value at `at` on the straight line between two points, the second of which lies behind `at`.
fn between(from: (u64, u64), to: (u64, u64), at: u64) -> u64 {
    let length = u128::from(to.0.saturating_sub(from.0)).max(1);
    let rise = u128::from(to.1.saturating_sub(from.1));
    let since = u128::from(at.saturating_sub(from.0));
    from.1.saturating_add((since * rise / length) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the rate, a time converted there and back is off by no more than the rounding
        /// of the factors allows, and refining over a longer run keeps the rate.
        #[test]
        fn ticks_and_nanoseconds_agree(
            khz in 100_000u64..6_000_000,
            start in 0u64..1 << 50,
            boot in 0u64..1 << 50,
            later_ms in 0u64..3_600_000,
        ) {
            let at = |ms: u64| Reading {
                ticks: start + ms * khz,
                ns: boot + ms * 1_000_000,
                width_ticks: 0,
            };
            let mut clock = NodeClock::from_readings(at(0), at(20));
            clock.refine(at(1000));
            let ns = clock.at_ns(start + later_ms * khz);
            let true_ns = boot + later_ms * 1_000_000;
            let error_ns = ns.abs_diff(true_ns);
            prop_assert!(error_ns <= 1 + later_ms / 500, "{} instead of {}", ns, true_ns);
            let ticks = clock.duration_ticks(clock.duration_ns(later_ms * khz));
            prop_assert!(ticks.abs_diff(later_ms * khz) <= khz / 1_000_000 + 1 + later_ms / 100);
        }
    }

    proptest! {
        /// A time daemon changes the rate of `CLOCK_MONOTONIC` again and again: what lies back is
        /// still converted as the clocks ran then, both ways.
        #[test]
        fn old_ticks_keep_their_time_under_slewing(
            ppm in prop::collection::vec(-500i64..=500, 3..1500),
            seconds in 0.0f64..1.0,
        ) {
            const KHZ: u64 = 2_000_000;
            let mut at = Reading { ticks: 7, ns: 5_000_000_000, width_ticks: 0 };
            let mut clock = NodeClock::from_readings(at, at);
            let mut truth = vec![at];
            for ppm in ppm {
                at.ticks += KHZ * 1000;
                at.ns = (at.ns as i64 + 1_000_000_000 + ppm * 1000) as u64;
                clock.refine(at);
                truth.push(at);
            }
            let index = ((truth.len() - 1) as f64 * seconds) as usize;
            let one = truth[index];
            // Kept readings lie some seconds apart by then; between them rates are not known.
            let slack_ns = if truth.len() > READINGS_MAX { 6_000_000 } else { 2 };
            prop_assert!(clock.at_ns(one.ticks).abs_diff(one.ns) <= slack_ns);
            let ticks = clock.at_ticks(one.ns);
            prop_assert!(ticks.abs_diff(one.ticks) <= 2 * slack_ns + 2, "{} {}", ticks, one.ticks);
        }
    }

    /// One reading of a process that was descheduled in between makes what is told of that time
    /// uncertain, and of no later one.
    #[test]
    fn a_wide_reading_is_an_error_of_its_time() {
        let at = |seconds: u64, width_ticks| Reading {
            ticks: seconds * 1_000_000_000,
            ns: seconds * 1_000_000_000,
            width_ticks,
        };
        let mut clock = NodeClock::from_readings(at(1, 10), at(2, 10));
        for (seconds, width_ticks) in [(3, 50_001), (4, 10), (5, 10), (6, 10)] {
            clock.refine(at(seconds, width_ticks));
        }
        let error_ns = |seconds: u64| clock.error_since_ns(seconds * 1_000_000_000 + 1);
        assert_eq!([1, 2, 3].map(error_ns), [25_001; 3]);
        assert!(error_ns(4) <= CLOSE_TICKS && error_ns(4) == error_ns(6));
    }

    #[test]
    fn the_real_clock_follows_the_monotonic_one() {
        let clock = NodeClock::start();
        let before = monotonic_ns();
        let ns = clock.at_ns(ticks());
        let after = monotonic_ns();
        // A microsecond beyond the reading error: a virtual machine's clock is disciplined while we
        // look.
        let slack = clock.error_ns() + 1_000;
        assert!(
            ns + slack >= before && ns <= after + slack,
            "{before} <= {ns} <= {after}, slack {slack}"
        );
    }
}
