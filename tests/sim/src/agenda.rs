//! The event queue: events in the order of their times, and of two at the same time the one noted
//! first.

use std::collections::BTreeMap;

/// Virtual nanoseconds.
pub type Time = u64;
/// A virtual millisecond.
pub const MS: Time = 1_000_000;
/// A virtual second.
pub const SECOND: Time = 1000 * MS;

/// The events to come.
#[derive(Debug)]
pub struct Agenda<E> {
    events: BTreeMap<(Time, u64), E>,
    noted: u64,
    now: Time,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Agenda {
            events: BTreeMap::new(),
            noted: 0,
            now: 0,
        }
    }
}

impl<E> Agenda<E> {
    /// The time of the event taken last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events so far, those to come included.
    pub fn noted(&self) -> u64 {
        self.noted
    }

    /// Lets `event` happen at `time`, or now where that is past.
    pub fn at(&mut self, time: Time, event: E) {
        // The running number makes the order of simultaneous events part of the case.
        self.events.insert((time.max(self.now), self.noted), event);
        self.noted += 1;
    }

    /// The next event.
    pub fn take(&mut self) -> Option<E> {
        let ((time, _), event) = self.events.pop_first()?;
        self.now = time;
        Some(event)
    }
}
