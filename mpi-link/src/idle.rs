//! Decides how long a tool process rests between two polls of MPI.
//!
//! Cores are shared with the application: a process that spins takes them away, one that sleeps too
//! long answers late. While somebody looks or steers it is awake a thousand times a second; while
//! nobody does it rests for long, and is woken by a [bell](crate::bell) where that is possible.
//!
//! ```text
//!             rung, or work while alert
//!   asleep ------------------------------> awake: polls, then rests of 100 us to 1 ms
//!          <------------------------------
//!            the role is calm, and the first of these rests is over
//! ```

use std::time::Duration;

/// Empty polls before the first rest. Messages come in bursts; a place that rests inside one pays a
/// wake-up for each. About 200 were best on two shared cores.
pub const POLLS_BEFORE_REST: u32 = 200;
/// The same of a calm process, before its one short rest: whoever has something for it wakes it. A
/// place whose ranks fill thirty packets a second spent as much on polls as on records before.
pub const POLLS_BEFORE_SLEEP: u32 = 20;
/// The first rest: short enough to be noticed by nobody, long enough that the core goes to the
/// application.
pub const REST_FIRST: Duration = Duration::from_micros(100);
/// The longest rest of an alert process. A command passes two processes on its way down and two on
/// its way up, so that each may rest a millisecond and the command is still acknowledged within
/// five. A thousand polls a second cost 1 to 3 % of a core, mostly for waking up.
pub const REST_LONGEST: Duration = Duration::from_millis(1);
/// The longest rest of a calm process that everybody wakes who has something for it. A wake-up
/// costs some 80 us in a virtual machine: four a second are a third of a thousandth of a core.
pub const REST_CALM: Duration = Duration::from_millis(250);
/// The same of one that others cannot wake, because they are on another node: what comes from there
/// waits for so long at most.
pub const REST_UNREACHED: Duration = Duration::from_millis(20);
/// The rest of a process that only waits for the job's end, once the measurement is shut down:
/// nobody asks it anything, and a hundred polls a second cost less than a hundredth of a core.
pub const REST_SHUT_DOWN: Duration = Duration::from_millis(10);

/// What a role has to do at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Somebody looks or steers, or something is under way.
    Alert,
    /// Nothing is, and it may rest for so long.
    Calm(Duration),
}

impl Pace {
    /// That of a process with two roles.
    pub fn or_more_alert(self, other: Pace) -> Pace {
        match (self, other) {
            (Pace::Alert, _) | (_, Pace::Alert) => Pace::Alert,
            (Pace::Calm(one), Pace::Calm(two)) => Pace::Calm(one.min(two)),
        }
    }

    /// The pace of a process, by whether it is alert and whether everybody can wake it.
    pub fn of(is_alert: bool, is_woken_by_all: bool) -> Pace {
        match (is_alert, is_woken_by_all) {
            (true, _) => Pace::Alert,
            (false, true) => Pace::Calm(REST_CALM),
            (false, false) => Pace::Calm(REST_UNREACHED),
        }
    }
}

/// Counts empty polls.
#[derive(Clone, Debug, Default)]
pub struct Idle {
    empty: u32,
    rest: Option<Duration>,
    is_asleep: bool,
    shut_down: bool,
}

impl Idle {
    /// From now on every poll, fruitful or not, is followed by [`REST_SHUT_DOWN`].
    pub fn shut_down(&mut self) {
        self.shut_down = true;
    }

    /// Something comes: the next polls follow one another.
    pub fn wake(&mut self) {
        *self = Idle {
            shut_down: self.shut_down,
            ..Idle::default()
        };
    }

    /// After a poll: how long to rest before the next one, nothing where it should follow at once.
    pub fn after(&mut self, worked: bool, pace: Pace) -> Option<Duration> {
        if self.shut_down {
            return Some(REST_SHUT_DOWN);
        }
        match pace {
            // What a calm process does every now and then leads to nothing that it should wait for.
            Pace::Calm(longest) if self.is_asleep => return (!worked).then_some(longest),
            Pace::Alert if self.is_asleep => self.wake(),
            _ => {}
        }
        if worked {
            self.wake();
            return None;
        }
        let polls = match pace {
            Pace::Alert => POLLS_BEFORE_REST,
            Pace::Calm(_) => POLLS_BEFORE_SLEEP,
        };
        if self.empty < polls {
            self.empty += 1;
            return None;
        }
        let rest = match (self.rest, pace) {
            (Some(_), Pace::Calm(longest)) => {
                self.is_asleep = true;
                return Some(longest);
            }
            (Some(rest), _) => (rest * 2).min(REST_LONGEST),
            (None, _) => REST_FIRST,
        };
        self.rest = Some(rest);
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polls(idle: &mut Idle, pace: Pace) {
        let empty = match pace {
            Pace::Alert => POLLS_BEFORE_REST,
            Pace::Calm(_) => POLLS_BEFORE_SLEEP,
        };
        for _ in 0..empty {
            assert_eq!(idle.after(false, pace), None);
        }
    }

    #[test]
    fn rests_grow_to_the_longest_and_work_ends_them() {
        let mut idle = Idle::default();
        polls(&mut idle, Pace::Alert);
        let rests: Vec<_> = (0..6)
            .map(|_| idle.after(false, Pace::Alert).unwrap().as_micros())
            .collect();
        assert_eq!(rests, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(idle.after(true, Pace::Alert), None);
        assert_eq!(idle.after(false, Pace::Alert), None);
        idle.shut_down();
        assert_eq!(
            [true, false].map(|worked| idle.after(worked, Pace::Alert)),
            [Some(REST_SHUT_DOWN); 2]
        );
    }

    #[test]
    fn a_calm_process_sleeps_until_it_is_woken_or_alert() {
        let calm = Pace::of(false, true);
        let mut idle = Idle::default();
        polls(&mut idle, calm);
        let rests: Vec<_> = (0..3)
            .map(|_| idle.after(false, calm).unwrap().as_micros())
            .collect();
        assert_eq!(rests, [100, 250_000, 250_000]);
        // A heartbeat: one more look, and on it sleeps.
        assert_eq!(idle.after(true, calm), None);
        assert_eq!(idle.after(false, calm), Some(REST_CALM));
        idle.wake();
        polls(&mut idle, calm);
        assert_eq!(idle.after(false, calm), Some(REST_FIRST));

        let far = Pace::of(false, false);
        let slept: Vec<_> = (0..2).filter_map(|_| idle.after(false, far)).collect();
        assert_eq!(slept.last(), Some(&REST_UNREACHED));
        // Somebody asks: awake at once.
        assert_eq!(idle.after(false, Pace::of(true, true)), None);
        assert_eq!(idle.after(false, Pace::Alert), None);
    }
}
