//! The state machine of the shutdown at the end of a job: which step comes when.
//!
//! Pure: time is an argument, steps come out.
//!
//! ```text
//! Observing -- a rank died --> Settling -- quiet --> Asking --> Reporting --> Reported --> Left
//! (where what the buffers hold is to be saved, that comes first: Saving --> Asking)
//!     |                                                ^
//!     +-- all drained, somebody asks for the end,      |
//!         or the measurement is shut down -------------+
//!                                                      |
//!                     all drained, early result -------+
//! ```
//!
//! *Reported* is where the ranks' supervisors and the tool processes may exit: by then the last
//! queries are answered and our supervisor has the result, so that a launcher may kill all
//! processes. After a death the other ranks may go on for a while, if the launcher lets them; there
//! is one result all the same. Likewise after a shutdown of the measurement, where all ranks go on:
//! the gateway is closed then, and the tool processes stay until the ranks exit.
//!
//! SIGTERM may be followed by SIGKILL, so the result is made early then. But a program may save its
//! work first, for as long as the launcher lets it: the tool processes stay until the ranks exit
//! then as well, and make a second result in place of the early one.

use invivo_tbon::limits::WAVE_NS_PER_LAYER;

/// How long no further rank must have died before the result is made: ranks that die together (a
/// signal to all, an assertion that all reach) do so within some tens of milliseconds.
pub const QUIET_NS: u64 = 250_000_000;
/// The longest that the result waits for further deaths; supervisors wait ten seconds.
pub const SETTLE_NS_MAX: u64 = 2_000_000_000;
/// The longest that the last answers may take in a tree of few layers.
pub const ANSWERS_NS_MAX: u64 = 5_000_000_000;
/// The longest that our supervisor may take to deal with the result.
pub const REPORT_NS_MAX: u64 = 5_000_000_000;
/// How long the last answers may take once the end was requested: launchers kill after a few
/// seconds, MPICH's after less.
pub const HURRY_NS: u64 = 450_000_000;
/// How long the supervisors of ranks may take to attach to the process that salvages what a dead
/// one left: they try it fifty times a second.
pub const SALVAGE_NS: u64 = 3_000_000_000;
/// How long the last queries wait then for the ranks, which got the same signal.
pub const HURRIED_QUIET_NS: u64 = 100_000_000;

/// The longest that a save before the last questions may take: the ranks wait in `MPI_Finalize`.
pub const SAVE_NS_MAX: u64 = 120_000_000_000;
/// The same after a death: supervisors of dead ranks wait ten seconds.
pub const SAVE_AFTER_DEATH_NS_MAX: u64 = 6_000_000_000;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Let our supervisor save what the buffers hold; questions are answered meanwhile.
    Save,
    /// Ask the last questions.
    Ask,
    /// Write the result, with the answers that came.
    Write,
    /// Nothing is measured any more: let the gateway go.
    CloseGateway,
    /// Let the supervisors of dead ranks leave.
    Release,
    /// Let every tool process leave, and leave.
    Leave {
        /// Through `MPI_Finalize`: nobody died, so nobody is missing there.
        finalize: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Observing,
    Settling { first_ns: u64, last_ns: u64 },
    Saving { until_ns: u64 },
    Asking { until_ns: u64 },
    Reporting { until_ns: u64 },
    Reported,
    Left,
}

/// Where the root is in the shutdown, and what it waits for.
#[derive(Debug)]
pub struct Shutdown {
    phase: Phase,
    abnormal: bool,
    /// Ranks that died.
    died: u32,
    /// Ranks of the job.
    ranks: u32,
    drained: bool,
    hurried_ns: Option<u64>,
    /// Since when there is nothing to observe, but what a dead process left to be taken.
    salvaged_ns: Option<u64>,
    /// The result under way, or the last one, is the early one.
    early: bool,
    /// The result under way, or the last one, follows an early one.
    second: bool,
    /// What the buffers hold is still to be saved.
    to_save: bool,
    saved: bool,
    answered: bool,
    answers_ns_max: u64,
    report_done: bool,
    release: bool,
    shut_down: bool,
    gateway_closed: bool,
}

