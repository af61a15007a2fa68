//! What a supervisor measures of its rank, and when it reads it next.

use invivo_inspect::metrics::Meter;
use invivo_proto::control::metrics::Measured;
use std::time::{Duration, Instant};

/// What is measured, if anything.
#[derive(Default)]
pub struct Measuring {
    pub open: Option<Open>,
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
    interval: Duration,
    due: Instant,
}

impl Open {
    /// To be read at once.
    pub fn new(measuring: u32, measured: Measured, meter: Meter) -> Open {
        Open {
            measuring,
            measured,
            meter,
            interval: Duration::from_nanos(measured.interval_ns),
            due: Instant::now(),
        }
    }

    /// How long until the next reading; nothing where it is due.
    pub fn before_reading(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// It has been read.
    pub fn read(&mut self) {
        self.due = next(self.due, self.interval, Instant::now());
    }
}

/// The next of evenly spaced times: those that have passed are left out, so that readings never
/// follow each other without pause.
fn next(due: Instant, interval: Duration, now: Instant) -> Instant {
    let next = due + interval;
    if next > now { next } else { now + interval }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_evenly_spaced_and_never_pile_up() {
        let (begin, tenth) = (Instant::now(), Duration::from_millis(100));
        let late = Duration::from_millis(30);
        assert_eq!(next(begin, tenth, begin + late), begin + tenth);
        // The supervisor was stopped for a second.
        let stopped = begin + Duration::from_secs(1);
        assert_eq!(next(begin, tenth, stopped), stopped + tenth);
    }
}
