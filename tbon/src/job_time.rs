//! Estimates job time: the clock of the root's node, as every other process of the tree knows it.
//!
//! ```text
//! child   --- asked ----------- received --->  own clock
//!               \               /
//! parent  ------- answered ----------------->  job time
//!
//! The answer was given somewhere in between:
//! job = answer +- its error, at (asked + received) / 2 +- (received - asked) / 2
//! ```
//!
//! A process measures its parent (Cristian's algorithm), so errors add up from the root down: half
//! a round trip per layer. Each round trip tells an interval in which the truth must lie; of all of
//! them the narrowest counts, and every one grows wider with age, because clocks drift. The
//! interval is certain as long as clocks run within [`DRIFT_PPM`] of each other, however unlike the
//! two ways are and however long a message waited. Where they do not, two measurements come to
//! contradict each other: the older one is dropped then, and errors grow from there on as fast as
//! the clocks were seen to run apart.
//!
//! Processes of one node have one clock. There nothing is measured: what the parent knows holds for
//! the child, and below a root on the same node job time is exact.

mod history;

use crate::limits::HEARTBEAT_NS;
pub use history::MARKS_MAX;
use history::{History, Mark, grown};

/// How far two nodes' clocks may run apart, in parts per million, until they are seen to do
/// otherwise: crystals of servers are within some 20, but `CLOCK_MONOTONIC` is slewed by time
/// daemons, and the kernel takes frequency corrections and those of `adjtime` up to 500.
pub const DRIFT_PPM: u64 = 500;
/// How far they can run apart at all, in parts per million: a daemon that also changes the length
/// of the kernel's tick, as chrony does after a long time without a source, may slew by so much.
pub const DRIFT_PPM_MAX: u64 = 100_000;
/// Measurements that follow one another at the start, so that the first command finds a good one.
pub const FIRST_ROUNDS: u32 = 8;
/// Between two later measurements, in ns: an error grows by half a millisecond in that time, less
/// than a round trip takes where tools and application share the cores.
pub const ASK_NS: u64 = 1_000_000_000;
/// How long a question that is due waits for a message of the parent, in ns: tool processes rest
/// for up to a millisecond between polls, and one that has just sent does not rest yet. Heartbeats
/// come within that time.
pub const AWAKE_NS: u64 = HEARTBEAT_NS + HEARTBEAT_NS / 5;
/// Before a parent that does not know the time itself is asked again, in ns.
pub const ASK_AGAIN_NS: u64 = 5_000_000;
/// Between two questions of a process whose clock is the root's, in ns. It has nothing to learn;
/// the parent hears that it is alive, several times within [`crate::limits::GONE_NS`].
pub const EXACT_ASK_NS: u64 = 5_000_000_000;
/// A round trip as long as twice this was one through a rest of the parent, which is awake now, in
/// ns: the question is repeated at once.
pub const RESTED_NS: u64 = 1_000_000;
/// How often in a row it is repeated for that.
pub const REPEATS_MAX: u32 = 3;
/// How long an answer is waited for without rest, in ns: as long as the parent may rest, and more.
const ANSWER_NS_MAX: u64 = 100_000_000;
/// When the root asks.
const NEVER_NS: u64 = u64::MAX;
/// The error of a clock that has not been measured.
pub const UNKNOWN_NS: u64 = u64::MAX;

/// What one round trip told.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// Own clock when the question was asked: the error grows from here.
    asked_ns: u64,
    /// Job time less own time.
    offset_ns: i128,
    /// How far that was off at most.
    error_ns: u64,
}

impl Measured {
    fn error_at(&self, now_ns: u64, drift_ppm: u64) -> u64 {
        grown(
            self.error_ns,
            now_ns.saturating_sub(self.asked_ns),
            drift_ppm,
        )
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Own clock is job time: the root's, or one on the root's node.
    Exact,
    /// Nothing is known yet.
    Unknown,
    Known(Measured),
}

/// A process' idea of job time. Times are in ns; own time is the process' monotonic clock and never
/// runs back.
#[derive(Clone, Debug)]
pub struct JobClock {
    state: State,
    /// The question on its way, by the time at which it was asked.
    pending_ns: Option<u64>,
    asked: bool,
    next_ask_ns: u64,
    rounds: u32,
    /// Questions repeated in a row because the parent rested.
    repeats: u32,
    /// The parent has the same clock.
    shares: bool,
    /// How far own clock and the root's may run apart, by all that was seen.
    drift_ppm: u64,
    /// What was believed before.
    history: History,
}

impl JobClock {
    /// The root's.
    pub fn root() -> JobClock {
        JobClock {
            state: State::Exact,
            pending_ns: None,
            asked: false,
            next_ask_ns: NEVER_NS,
            rounds: 0,
            repeats: 0,
            shares: false,
            drift_ppm: DRIFT_PPM,
            history: History::default(),
        }
    }