impl Shutdown {
    /// Of a tree of this height over so many ranks: it gives up on silent members after a second
    /// per layer, and the answers of the others are waited for.
    pub fn new(height: u32, ranks: u32) -> Shutdown {
        let layers_ns = WAVE_NS_PER_LAYER.saturating_mul(u64::from(height) + 1);
        Shutdown {
            phase: Phase::Observing,
            abnormal: false,
            died: 0,
            ranks,
            drained: false,
            hurried_ns: None,
            salvaged_ns: None,
            early: false,
            second: false,
            to_save: false,
            saved: false,
            answered: false,
            answers_ns_max: ANSWERS_NS_MAX.max(layers_ns),
            report_done: false,
            release: false,
            shut_down: false,
            gateway_closed: false,
        }
    }

    /// What the buffers hold is to be saved before the last questions.
    pub fn save_first(&mut self) {
        self.to_save = true;
    }

    /// Whether that is under way.
    pub fn is_saving(&self) -> bool {
        matches!(self.phase, Phase::Saving { .. })
    }

    /// It is over, or never will be.
    pub fn saved(&mut self) {
        self.saved = true;
    }

    /// Whether the last questions have been asked: no others are answered any more.
    pub fn has_begun(&self) -> bool {
        let is_before = matches!(self.phase, Phase::Observing | Phase::Settling { .. });
        !is_before && !self.is_saving()
    }

    /// A rank died.
    pub fn rank_ended(&mut self, now_ns: u64) {
        self.abnormal = true;
        self.died += 1;
        self.release = true;
        self.phase = match self.phase {
            Phase::Observing => Phase::Settling {
                first_ns: now_ns,
                last_ns: now_ns,
            },
            Phase::Settling { first_ns, .. } => Phase::Settling {
                first_ns,
                last_ns: now_ns,
            },
            Phase::Saving { until_ns } => Phase::Saving {
                until_ns: until_ns.min(now_ns + SAVE_AFTER_DEATH_NS_MAX),
            },
            // The last queries are out already and do not wait for further deaths.
            later => later,
        };
    }

    /// Whether nothing of the end is under way: all goes on, or all is said and somebody lives on.
    pub fn is_quiet(&self) -> bool {
        let is_observing = matches!(self.phase, Phase::Observing);
        is_observing && !self.is_hurried() && self.salvaged_ns.is_none()
    }

    /// Whether a rank died, or the end was requested.
    pub fn is_abnormal(&self) -> bool {
        self.abnormal
    }

    /// Whether the end was requested.
    pub fn is_hurried(&self) -> bool {
        self.hurried_ns.is_some()
    }

    /// Every rank is through.
    pub fn all_drained(&mut self) {
        self.drained = true;
    }

    /// The end is requested (a signal).
    pub fn end_asked(&mut self, now_ns: u64) {
        if self.hurried_ns.is_some() {
            return;
        }
        self.hurried_ns = Some(now_ns);
        self.abnormal = true;
        // Answers may be under way already with the usual time: from here on they have less.
        if let Phase::Asking { until_ns } = &mut self.phase {
            *until_ns = (*until_ns).min(now_ns + HURRY_NS);
        }
    }

    /// What a dead tool process left is taken: there is one result, as soon as all of it is.
    pub fn salvage(&mut self, now_ns: u64) {
        self.salvaged_ns = Some(now_ns);
        self.abnormal = true;
    }

    /// Whether the last queries were made because the end was requested, while ranks were alive:
    /// once all are through, there is a second result.
    pub fn is_early(&self) -> bool {
        self.early
    }

    /// Whether the result under way follows an early one, of a job that came through all the same.
    pub fn is_second_in_health(&self) -> bool {
        self.second && self.died == 0
    }

    /// The measurement is over, the job goes on.
    pub fn measurement_shut_down(&mut self) {
        self.shut_down = true;
    }

    /// Whether the measurement was shut down.
    pub fn is_measurement_over(&self) -> bool {
        self.shut_down
    }

    /// Whether there is nothing to do any more but to wait for the ranks' end.
    pub fn is_idle(&self) -> bool {
        self.gateway_closed
    }

    /// All last questions are answered.
    pub fn all_answered(&mut self) {
        self.answered = true;
    }

