//! Carries out the selection: which functions and regions the ranks of the place record.
//!
//! Rules speak of names, ranks know addresses. So the place looks up the name of each region that a
//! rank has met, and sets the bit of those that are left out in the rank's memory. A rank that
//! meets a region does what holds for one of which nothing is known, until the place has its name.
//!
//! ```text
//! Command -> names of all that was met -> at its job time: the bits -> Ack
//! Look    -> names of what is new      -> the bits
//! ```

mod of_rank;

use super::code_queries::CodeQueries;
use super::interval_timer::Every;
use super::local_ranks::LocalRanks;
use crate::time_point::{Now, TimePoint};
use invivo_proto::control::selection::{RULES_MAX, Rule, Selection, SelectionStatus};
use invivo_proto::control::tree::{Acks, Command, Cut, FAILURES_MAX, Up, Verb};
use invivo_proto::ids::{CommandId, Rank};
use invivo_proto::packet::DropReason;
use invivo_tbon::job_time::JobClock;
use of_rank::OfRank;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// How long names are waited for behind the time of a command: reading the tables of a large
/// program takes a supervisor some time, once.
const PATIENCE_NS: u64 = 1_500_000_000;
/// Period of the looks for regions that ranks have met.
const LOOK_NS: u64 = 10_000_000;
/// Period of the looks at how long visits are, and whether a name is still missing.
const TIME_NS: u64 = 500_000_000;

/// The rules in force, and commands under way.
pub struct Selecting {
    rules: Vec<Rule>,
    /// In job time, in ns.
    since_ns: u64,
    ranks: BTreeMap<Rank, OfRank>,
    /// Those that came before job time was known, in their order.
    early: Vec<Command>,
    asked: Vec<Asked>,
    looks: Every,
    times: Every,
}

struct Asked {
    command: CommandId,
    came_ns: u64,
    at_ns: u64,
    rules: Vec<Rule>,
}

impl Default for Selecting {
    fn default() -> Selecting {
        Selecting {
            rules: Vec::new(),
            since_ns: 0,
            ranks: BTreeMap::new(),
            early: Vec::new(),
            asked: Vec::new(),
            looks: Every::new(LOOK_NS, 0),
            times: Every::new(TIME_NS, 0),
        }
    }
}

impl Selecting {
    /// The job's rules from the start.
    pub fn begin(&mut self, selection: &Selection, local: &LocalRanks) {
        self.rules = selection.rules.clone();
        for rank in local.numbers() {
            self.attached(rank, local);
        }
    }

    /// A rank has come: the rules hold for it as for the others.
    pub fn attached(&mut self, rank: Rank, local: &LocalRanks) {
        if !self.rules.is_empty()
            && let Some(memory) = local.memory(rank)
        {
            let of_rank = self.ranks.entry(rank).or_default();
            of_rank.begin(&self.rules);
            of_rank.write(memory);
        }
    }

    /// A command came. The answers that are due by now.
    pub fn command(
        &mut self,
        now: Now,
        command: &Command,
        clock: &JobClock,
        names: &mut CodeQueries,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        self.early.push(command.clone());
        self.step(now, clock, names, local)
    }

    /// Whether something has to be done in time.
    pub fn is_pending(&self) -> bool {
        !self.early.is_empty() || !self.asked.is_empty()
    }

    /// Time has passed. The answers that are due by now.
    pub fn step(
        &mut self,
        now: Now,
        clock: &JobClock,
        names: &mut CodeQueries,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        if self.rules.is_empty() && !self.is_pending() {
            return Vec::new();
        }
        let node = local.feed.analyses.clock().clone();
        let moment = TimePoint::new(now, &node, clock);
        let mut answers = match moment.is_known() {
            true => self.take_up(now, local),
            false => Vec::new(),
        };
        let is_look = self.looks.is_due(now.ns);
        while let Some(asked) = self.asked.first() {
            // While the time has not come as well: then the names are there by then.
            let is_known = !is_look || self.look_up(&asked.rules, names, local);
            let waited_ns = moment.job_ns().saturating_sub(asked.at_ns);
            let is_due = moment.job_ns() >= asked.at_ns;
            if !is_due || !(is_look && is_known || waited_ns >= PATIENCE_NS) {
                break;
            }
            let asked = self.asked.remove(0);
            answers.push(self.carry_out(now, asked, &moment, names, local));
        }
        if is_look {
            let again = self.times.is_due(now.ns);
            self.apply(again, names, local);
        }
        answers
    }