    /// That of a member in the root's process: the same clock. It asks all the same, because a
    /// member that asks is alive.
    pub fn beside_root(now_ns: u64) -> JobClock {
        JobClock {
            state: State::Exact,
            shares: true,
            ..JobClock::below(now_ns)
        }
    }

    /// Anybody else's: nothing is known, and the first question is due at once.
    pub fn below(now_ns: u64) -> JobClock {
        JobClock {
            state: State::Unknown,
            pending_ns: None,
            asked: false,
            next_ask_ns: now_ns,
            rounds: 0,
            repeats: 0,
            shares: false,
            drift_ppm: DRIFT_PPM,
            history: History::default(),
        }
    }

    /// When to ask next, if the parent says nothing before; nothing at the root.
    pub fn next_ask_ns(&self) -> Option<u64> {
        let patience_ns = if self.is_known() { AWAKE_NS } else { 0 };
        (self.next_ask_ns != NEVER_NS).then(|| self.next_ask_ns.saturating_add(patience_ns))
    }

    /// Whether an answer is to come whose way is measured: who rests now measures the rest.
    pub fn is_measuring(&self, now_ns: u64) -> bool {
        let since_ns = |asked_ns| now_ns.saturating_sub(asked_ns);
        !self.shares
            && self
                .pending_ns
                .is_some_and(|asked_ns| since_ns(asked_ns) < ANSWER_NS_MAX)
    }

    /// Whether to ask the parent now; `parent_spoke` if a message of it has just come. If so, the
    /// question counts as sent.
    pub fn ask(&mut self, now_ns: u64, parent_spoke: bool) -> bool {
        let due = match self.next_ask_ns() {
            None => false,
            // The first question does not use the occasion: it goes when it is due.
            Some(_) if parent_spoke => self.asked && now_ns >= self.next_ask_ns,
            Some(due_ns) => now_ns >= due_ns,
        };
        if due {
            self.asked = true;
            self.pending_ns = Some(now_ns);
            self.next_ask_ns = now_ns.saturating_add(ASK_NS);
        }
        due
    }

    /// Takes an answer, at once when it came. False when it belongs to no question that waits.
    pub fn answered(&mut self, now_ns: u64, asked_ns: u64, job_ns: u64, error_ns: u64) -> bool {
        if self.pending_ns != Some(asked_ns) {
            return false;
        }
        self.pending_ns = None;
        self.shares = false;
        // Rounded up: the bound must hold. The answer was given at an unknown moment of the round
        // trip, at most half of it away from the middle.
        let half_ns = now_ns.saturating_sub(asked_ns).div_ceil(2);
        let measured = Measured {
            asked_ns,
            offset_ns: i128::from(job_ns) - i128::from(asked_ns) - i128::from(half_ns),
            error_ns: error_ns.saturating_add(half_ns),
        };

        // The parent has no measurement of its own yet: its answer is of no use.
        let pause_ns = if error_ns == UNKNOWN_NS {
            ASK_AGAIN_NS
        } else {
            self.keep_better(now_ns, measured);
            self.rounds = self.rounds.saturating_add(1);
            let rested = half_ns > RESTED_NS && self.repeats < REPEATS_MAX;
            self.repeats = if rested { self.repeats + 1 } else { 0 };
            // The parent is awake: the next round of the first ones follows at once.
            if self.rounds < FIRST_ROUNDS || rested {
                0
            } else {
                ASK_NS
            }
        };

        self.next_ask_ns = now_ns.saturating_add(pause_ns);
        true
    }

    /// Takes an answer of a parent that has the same clock, given when it showed `parent_ns`. False
    /// when it belongs to no question that waits.
    pub fn shared(
        &mut self,
        now_ns: u64,
        asked_ns: u64,
        parent_ns: u64,
        job_ns: u64,
        error_ns: u64,
    ) -> bool {
        if self.pending_ns != Some(asked_ns) {
            return false;
        }
        self.pending_ns = None;
        self.shares = true;
        let new = Measured {
            asked_ns: parent_ns,
            offset_ns: i128::from(job_ns) - i128::from(parent_ns),
            error_ns,
        };
        let pause_ns = match error_ns {
            UNKNOWN_NS => ASK_AGAIN_NS,
            0 if job_ns == parent_ns => {
                self.state = State::Exact;
                self.history = History::default();
                EXACT_ASK_NS
            }
            _ => {
                // The parent's newest is its best.
                let apart_ns = match self.state {
                    State::Known(old) => self.apart(now_ns, old, new).inspect(|&apart_ns| {
                        self.ran_apart(old, new, apart_ns);
                    }),
                    _ => None,
                };
                self.believe(new, apart_ns);
                ASK_NS
            }
        };
        self.next_ask_ns = now_ns.saturating_add(pause_ns);
        true
    }

