//! The node's clock: converts ticks of the ranks' time stamps to `CLOCK_MONOTONIC` and back.
//!
//! The rate is measured at start over a few milliseconds, then over an ever longer run.

use invivo_proto::clock::{self, ClockKind};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Length of the first measurement. Both clocks are read within some 50 ns, so its rate is good to
/// about 5 ppm; refining makes it better.
const FIRST_RUN: Duration = Duration::from_millis(20);
/// Tries per reading; the one with the least time between its ends counts.
const TRIES: usize = 8;
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
    /// Nanoseconds per tick, and ticks per nanosecond, times 2^SHIFT.
    ns_per_tick: u128,
    ticks_per_ns: u128,
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time of this process in nanoseconds.
pub fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Ticks now, by the clock that the ranks of this node use.
pub fn ticks() -> u64 {
    match clock::kind() {
        ClockKind::Tsc => clock::tsc(),
        ClockKind::Monotonic => monotonic_ns(),
    }
}

/// Reads both clocks together.
pub fn read() -> Reading {
    if clock::kind() == ClockKind::Monotonic {
        let ns = monotonic_ns();
        return Reading {
            ticks: ns,
            ns,
            width_ticks: 0,
        };
    }
    let one = || {
        let before = clock::tsc();
        let ns = monotonic_ns();
        let width_ticks = clock::tsc().saturating_sub(before);
        Reading {
            ticks: before + width_ticks / 2,
            ns,
            width_ticks,
        }
    };
    // Between the two readings this process may be descheduled, or the virtual machine be stopped.
    let mut best = one();
    for _ in 1..TRIES {
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
            ns_per_tick: (u128::from(ns) << SHIFT) / u128::from(ticks),
            ticks_per_ns: (u128::from(ticks) << SHIFT) / u128::from(ns),
        }
    }

    /// Measures again, over the whole run so far.
    pub fn refine(&mut self, reading: Reading) {
        // Always from the first reading: the longer the run, the less the readings' widths weigh.
        if reading.ticks > self.last.ticks && reading.ns > self.last.ns {
            *self = NodeClock::from_readings(self.first, reading);
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

    /// A point of time on `CLOCK_MONOTONIC`, counted from the reading taken last, so that the
    /// rate's error weighs least on what is recent.
    #[inline]
    pub fn at_ns(&self, ticks: u64) -> u64 {
        if ticks >= self.last.ticks {
            self.last
                .ns
                .saturating_add(self.duration_ns(ticks - self.last.ticks))
        } else {
            self.last
                .ns
                .saturating_sub(self.duration_ns(self.last.ticks - ticks))
        }
    }

    /// How far [`NodeClock::at_ns`] may be off at the reading taken last.
    pub fn error_ns(&self) -> u64 {
        self.duration_ns(self.first.width_ticks.max(self.last.width_ticks))
    }
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
