//! Decides about reset, recording on and off, windows and the end of the measurement.
//!
//! Which cuts follow from a command, when it is done on this place's ranks, what is refused, and
//! what is acknowledged. Pure: time is an argument, actions come out.
//!
//! A command says where in job time to cut. The cut itself is made where records are read
//! ([`Cuts`]); the ranks are only told to record or not: on as soon as a command wants records, off
//! when the cut has passed. A command is done when its cut has passed and the ranks have been
//! looked at behind it; a window and the end of the measurement when, on every rank, everything up
//! to there has been taken.
//!
//! Whatever a command does here it does at every place, so that their ranks never differ for longer
//! than commands take to arrive: it follows from the job times and the order of commands alone,
//! never from how far this place is. The root refuses what must not come together (a reset while a
//! window is recorded). A switch of recording ends a window early if it lies before the window's
//! end. Before job time is known commands wait.

mod action;
mod plan;
mod requested;

pub use action::RecordingAction;

use crate::cuts::{Change, CutNumber, Cuts};
use crate::time_point::TimePoint;
use invivo_proto::control::results::{RecordingStatus, WindowStatus};
use invivo_proto::control::tree::{Acks, Command, Verb};
use invivo_proto::ids::{CommandId, Rank};
use invivo_proto::rank_set::RankSet;
use plan::{begin_unobserved, plan};
use requested::{Asked, Wait, fail};
use std::collections::BTreeSet;
use std::ops::Range;

/// The ranks are to be looked at, for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Which command.
    pub command: CommandId,
    /// Calls that began before this and have not ended straddle it; what ended before is to be
    /// taken. In ticks.
    pub at: u64,
    /// The command's cuts.
    pub cuts: Range<CutNumber>,
    /// Ranks that are still to be looked at.
    pub ranks: BTreeSet<Rank>,
}

/// What a look at one rank showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Everything that ended before the point is taken.
    pub all_taken: bool,
    /// Calls that are open and began before it.
    pub open: u64,
    /// Calls that have ended and were clipped by the command's cuts.
    pub clipped: u64,
}

/// The commands about recording that are under way, and what is in force.
#[derive(Debug)]
pub struct Recording {
    ranks: RankSet,
    /// Commands that came before job time was known, in their order.
    early: Vec<Command>,
    asked: Vec<Asked>,
    window: Option<WindowStatus>,
    begun: bool,
    /// The ranks are switched to record.
    on: bool,
    /// They were switched on since the last call of [`Recording::switched`].
    began: bool,
    /// They were switched to another epoch since then.
    begins_epoch: bool,
    /// The epoch that they are switched to.
    epoch: u32,
    shut_down: bool,
}

impl Recording {
    /// Of a place with these ranks, which record from the start.
    pub fn new(ranks: impl Into<RankSet>) -> Recording {
        Recording {
            ranks: ranks.into(),
            early: Vec::new(),
            asked: Vec::new(),
            window: None,
            begun: false,
            on: true,
            began: false,
            begins_epoch: false,
            epoch: 0,
            shut_down: false,
        }
    }

    /// Of a place that has nothing any more: the measurement is over there.
    pub fn over(ranks: RankSet) -> Recording {
        Recording {
            begun: true,
            on: false,
            shut_down: true,
            ..Recording::new(ranks)
        }
    }

    /// The job begins, recorded or not. What was recorded before the ranks could be told is
    /// forgotten.
    pub fn begin(
        &mut self,
        moment: &TimePoint<'_>,
        cuts: &mut Cuts,
        on: bool,
    ) -> Vec<RecordingAction> {
        if !on {
            begin_unobserved(moment.ticks(), cuts);
        }
        self.begun = true;
        self.on = on;
        vec![RecordingAction::Switch {
            on,
            epoch: self.epoch,
        }]
    }

    /// What ranks that attach now are switched to: whether to record, and the epoch. Nothing before
    /// the job has begun.
    pub fn told(&self) -> Option<(bool, u32)> {
        self.begun.then_some((self.on, self.epoch))
    }

    /// Whether the measurement has ended, everything is taken, and that is acknowledged.
    pub fn is_over(&self) -> bool {
        self.shut_down && self.asked.is_empty()
    }

    /// Whether the command that ends the measurement has come.
    pub fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    /// A command came from the root: a reset, a switch of recording, a window or the end.
    pub fn command(
        &mut self,
        moment: &TimePoint<'_>,
        cuts: &mut Cuts,
        command: &Command,
    ) -> Vec<RecordingAction> {
        if !moment.is_known() {
            self.early.push(command.clone());
            return Vec::new();
        }
        let mut actions = self.apply(moment, cuts, command);
        actions.extend(self.step(moment, cuts));
        actions
    }