    fn keep_better(&mut self, now_ns: u64, new: Measured) {
        if matches!(self.state, State::Exact) {
            return;
        }
        let mut apart_ns = None;
        if let State::Known(old) = self.state {
            apart_ns = self.apart(now_ns, old, new);
            match apart_ns {
                Some(apart_ns) => self.ran_apart(old, new, apart_ns),
                // The older one is still the narrower of the two, in spite of its age.
                None if old.error_at(now_ns, self.drift_ppm)
                    < new.error_at(now_ns, self.drift_ppm) =>
                {
                    return;
                }
                None => {}
            }
        }

        self.believe(new, apart_ns);
    }

    fn believe(&mut self, new: Measured, apart_ns: Option<u128>) {
        self.state = State::Known(new);
        self.history.add(Mark {
            own_ns: new.asked_ns,
            offset_ns: new.offset_ns,
            error_ns: new.error_ns,
            drift_ppm: self.drift_ppm,
            jump_ns: apart_ns.map_or(0, |ns| u64::try_from(ns).unwrap_or(UNKNOWN_NS)),
        });
    }

    /// How far two measurements are apart that cannot both be true because they do not even touch:
    /// a clock is slewed, or was set.
    fn apart(&self, now_ns: u64, old: Measured, new: Measured) -> Option<u128> {
        let error_ns = |one: Measured| u128::from(one.error_at(now_ns, self.drift_ppm));
        let apart_ns = old.offset_ns.abs_diff(new.offset_ns);
        (apart_ns > error_ns(old) + error_ns(new)).then_some(apart_ns)
    }

    /// Lets errors grow as fast as the clocks can have run apart between two measurements.
    fn ran_apart(&mut self, old: Measured, new: Measured, apart_ns: u128) {
        let errors_ns = u128::from(old.error_ns) + u128::from(new.error_ns);
        // They ran apart during the round trips, too, each at most twice its error long.
        let meanwhile_ns = (2 * errors_ns * u128::from(DRIFT_PPM_MAX)).div_ceil(1_000_000);
        let apart_ns_max = apart_ns + errors_ns + meanwhile_ns;
        // At least 1, as it is a divisor.
        let between_ns = u128::from(new.asked_ns.saturating_sub(old.asked_ns)).max(1);
        let ppm = apart_ns_max.saturating_mul(1_000_000).div_ceil(between_ns);
        let ppm = u64::try_from(ppm).unwrap_or(u64::MAX);
        self.drift_ppm = self.drift_ppm.max(ppm.min(DRIFT_PPM_MAX));
    }

    /// How far own clock and the root's are taken to run apart, in parts per million:
    /// [`DRIFT_PPM`], and more once they were seen to.
    pub fn drift_ppm(&self) -> u64 {
        self.drift_ppm
    }

    /// Job time at own time `now_ns`. Before the first measurement own time is taken for it. It may
    /// step back by the error when a better measurement is made.
    pub fn job_ns(&self, now_ns: u64) -> u64 {
        shifted(now_ns, self.offset_ns())
    }

    /// How far [`JobClock::job_ns`] may be off: nothing at the root, [`UNKNOWN_NS`] before the
    /// first measurement.
    pub fn error_ns(&self, now_ns: u64) -> u64 {
        match self.state {
            State::Exact => 0,
            State::Unknown => UNKNOWN_NS,
            State::Known(measured) => measured.error_at(now_ns, self.drift_ppm),
        }
    }

    /// Whether job time is known at all.
    pub fn is_known(&self) -> bool {
        !matches!(self.state, State::Unknown)
    }

    /// Job time when own clock showed `own_ns`, a while ago: by what was measured around then.
    pub fn job_at(&self, own_ns: u64) -> u64 {
        let offset_ns = self.history.offset_ns(own_ns);
        shifted(own_ns, offset_ns.unwrap_or_else(|| self.offset_ns()))
    }

    /// How far times of events since `own_ns` may be off.
    pub fn error_since_ns(&self, own_ns: u64, now_ns: u64) -> u64 {
        match self.state {
            State::Exact => 0,
            _ => self.error_ns(now_ns).max(self.history.error_ns(own_ns)),
        }
    }

    /// Own time at job time `job_ns`, by what is known now.
    pub fn from_job(&self, job_ns: u64) -> u64 {
        match self.history.own_ns(job_ns) {
            Some(own_ns) => shifted(0, own_ns),
            None => shifted(job_ns, -self.offset_ns()),
        }
    }

    fn offset_ns(&self) -> i128 {
        match self.state {
            State::Exact | State::Unknown => 0,
            State::Known(measured) => measured.offset_ns,
        }
    }
}

fn shifted(ns: u64, by_ns: i128) -> u64 {
    // Limits of a u64, not of any real clock: a damaged answer must not bring the process down.
    (i128::from(ns) + by_ns).clamp(0, i128::from(u64::MAX)) as u64
}
