//! What a supervisor measures of its rank, and when it reads it next.

use crate::rank::readings::Readings;
use crate::rank::shared_memory::monotonic_ns;
use invivo_inspect::metrics::Meter;
use invivo_proto::control::metrics::Measured;
use std::time::{Duration, Instant};

/// What is measured, if anything.
#[derive(Default)]
pub struct Measuring {
    pub open: Option<Open>,
    /// What has been read and not been sent.
    pub readings: Readings,
    /// Time on a processor that all readings took.
    pub cost: Duration,
    /// What is done once, before the first.
    pub is_prepared: bool,
}

/// What is measured now.
pub struct Open {
    /// The place's order, whose number each reading bears.
    pub measuring: u32,
    pub measured: Measured,
    pub meter: Meter,
    due: Instant,
}

impl Open {
    /// To be read at once.
    pub fn new(measuring: u32, measured: Measured, meter: Meter) -> Open {
        Open {
            measuring,
            measured,
            meter,
            due: Instant::now(),
        }
    }

    /// How long until the next reading; nothing where it is due.
    pub fn before_reading(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// It has been read.
    pub fn read(&mut self) {
        let rest_ns = before_next(monotonic_ns(), self.measured.interval_ns);
        self.due = Instant::now() + Duration::from_nanos(rest_ns);
    }
}

/// How long until the next multiple of the interval: what a reading takes from a rank it takes from
/// all ranks of a node at the same time then, so that they do not wait for each other again and
/// again. Those that have passed are left out, so that readings never follow without pause.
fn before_next(now_ns: u64, interval_ns: u64) -> u64 {
    let interval_ns = interval_ns.max(1);
    interval_ns - now_ns % interval_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_evenly_spaced_and_never_pile_up() {
        const MS: u64 = 1_000_000;
        let next = |now_ms: u64| now_ms + before_next(now_ms * MS, 100 * MS) / MS;
        assert_eq!(next(1234), 1300, "behind the first");
        assert_eq!(next(1300), 1400);
        assert_eq!(next(1330), 1400, "a late one");
        // The supervisor was stopped for a second.
        assert_eq!(next(2399), 2400);
        assert_eq!(before_next(7, 0), 1);
    }
}
