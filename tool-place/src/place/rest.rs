//! When a place may rest for long, what wakes it then, and what it has to catch up with afterwards.
//!
//! A calm place looks at shared memory twice a second instead of a hundred times. Its ranks wake it
//! when packets wait, so that no burst has to find room while it rests.

use super::Place;
use super::local_rank::Life;
use crate::rank::Eagerness;
use crate::time_point::{LATENCY_NS, Now};
use invivo_analysis::history::PIECE_NS;
use invivo_mpi_link::idle::{Pace, REST_CALM, REST_UNREACHED};
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::whereabouts::Whereabouts;
use rustix::process::getpid;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

impl Place {
    /// In a process that runs here, of which the parent is told.
    #[must_use]
    pub fn located(mut self, here: Whereabouts) -> Place {
        self.tree = self.tree.located(here);
        self
    }

    /// How the place may rest.
    pub fn pace(&self, now: Now) -> Pace {
        if self.is_alert(now) {
            return Pace::Alert;
        }
        let longest = match self.tree.is_woken_by_all() && !self.has_peers() {
            true => REST_CALM,
            false => REST_UNREACHED,
        };
        // A piece of the run ends in time, so that what follows counts in the next one.
        let job_ns = self.local.time_point(now, self.tree.clock()).job_ns();
        let left_ns = PIECE_NS - job_ns % PIECE_NS;
        Pace::Calm(longest.min(Duration::from_nanos(left_ns)))
    }

    /// Whether other places tell this one what their ranks did with ours: they ring at nobody.
    fn has_peers(&self) -> bool {
        let on = self.local.feed.analyses.switches.on();
        let of_several = [Analysis::Messages, Analysis::WaitStates];
        self.local.layout.places() > 1 && of_several.iter().any(|one| on.contains(*one))
    }

    /// Whether something has to be done in time, or one of the ranks cannot wake this process.
    fn is_alert(&self, now: Now) -> bool {
        let is_quiet = |life| matches!(life, Life::Alive | Life::Finished);
        !self.is_ready
            || self.tree.is_alert(now)
            || (self.has_peers() && self.tree.is_followed(now))
            || !self.commands.pauses.is_at_rest()
            || self.commands.selecting.is_pending()
            || self.end.is_pressing(self.local.are_through(false))
            || self.groups.is_expecting(now.ns)
            || self.local.feed.is_lost
            || !self
                .local
                .ranks
                .iter()
                .all(|one| is_quiet(one.life) && one.rings)
    }

    /// The parent's process, where it can be woken from here.
    pub fn parent_pid(&self) -> Option<u32> {
        self.tree.parent_pid()
    }

    /// Asks the ranks to wake this process when packets wait. Whether one of them had to be asked.
    pub fn ask_to_be_woken(&mut self) -> bool {
        let own = getpid().as_raw_pid().cast_unsigned();
        let mut asked = false;
        for memory in self.local.ranks.iter().filter_map(|one| one.memory()) {
            let bell = &memory.page().control.bell;
            // The look first: the line is one that the rank reads at each call.
            if bell.load(Ordering::Relaxed) != own {
                bell.store(own, Ordering::Relaxed);
                asked = true;
            }
        }
        // Whoever does not see the bell yet has its packets seen by the look that follows.
        fence(Ordering::SeqCst);
        asked
    }

    /// Whether the ranks' shared memory is to be looked through now.
    pub(super) fn is_time_to_look(&mut self, now: Now) -> bool {
        if self.is_alert(now) {
            return self.looks.is_due(now.ns);
        }
        let is_due = self.calm_looks.is_due(now.ns);
        if is_due {
            self.looks.done(now.ns);
        }
        is_due
    }

    /// Takes what was recorded while the place rested: an answer is as late as the latency bound
    /// at most.
    pub(super) fn catch_up(&mut self, now: Now) {
        if !self.is_ready || self.is_over() || self.looks.since_ns(now.ns) < LATENCY_NS {
            return;
        }
        self.look_now(now);
    }

    /// Where a piece of the run is over: takes what was recorded in it, and counts anew.
    pub(super) fn end_piece(&mut self, now: Now) {
        if self.is_over() || !self.local.feed.analyses.is_piece_over() {
            return;
        }
        self.look_now(now);
        self.local.feed.analyses.end_piece();
    }

    fn look_now(&mut self, now: Now) {
        self.looks.done(now.ns);
        for one in &mut self.local.ranks {
            if one.life == Life::Alive {
                let feed = &mut self.local.feed;
                one.records.peek(now.ns, now.ticks, Eagerness::Now, feed);
            }
        }
    }
}