    /// Our supervisor has dealt with the result, or never will.
    pub fn report_done(&mut self) {
        // A late confirmation of the early result must not count for the second.
        self.report_done |= matches!(self.phase, Phase::Reporting { .. });
    }

    /// The next step, if it is time for one.
    pub fn next(&mut self, now_ns: u64) -> Option<Step> {
        match self.phase {
            Phase::Observing if self.drained || self.is_late(now_ns) || self.shut_down => {
                Some(self.save_or_ask(now_ns))
            }
            // Of ranks whose supervisors have not come the report says that they are missing.
            Phase::Observing if self.is_salvage_over(now_ns) => Some(self.ask(now_ns)),
            Phase::Settling { first_ns, last_ns } => {
                // A wave of deaths ends with a quiet time; a slow trickle is cut off.
                let settled = now_ns.saturating_sub(last_ns) >= QUIET_NS
                    || now_ns.saturating_sub(first_ns) >= SETTLE_NS_MAX;
                (settled || self.drained || self.is_late(now_ns) || self.shut_down)
                    .then(|| self.save_or_ask(now_ns))
            }
            Phase::Saving { until_ns }
                if self.saved || now_ns >= until_ns || self.is_late(now_ns) =>
            {
                Some(self.ask(now_ns))
            }
            Phase::Asking { until_ns } if self.answered || now_ns >= until_ns => {
                self.phase = Phase::Reporting {
                    until_ns: now_ns + REPORT_NS_MAX,
                };
                Some(Step::Write)
            }
            Phase::Reporting { until_ns } if self.report_done || now_ns >= until_ns => {
                self.phase = Phase::Reported;
                self.next(now_ns)
            }
            // One step at a time: the caller asks again until there is none.
            Phase::Reported if self.shut_down && !self.gateway_closed => {
                self.gateway_closed = true;
                Some(Step::CloseGateway)
            }
            Phase::Reported if std::mem::take(&mut self.release) => Some(Step::Release),
            // The early result was for the case of a SIGKILL that did not come: make the real one.
            Phase::Reported if self.drained && self.early => {
                (self.answered, self.report_done, self.second) = (false, false, true);
                Some(self.ask(now_ns))
            }
            // The ranks go on, and nobody observes them.
            Phase::Reported if self.drained || self.salvaged_ns.is_some() => {
                // With a dead rank MPI_Finalize would wait for it, or fail.
                self.phase = Phase::Left;
                Some(Step::Leave {
                    finalize: self.died == 0,
                })
            }
            _ => None,
        }
    }

    /// Whether the ranks have had [`HURRIED_QUIET_NS`] since the end was requested.
    fn is_late(&self, now_ns: u64) -> bool {
        self.hurried_ns
            .is_some_and(|since| now_ns.saturating_sub(since) >= HURRIED_QUIET_NS)
    }

    /// Whether what has not come by now never will.
    fn is_salvage_over(&self, now_ns: u64) -> bool {
        self.salvaged_ns
            .is_some_and(|since| now_ns.saturating_sub(since) >= SALVAGE_NS)
    }

    fn save_or_ask(&mut self, now_ns: u64) -> Step {
        // Whoever asked for the end may kill us soon: the report is worth more.
        if !std::mem::take(&mut self.to_save) || self.is_hurried() {
            return self.ask(now_ns);
        }
        let most = match self.died {
            0 => SAVE_NS_MAX,
            _ => SAVE_AFTER_DEATH_NS_MAX,
        };
        self.phase = Phase::Saving {
            until_ns: now_ns + most,
        };
        Step::Save
    }

    fn ask(&mut self, now_ns: u64) -> Step {
        // Early only while ranks live: with all of them dead or drained nothing can follow.
        self.early = self.is_hurried() && !self.drained && self.died < self.ranks;
        self.phase = Phase::Asking {
            until_ns: now_ns + self.bound(self.answers_ns_max),
        };
        Step::Ask
    }

    fn bound(&self, usual_ns: u64) -> u64 {
        // Ranks that went on when they were asked to end, and came through, wait in `MPI_Finalize`.
        let has_time = !self.is_hurried() || self.is_second_in_health();
        if has_time { usual_ns } else { HURRY_NS }
    }
}

#[cfg(test)]
mod tests;
