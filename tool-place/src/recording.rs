//! Reset, recording on and off, windows, and the end of the measurement, on one place's ranks: which cuts follow from a
//! command, when it is done, what is refused, and what is acknowledged. Pure: time is an argument, actions come out.
//!
//! A command says where in job time to cut. The cut itself is made where records are read ([`Cuts`]); the ranks are
//! only told to record or not: on as soon as a command wants records, off when the cut has passed. A command is done
//! when its cut has passed and the ranks have been looked at behind it; a window and the end of the measurement when,
//! on every rank, everything up to there has been taken.
//!
//! Commands are done beside one another, except that while a window is recorded nothing else forgets: a reset and a
//! second window are refused, and a switch of recording ends the window early.

mod asked;
mod plan;

use crate::cuts::{Change, Cuts};
use crate::moment::Moment;
use asked::{Asked, Wait, fail};
use invivo_proto::control::results::{RecordingStatus, WindowStatus};
use invivo_proto::control::tree::{Acks, Command, Verb};
use invivo_proto::ids::{CommandId, Rank};
use plan::{meant, plan, plan_now};
use std::collections::BTreeSet;
use std::ops::Range;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Tell the ranks whether to record.
    Switch {
        /// On or off.
        on: bool,
        /// How often it was switched on so far.
        epoch: u32,
    },
    /// Answer a command.
    Ack {
        /// Which.
        command: CommandId,
        /// How it went.
        acks: Acks,
    },
}

/// The ranks are to be looked at, for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Which command.
    pub command: CommandId,
    /// Calls that began before this and have not ended straddle it; what ended before is to be taken. In ticks.
    pub at: u64,
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
}

/// See the module's head.
#[derive(Debug)]
pub struct Recording {
    ranks: Range<u32>,
    asked: Vec<Asked>,
    window: Option<WindowStatus>,
    begun: bool,
    /// The ranks are told to record.
    on: bool,
    epoch: u32,
    shut_down: bool,
}

impl Recording {
    /// Of a place with these ranks, which record from the start.
    pub fn new(ranks: Range<u32>) -> Recording {
        Recording {
            ranks,
            asked: Vec::new(),
            window: None,
            begun: false,
            on: true,
            epoch: 0,
            shut_down: false,
        }
    }

    /// The job begins, recorded or not. What was recorded before the ranks could be told is forgotten.
    pub fn begin(&mut self, moment: &Moment<'_>, cuts: &mut Cuts, on: bool) -> Vec<Action> {
        if !on {
            plan_now(moment, cuts, Change::Reset);
            plan_now(moment, cuts, Change::End);
            cuts.pass(moment.ticks());
        }
        self.begun = true;
        self.on = on;
        vec![Action::Switch {
            on,
            epoch: self.epoch,
        }]
    }

    /// What ranks that come now are to be told: whether to record, and the epoch. Nothing before the job has begun.
    pub fn told(&self) -> Option<(bool, u32)> {
        self.begun.then_some((self.on, self.epoch))
    }

    /// Whether the measurement has ended, everything been taken, and the root been told.
    pub fn is_over(&self) -> bool {
        self.shut_down && self.asked.is_empty()
    }

    /// Whether the command that ends the measurement has come.
    pub fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    /// A command came from the root: one of [`Recording::takes`].
    pub fn command(&mut self, moment: &Moment<'_>, cuts: &mut Cuts, command: &Command) -> Vec<Action> {
        if let Some(why) = self.refusal(&command.verb) {
            return vec![Action::Ack {
                command: command.id,
                acks: self.failed(&why),
            }];
        }
        cuts.retime(|job_ns| moment.ticks_of(job_ns));
        cuts.pass(moment.ticks());
        let mut actions = Vec::new();
        let mut asked = Asked {
            command: command.id,
            wait: Wait::Glance,
            began_ns: moment.ns(),
            due_job_ns: 0,
            waiting: self.ranks.clone().map(Rank).collect(),
            clipped_before: cuts.clipped(),
            acks: Acks {
                targets: self.ranks.len() as u32,
                ..Acks::default()
            },
        };
        match command.verb {
            Verb::Reset { at_ns } => asked.from(plan(moment, cuts, meant(moment, at_ns), &[Change::Reset])),
            Verb::Record { on, at_ns, .. } => {
                actions.extend(self.interrupt(moment, cuts, command.id));
                // What is on stays on, and what is switched off counts whole: no call is clipped.
                if !on || cuts.will_be_on() {
                    asked.wait = Wait::Cut;
                }
                let change = if on { Change::On } else { Change::Off };
                asked.from(plan(moment, cuts, meant(moment, at_ns), &[change]));
            }
            Verb::Window { from_ns, to_ns, .. } => {
                let at_ns = meant(moment, from_ns);
                let from = plan(moment, cuts, at_ns, &[Change::Reset, Change::On]);
                // A window that could not begin in time ends in time all the same, unless nobody knows when that is.
                let end_ns = match moment.is_known() {
                    true => to_ns,
                    false => from.earliest_ns.saturating_add(to_ns.saturating_sub(from_ns)),
                };
                let to = plan(moment, cuts, end_ns, &[Change::End]);
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
                self.shut_down = true;
                actions.extend(self.interrupt(moment, cuts, command.id));
                asked.due_job_ns = plan(moment, cuts, 0, &[Change::Off]).latest_ns;
                asked.wait = Wait::All;
            }
            Verb::Pause { .. } | Verb::Resume | Verb::Hold { .. } | Verb::Strategy { .. } => return actions,
        }
        self.asked.push(asked);
        actions.extend(self.step(moment, cuts));
        actions
    }