    fn apply(
        &mut self,
        moment: &TimePoint<'_>,
        cuts: &mut Cuts,
        command: &Command,
    ) -> Vec<RecordingAction> {
        if self.shut_down {
            return vec![RecordingAction::Ack {
                command: command.id,
                acks: self.failed("the measurement has been shut down"),
            }];
        }

        // What has passed takes effect first, so that the new cuts come behind it.
        cuts.retime(|job_ns| moment.ticks_of(job_ns));
        cuts.pass(moment.ticks());
        let mut actions = Vec::new();
        let first_cut = cuts.next_number();
        let mut asked = Asked {
            command: command.id,
            wait: Wait::Glance,
            began_ns: moment.ns(),
            due_job_ns: 0,
            waiting: self.ranks.iter().collect(),
            cuts: first_cut..first_cut,
            window_to_ns: None,
            acks: Acks {
                targets: self.ranks.len() as u32,
                ..Acks::default()
            },
        };

        match command.verb {
            Verb::Reset { at_ns } => asked.from(plan(moment, cuts, at_ns, &[Change::Reset])),
            Verb::Record { on, epoch, at_ns } => {
                actions.extend(self.interrupt(moment, cuts, command.id, at_ns));
                // What is on stays on, and what is switched off counts whole: no call is clipped.
                if !on || cuts.will_be_on() {
                    asked.wait = Wait::Cut;
                }
                let change = if on { Change::On(epoch) } else { Change::Off };
                asked.from(plan(moment, cuts, at_ns, &[change]));
            }
            Verb::Window {
                from_ns,
                to_ns,
                epoch,
            } => {
                let from = plan(moment, cuts, from_ns, &[Change::Reset, Change::On(epoch)]);
                // A window that could not begin in time ends in time all the same.
                let to = plan(moment, cuts, to_ns, &[Change::End]);
                asked.window_to_ns = Some(to_ns);
                asked.from(from);
                asked.acks.to = Some(to);
                asked.due_job_ns = to.latest_ns;
                asked.wait = Wait::All;
                self.window = Some(WindowStatus {
                    command: command.id,
                    from_ns,
                    to_ns,
                    complete: 0,
                });
            }
            Verb::Shutdown => {
                // From here on other commands about recording are refused, and a window ends here.
                self.shut_down = true;
                actions.extend(self.interrupt(moment, cuts, command.id, moment.job_ns()));
                asked.due_job_ns = plan(moment, cuts, 0, &[Change::Off]).latest_ns;
                asked.wait = Wait::All;
            }
            Verb::Pause { .. }
            | Verb::Resume
            | Verb::Hold { .. }
            | Verb::Strategy { .. }
            | Verb::Analyses { .. }
            | Verb::Sampling { .. }
            | Verb::Select { .. }
            | Verb::Metrics(_) => {
                return actions;
            }
        }

        asked.cuts = first_cut..cuts.next_number();
        self.asked.push(asked);
        actions
    }

    /// The ranks record since this moment at the latest. Where they could not be told before a
    /// beginning, that lies here now, and its command says so. Gives whether an epoch has begun:
    /// the job's first one has not, it is what ranks are in before they are told anything.
    pub fn switched(&mut self, moment: &TimePoint<'_>, cuts: &mut Cuts) -> bool {
        let begins_epoch = std::mem::take(&mut self.begins_epoch);
        if !std::mem::take(&mut self.began) {
            return begins_epoch;
        }
        if let Some(moved) = cuts.begin_at(moment.ticks(), moment.job_ns())
            && let Some(asked) = self
                .asked
                .iter_mut()
                .find(|asked| asked.cuts.contains(&moved))
        {
            asked.begins_at(moment.job_ns());
        }
        begins_epoch
    }

    /// Time has passed.
    pub fn step(&mut self, moment: &TimePoint<'_>, cuts: &mut Cuts) -> Vec<RecordingAction> {
        let mut actions = Vec::new();
        if moment.is_known() {
            for command in std::mem::take(&mut self.early) {
                actions.extend(self.apply(moment, cuts, &command));
            }
        }
        for asked in &mut self.asked {
            asked.refine(moment);
        }
        cuts.retime(|job_ns| moment.ticks_of(job_ns));
        cuts.pass(moment.ticks());
        // Behind the cuts that have passed: ranks record as soon as a planned change needs records.
        actions.extend(self.switch(cuts));
        for asked in &mut self.asked {
            if asked.wait == Wait::Cut && moment.job_ns() >= asked.due_job_ns {
                for rank in std::mem::take(&mut asked.waiting) {
                    asked.done(moment.ns(), rank);
                }
            }
        }
        actions.extend(self.conclude(moment));
        actions
    }

