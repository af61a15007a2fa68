//! A recording command under way, from its arrival to its acknowledgement.

use super::action::RecordingAction;
use crate::cuts::CutNumber;
use crate::time_point::TimePoint;
use invivo_proto::control::tree::{Acks, Cut, FAILURES_MAX};
use invivo_proto::ids::{CommandId, Rank};
use std::collections::BTreeSet;
use std::ops::Range;

/// What a command waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// A switch of recording that clips nothing: its cut.
    Cut,
    /// A reset, or a switch that clips: its cut, and one look at each rank.
    Glance,
    /// A window or the end: until everything is taken.
    All,
}

/// A command under way.
#[derive(Debug)]
pub(super) struct Asked {
    pub command: CommandId,
    pub wait: Wait,
    pub began_ns: u64,
    /// Job time from which on it can be done.
    pub due_job_ns: u64,
    pub waiting: BTreeSet<Rank>,
    /// The numbers of its cuts.
    pub cuts: Range<CutNumber>,
    /// Of a window: its end in job time, as requested.
    pub window_to_ns: Option<u64>,
    pub acks: Acks,
}

impl Asked {
    /// It begins, or happens, at this cut.
    pub fn from(&mut self, cut: Cut) {
        self.due_job_ns = cut.latest_ns;
        self.acks.from = Some(cut);
    }

    pub fn done(&mut self, now_ns: u64, rank: Rank) {
        let took = now_ns.saturating_sub(self.began_ns);
        self.acks.done += 1;
        if self.acks.slowest.is_none_or(|(_, slowest)| took > slowest) {
            self.acks.slowest = Some((rank, took));
        }
    }

    /// Its ranks began to record later than at the cut that began it.
    pub fn begins_at(&mut self, job_ns: u64) {
        for cut in self.acks.from.iter_mut().chain(&mut self.acks.to) {
            cut.earliest_ns = cut.earliest_ns.max(job_ns);
            cut.latest_ns = cut.latest_ns.max(job_ns);
        }
        // A window that became shorter than nothing is due at its new beginning.
        self.due_job_ns = self.due_job_ns.max(job_ns);
    }

    /// Until a cut has passed it moves with what is known of job time, and so does its error.
    pub fn refine(&mut self, moment: &TimePoint<'_>) {
        let cuts = self.acks.from.iter_mut().chain(&mut self.acks.to);
        for cut in cuts.filter(|cut| moment.job_ns() <= cut.latest_ns) {
            cut.error_ns = moment.error_ns();
        }
    }

    /// Whether its cuts clip calls: those of the end of the measurement do not.
    pub fn clips(&self) -> bool {
        self.wait == Wait::Glance || self.window_to_ns.is_some()
    }

    pub fn answer(mut self, moment: &TimePoint<'_>) -> RecordingAction {
        if self.acks.to.is_some() {
            self.acks.complete_ns = moment.job_ns();
        }
        RecordingAction::Ack {
            command: self.command,
            acks: self.acks,
        }
    }
}

pub(super) fn fail(acks: &mut Acks, rank: Rank, why: &str) {
    // An acknowledgement has a bounded size; how many failed follows from `targets` and `done`.
    if acks.failures.len() < FAILURES_MAX {
        acks.failures.push((rank, why.to_owned()));
    }
}