    /// Whether this machine does such commands.
    pub fn takes(verb: &Verb) -> bool {
        !matches!(
            verb,
            Verb::Pause { .. } | Verb::Resume | Verb::Hold { .. } | Verb::Strategy { .. }
        )
    }

    /// Time has passed.
    pub fn step(&mut self, moment: &Moment<'_>, cuts: &mut Cuts) -> Vec<Action> {
        for asked in &mut self.asked {
            asked.refine(moment);
        }
        cuts.retime(|job_ns| moment.ticks_of(job_ns));
        cuts.pass(moment.ticks());
        let mut actions: Vec<Action> = self.switch(cuts).into_iter().collect();
        for asked in &mut self.asked {
            if asked.wait == Wait::Cut && moment.job_ns() >= asked.due_job_ns {
                for rank in std::mem::take(&mut asked.waiting) {
                    asked.done(moment.ns(), rank);
                }
            }
        }
        actions.extend(self.conclude(moment, cuts));
        actions
    }

    /// The looks that are due. Each is answered by [`Recording::seen`] for its ranks.
    pub fn looks(&self, moment: &Moment<'_>) -> Vec<Look> {
        let due = |asked: &&Asked| asked.wait != Wait::Cut && moment.job_ns() >= asked.due_job_ns;
        let look = |asked: &Asked| Look {
            command: asked.command,
            at: moment.ticks_of(asked.due_job_ns),
            ranks: asked.waiting.clone(),
        };
        self.asked.iter().filter(due).map(look).collect()
    }

    /// A rank was looked at.
    pub fn seen(&mut self, moment: &Moment<'_>, command: CommandId, rank: Rank, seen: Seen) {
        let Some(asked) = self.asked.iter_mut().find(|asked| asked.command == command) else {
            return;
        };
        let enough = asked.wait == Wait::Glance || seen.all_taken;
        if !enough || !asked.waiting.remove(&rank) {
            return;
        }
        asked.done(moment.ns(), rank);
        if asked.clips() {
            asked.acks.clipped += seen.open;
        }
        if asked.wait == Wait::All {
            asked.acks.open += seen.open;
        }
        if let Some(window) = self.window.as_mut().filter(|window| window.command == command) {
            window.complete += 1;
        }
    }

    /// Answers what is done.
    pub fn conclude(&mut self, moment: &Moment<'_>, cuts: &Cuts) -> Vec<Action> {
        let done = self.asked.extract_if(.., |asked| asked.waiting.is_empty());
        done.map(|asked| asked.answer(moment, cuts)).collect()
    }

    /// For a status, of so many ranks.
    pub fn status(&self, moment: &Moment<'_>, cuts: &Cuts, ranks: u32) -> RecordingStatus {
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

    fn refusal(&self, verb: &Verb) -> Option<String> {
        if self.shut_down {
            return Some("the measurement has been shut down".to_owned());
        }
        let forgets = matches!(verb, Verb::Reset { .. } | Verb::Window { .. });
        let window = self.recorded_window().filter(|_| forgets)?;
        Some(format!(
            "a window is being recorded (command {}); wait for its end, or end it by recording on or off",
            window.0
        ))
    }

    /// The window that is not complete.
    fn recorded_window(&self) -> Option<CommandId> {
        let window = self.window.as_ref()?.command;
        self.asked
            .iter()
            .any(|asked| asked.command == window)
            .then_some(window)
    }

    /// Another command ends the window that is being recorded: its answer is that.
    fn interrupt(&mut self, moment: &Moment<'_>, cuts: &mut Cuts, by: CommandId) -> Option<Action> {
        let window = self.recorded_window()?;
        cuts.cancel(|change| change == Change::End);
        let index = self.asked.iter().position(|asked| asked.command == window)?;
        let mut asked = self.asked.remove(index);
        asked.acks.done = 0;
        asked.acks.to = None;
        for rank in self.ranks.clone().map(Rank) {
            fail(&mut asked.acks, rank, &format!("ended by command {}", by.0));
        }
        Some(asked.answer(moment, cuts))
    }

    fn failed(&self, why: &str) -> Acks {
        let mut acks = Acks {
            targets: self.ranks.len() as u32,
            ..Acks::default()
        };
        for rank in self.ranks.clone().map(Rank) {
            fail(&mut acks, rank, why);
        }
        acks
    }

    /// Tells the ranks if what they do is not what is wanted.
    fn switch(&mut self, cuts: &Cuts) -> Option<Action> {
        let on = cuts.wants_records() && !self.shut_down;
        if on == self.on {
            return None;
        }
        self.on = on;
        self.epoch = self.epoch.wrapping_add(u32::from(on));
        Some(Action::Switch {
            on,
            epoch: self.epoch,
        })
    }
}

#[cfg(test)]
mod tests;