    /// The looks that are due. Each is answered by [`Recording::seen`] for its ranks.
    pub fn looks(&self, moment: &TimePoint<'_>) -> Vec<Look> {
        let due = |asked: &&Asked| asked.wait != Wait::Cut && moment.job_ns() >= asked.due_job_ns;
        let look = |asked: &Asked| Look {
            command: asked.command,
            at: moment.ticks_of(asked.due_job_ns),
            cuts: asked.cuts.clone(),
            ranks: asked.waiting.clone(),
        };
        self.asked.iter().filter(due).map(look).collect()
    }

    /// A rank was looked at.
    pub fn seen(&mut self, moment: &TimePoint<'_>, command: CommandId, rank: Rank, seen: Seen) {
        let Some(asked) = self.asked.iter_mut().find(|asked| asked.command == command) else {
            return;
        };
        // A window's rank that has not been read up to the cut is looked at again in the next turn.
        let enough = asked.wait == Wait::Glance || seen.all_taken;
        if !enough || !asked.waiting.remove(&rank) {
            return;
        }
        asked.done(moment.ns(), rank);
        if asked.clips() {
            // What is open will be clipped when it ends.
            asked.acks.clipped += seen.clipped + seen.open;
        }
        if asked.wait == Wait::All {
            asked.acks.open += seen.open;
        }
        if let Some(window) = self
            .window
            .as_mut()
            .filter(|window| window.command == command)
        {
            window.complete += 1;
        }
    }

    /// Answers what is done.
    pub fn conclude(&mut self, moment: &TimePoint<'_>) -> Vec<RecordingAction> {
        let done = self.asked.extract_if(.., |asked| asked.waiting.is_empty());
        done.map(|asked| asked.answer(moment)).collect()
    }

    /// For a status, of so many ranks.
    pub fn status(&self, moment: &TimePoint<'_>, cuts: &Cuts, ranks: u32) -> RecordingStatus {
        let (on, off) = if cuts.is_on() { (ranks, 0) } else { (0, ranks) };
        RecordingStatus {
            on,
            off,
            since_ns: cuts.reset_job_ns(),
            now_ns: moment.job_ns(),
            clock_error_ns: moment.error_ns(),
            window: self.window,
            shut_down: self.shut_down,
        }
    }

    /// Another command, whose cut lies at `at_ns`, ends the window that is being recorded: its
    /// answer is that. A window that ends no later than that is left to its own end, which comes
    /// first.
    fn interrupt(
        &mut self,
        moment: &TimePoint<'_>,
        cuts: &mut Cuts,
        by: CommandId,
        at_ns: u64,
    ) -> Option<RecordingAction> {
        let goes_on = |asked: &Asked| asked.window_to_ns.is_some_and(|to_ns| to_ns > at_ns);
        let index = self.asked.iter().position(goes_on)?;
        let mut asked = self.asked.remove(index);
        // The last of its cuts is its end.
        cuts.cancel(asked.cuts.end - 1);
        // Ranks that had finished it fail as well: a window is whole on all ranks or on none.
        asked.acks.done = 0;
        asked.acks.to = None;
        for rank in self.ranks.iter() {
            fail(&mut asked.acks, rank, &format!("ended by command {}", by.0));
        }
        Some(asked.answer(moment))
    }

    fn failed(&self, why: &str) -> Acks {
        let mut acks = Acks {
            targets: self.ranks.len() as u32,
            ..Acks::default()
        };
        for rank in self.ranks.iter() {
            fail(&mut acks, rank, why);
        }
        acks
    }

    /// Switches the ranks if the cuts want something else of them.
    fn switch(&mut self, cuts: &Cuts) -> Option<RecordingAction> {
        // After the shutdown the ranks are told to stop, whatever cuts are planned.
        let epoch = cuts.wants_records().filter(|_| !self.shut_down);
        if epoch == self.on.then_some(self.epoch) {
            return None;
        }
        self.began |= !self.on;
        self.begins_epoch |= epoch.is_some();
        self.on = epoch.is_some();
        self.epoch = epoch.unwrap_or(self.epoch);
        Some(RecordingAction::Switch {
            on: self.on,
            epoch: self.epoch,
        })
    }
}

#[cfg(test)]
mod tests;
