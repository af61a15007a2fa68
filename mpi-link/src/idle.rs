//! Decides how long a tool process rests between two polls of MPI.
//!
//! Cores are shared with the application: a process that spins takes them away, one that sleeps too
//! long answers late.

use std::time::Duration;

/// Empty polls before the first rest. Messages come in bursts; a place that rests inside one pays a
/// wake-up for each. About 200 were best on two shared cores.
pub const POLLS_BEFORE_REST: u32 = 200;
/// The first rest: short enough to be noticed by nobody, long enough that the core goes to the
/// application.
pub const REST_FIRST: Duration = Duration::from_micros(100);
/// The longest rest. A command passes two processes on its way down and two on its way up, so that
/// each may rest a millisecond and the command is still acknowledged within five. A thousand polls
/// a second cost 1 to 3 % of a core, mostly for waking up.
pub const REST_LONGEST: Duration = Duration::from_millis(1);
/// The rest of a process that only waits for the job's end, once the measurement is shut down:
/// nobody asks it anything, and a hundred polls a second cost less than a thousandth of a core.
pub const REST_SHUT_DOWN: Duration = Duration::from_millis(10);

/// Counts empty polls.
#[derive(Clone, Debug, Default)]
pub struct Idle {
    empty: u32,
    rest: Option<Duration>,
    shut_down: bool,
}

impl Idle {
    /// From now on every poll, fruitful or not, is followed by [`REST_SHUT_DOWN`].
    pub fn shut_down(&mut self) {
        self.shut_down = true;
    }

    /// After a poll: how long to rest before the next one, nothing where it should follow at once.
    pub fn after(&mut self, worked: bool) -> Option<Duration> {
        if self.shut_down {
            return Some(REST_SHUT_DOWN);
        }
        if worked {
            *self = Idle::default();
            return None;
        }
        if self.empty < POLLS_BEFORE_REST {
            self.empty += 1;
            return None;
        }
        let rest = self
            .rest
            .map_or(REST_FIRST, |rest| (rest * 2).min(REST_LONGEST));
        self.rest = Some(rest);
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_to_the_longest_and_work_ends_them() {
        let mut idle = Idle::default();
        for _ in 0..POLLS_BEFORE_REST {
            assert_eq!(idle.after(false), None);
        }
        let rests: Vec<_> = (0..6)
            .map(|_| idle.after(false).unwrap().as_micros())
            .collect();
        assert_eq!(rests, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(idle.after(true), None);
        assert_eq!(idle.after(false), None);
        idle.shut_down();
        assert_eq!(
            [idle.after(true), idle.after(false)],
            [Some(REST_SHUT_DOWN); 2]
        );
    }
}