    /// Begins with the commands that came; those that go too far are refused.
    fn take_up(&mut self, now: Now, local: &LocalRanks) -> Vec<Up> {
        let mut refused = Vec::new();
        for command in std::mem::take(&mut self.early) {
            let Verb::Select { selection, at_ns } = command.verb else {
                continue;
            };
            let before = self.asked.last().map_or(&self.rules, |last| &last.rules);
            let Some(rules) = selection.after(before) else {
                let total = before.len() + selection.rules.len();
                refused.push(too_many(command.id, total, local));
                continue;
            };
            self.asked.push(Asked {
                command: command.id,
                came_ns: now.ns,
                at_ns,
                rules,
            });
        }
        refused
    }

    /// Has names looked up that rules need; whether all are known.
    fn look_up(&self, rules: &[Rule], names: &mut CodeQueries, local: &mut LocalRanks) -> bool {
        let mut are_known = true;
        if rules.iter().any(|rule| rule.fits.needs_names()) {
            for rank in local.numbers() {
                are_known &= of_rank::look_up(rank, names, local);
            }
            names.ask(local);
        }
        are_known
    }

    fn carry_out(
        &mut self,
        now: Now,
        asked: Asked,
        moment: &TimePoint<'_>,
        names: &mut CodeQueries,
        local: &mut LocalRanks,
    ) -> Up {
        self.rules = asked.rules;
        self.since_ns = moment.job_ns().max(asked.at_ns);
        for rank in local.numbers() {
            self.ranks.entry(rank).or_default().begin(&self.rules);
        }
        self.apply(true, names, local);
        local.feed.analyses.record_others();
        let ranks = local.len() as u32;
        let took_ns = now.ns.saturating_sub(asked.came_ns);
        Up::Ack {
            command: asked.command,
            acks: Acks {
                targets: ranks,
                done: ranks,
                slowest: local.numbers().last().map(|rank| (rank, took_ns)),
                from: Some(Cut {
                    earliest_ns: self.since_ns,
                    latest_ns: self.since_ns,
                    error_ns: moment.error_ns(),
                }),
                ..Acks::default()
            },
        }
    }

    /// Decides about regions that are new, and tells the ranks.
    fn apply(&mut self, again: bool, names: &mut CodeQueries, local: &mut LocalRanks) {
        for rank in local.numbers() {
            let of_rank = self.ranks.entry(rank).or_default();
            of_rank.decide(rank, &self.rules, again, names, local);
            if let Some(memory) = local.memory(rank) {
                of_rank.write(memory);
            }
        }
        names.ask(local);
    }

    /// How the rules stand.
    pub fn status(&self, local: &LocalRanks) -> SelectionStatus {
        let mut status = SelectionStatus {
            ranks: local.len() as u32,
            same: local.len() as u32,
            rules: self.rules.iter().map(|rule| (rule.clone(), 0)).collect(),
            since_ns: self.since_ns,
            ..SelectionStatus::default()
        };
        for rank in local.numbers() {
            let met = local.feed.analyses.regions_met(rank).count() as u64;
            match self.ranks.get(&rank) {
                Some(of_rank) if !self.rules.is_empty() => of_rank.count(met, &mut status),
                _ => status.regions_on += met,
            }
            for page in local.memory(rank).into_iter().flat_map(|of| of.locations()) {
                let off = &page.dropped[DropReason::NotSelected as usize];
                status.calls_off += off.load(Ordering::Relaxed);
            }
        }
        status
    }

    /// What is under way will not be done, for this reason.
    pub fn refuse(&mut self, refusal: &Acks) -> Vec<Up> {
        let early = self.early.drain(..).map(|command| command.id);
        let ids = early.chain(self.asked.drain(..).map(|asked| asked.command));
        ids.map(|command| Up::Ack {
            command,
            acks: refusal.clone(),
        })
        .collect()
    }
}

/// More rules than are kept.
fn too_many(command: CommandId, rules: usize, local: &LocalRanks) -> Up {
    let why = format!(
        "{rules} rules would be in force, at most {RULES_MAX} can be; replace them by some with * \
         in their patterns"
    );
    let named = local.numbers().take(FAILURES_MAX);
    Up::Ack {
        command,
        acks: Acks {
            targets: local.len() as u32,
            failures: named.map(|rank| (rank, why.clone())).collect(),
            ..Acks::default()
        },
    }
}
