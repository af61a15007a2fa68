//! The node: the machine of every tool process.
//!
//! ```text
//!              parent                      Up::{Hello, Partial, Ack, Drained}    gathered over all members
//!                                          Up::{Groups, RankEnded}               passed on
//!           Down |  ^ Up                   Up::{WantGroups, WhatTime}            answered, or asked once for all
//!              [node]
//!        Down |  ^ Up   \ Local(Down)      Down::{Job, Command, Heartbeat, Release, Shutdown}
//!            children    itself                              to every member that is not lost
//!                                          Down::Query       to every member that is neither lost nor silent
//!                                          Down::{Time, Groups}    to those who asked
//! ```
//!
//! A node serves its children and, where ranks report to it directly, itself: the driver of a place is to its
//! node what a child is to an inner node, and speaks the same messages ([`Input::Local`], [`Action::Local`]).
//! So there is one machine for every role and any depth.
//!
//! Links keep their order and lose nothing, members may fall silent: every question and every command has a
//! time-out that grows with the height, so that the deepest node that waits in vain gives up first, names the
//! silent member, and its parents still hear the rest of the branch in time. Later questions leave a silent
//! member out, until it is heard again; commands still go to it.

mod events;
mod seat;

pub use events::{Action, Ignored, Input};
pub use seat::Seat;

use crate::acks;
use crate::clock::JobClock;
use crate::commands::{self, Commands, Course, Known};
use crate::gather::Tally;
use crate::groups::{self, Bounds, Groups, Told};
use crate::law::Law;
use crate::limits::{
    COMMAND_NS_PER_LAYER, GROUP_RUNS_MAX, GROUPS_MAX, ROOT_GROUP_RUNS_MAX, ROOT_GROUPS_MAX, WAVE_NS_PER_LAYER,
};
use crate::members::{Chorus, Member, Members};
use crate::orders;
use crate::pulse::Pulse;
use crate::waves::{self, Wave, Waves};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use invivo_proto::control::results::NOTES_MAX;
use invivo_proto::control::tree::{Acks, Command, Cut, Down, Up, Verb};
use invivo_proto::ids::{CommId, CommandId, WorldRank};

/// The machine. `L` says how partial results are merged.
#[derive(Clone, Debug)]
pub struct Node<L> {
    law: L,
    height: u32,
    members: Members,
    waves: Waves,
    commands: Commands,
    groups: Groups,
    clock: JobClock,
    is_root: bool,
    present: Chorus,
    drained: Chorus,
    pulse: Pulse,
    closed: bool,
    ignored: Ignored,
}

impl<L: Law> Node<L> {
    /// A node at its seat, below a parent. The clock for the root's silence starts at `now_ns`.
    pub fn new(now_ns: u64, seat: Seat, law: L) -> Node<L> {
        let bounds = Bounds {
            groups: GROUPS_MAX,
            runs: GROUP_RUNS_MAX,
        };
        Node::with(
            now_ns,
            seat,
            law,
            JobClock::below(now_ns),
            Groups::new(false, bounds),
        )
    }

    /// A node with nobody above: its clock is job time, and nobody knows more groups.
    pub(crate) fn root(now_ns: u64, seat: Seat, law: L) -> Node<L> {
        let bounds = Bounds {
            groups: ROOT_GROUPS_MAX,
            runs: ROOT_GROUP_RUNS_MAX,
        };
        let node = Node::with(now_ns, seat, law, JobClock::root(), Groups::new(true, bounds));
        Node {
            is_root: true,
            ..node
        }
    }

    fn with(now_ns: u64, seat: Seat, law: L, clock: JobClock, groups: Groups) -> Node<L> {
        let local = seat.local.map(|ranks| Member::new(seat.me, ranks, true));
        let children = seat
            .children
            .into_iter()
            .map(|(child, ranks)| Member::new(child, ranks, false));
        let members = Members::new(local.into_iter().chain(children).collect());
        Node {
            law,
            height: seat.height,
            waves: waves::none(),
            commands: Commands::none(),
            groups,
            clock,
            is_root: false,
            present: Chorus::new(&members),
            drained: Chorus::new(&members),
            members,
            pulse: Pulse::new(now_ns),
            closed: false,
            ignored: Ignored::default(),
        }
    }

    /// Ranks below.
    pub fn ranks(&self) -> u32 {
        self.members.ranks()
    }

    /// What was ignored so far.
    pub fn ignored(&self) -> Ignored {
        self.ignored
    }

    /// Job time, as this node knows it.
    pub fn clock(&self) -> &JobClock {
        &self.clock
    }

    /// What is wrong with the members, as sentences; every status that passes here carries them.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let forgotten = self.groups.forgotten();
        // A node asks again for what it forgot; the root cannot.
        let forgot = (self.is_root && forgotten > 0).then(|| {
            format!(
                "the members of {forgotten} communicators were forgotten for lack of room: traffic on them may be unresolved"
            )
        });
        forgot.into_iter().chain(self.members.notes()).take(NOTES_MAX)
    }

    /// When [`Input::Tick`] is needed next, if nothing else happens before.
    pub fn next_tick_ns(&self) -> Option<u64> {
        let deadlines = [
            self.waves.next_deadline_ns(),
            self.commands.under_way.next_deadline_ns(),
            self.pulse.next_deadline_ns().filter(|_| !self.is_root),
            self.clock.next_ask_ns(),
        ];
        deadlines.into_iter().flatten().min().filter(|_| !self.closed)
    }

    /// Lets something happen; what the driver then has to do, in order. `now_ns` is the process' monotonic clock,
    /// read after the message was received: job time is measured by it.
    pub fn step(&mut self, now_ns: u64, input: Input) -> Vec<Action> {
        let mut out = Vec::new();
        if self.closed {
            self.ignored.after_shutdown += u64::from(input != Input::Tick);
            return out;
        }
        // Only a tick makes late what has not come, because only then has everything been handed in.
        let overdue_ns = if input == Input::Tick { now_ns } else { 0 };
        match input {
            Input::Down(message) => self.descend(now_ns, message, &mut out),
            Input::Up { from, message } => match self.living(from) {
                Some(member) => {
                    self.members.get_mut(member).silent = false;
                    self.climb(now_ns, member, message, &mut out);
                }
                None => self.ignored.strangers += 1,
            },
            Input::Local(message) => match self.members.local() {
                Some(member) => self.climb(now_ns, member, message, &mut out),
                None => self.ignored.strangers += 1,
            },
            Input::ChildLost(child) => self.lose(child),
            Input::Garbage(child) => match self.living(child) {
                Some(member) => self.garbage(member),
                None => self.ignored.strangers += 1,
            },
            Input::Tick => self.tick(now_ns, &mut out),
        }
        self.conclude(overdue_ns, &mut out);
        out
    }

    fn tick(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        if !self.is_root && self.pulse.stops(now_ns) {
            out.push(Action::RootLost);
        }
        if self.clock.ask(now_ns) {
            out.push(Action::Up(Up::WhatTime { asked_ns: now_ns }));
        }
    }

    fn living(&self, child: WorldRank) -> Option<usize> {
        self.members
            .child(child)
            .filter(|&member| !self.members.get(member).lost)
    }

    fn garbage(&mut self, member: usize) {
        self.ignored.garbage += 1;
        self.members.get_mut(member).garbage += 1;
    }

    /// From above: for everybody, or for those who asked.
    fn descend(&mut self, now_ns: u64, message: Down, out: &mut Vec<Action>) {
        let mut for_all = true;
        match &message {
            // These two come from the parent itself and do not tell that the root lives.
            Down::Time {
                asked_ns,
                job_ns,
                error_ns,
            } => {
                let known = self.clock.answered(now_ns, *asked_ns, *job_ns, *error_ns);
                self.ignored.late += u64::from(!known);
                return;
            }
            Down::Groups(told) => return self.pass_groups(told, out),
            Down::Command(command) => {
                self.pulse.hear(now_ns);
                if !self.begin_command(now_ns, command, out) {
                    return;
                }
            }
            Down::Query { wave, query } => {
                self.pulse.hear(now_ns);
                for_all = false;
                let deadline_ns = self.deadline_ns(now_ns, WAVE_NS_PER_LAYER);
                let awake = self.members.roll_of_awake();
                self.waves
                    .begin(*wave, Wave::new(*query), deadline_ns, &self.members, awake);
            }
            Down::Shutdown => {
                self.closed = true;
                self.waves.clear();
                self.commands.under_way.clear();
            }
            Down::Job(_) | Down::Heartbeat | Down::Release => self.pulse.hear(now_ns),
        }
        for child in self.members.reachable() {
            if for_all || !child.silent {
                out.push(Action::Down {
                    to: child.world,
                    message: message.clone(),
                });
            }
        }
        let for_ranks = matches!(message, Down::Command(_) | Down::Query { .. });
        if !for_ranks || self.members.local().is_some() {
            out.push(Action::Local(message));
        }
    }

    /// Whether the command is new. A past one is answered from memory, one under way will be answered anyway.
    fn begin_command(&mut self, now_ns: u64, command: &Command, out: &mut Vec<Action>) -> bool {
        match self.commands.known(command.id) {
            Some(Known::UnderWay) => false,
            Some(Known::Past(course)) => {
                out.push(Action::Up(Up::Ack {
                    command: command.id,
                    acks: course.acks.clone(),
                }));
                false
            }
            None => {
                let due_ns = self.due_ns(now_ns, &command.verb);
                let deadline_ns = self.deadline_ns(due_ns, COMMAND_NS_PER_LAYER);
                let all = self.members.roll();
                self.commands
                    .under_way
                    .begin(command.id, Course::default(), deadline_ns, &self.members, all);
                true
            }
        }
    }

    /// Own time from which on a command's usual time-out counts.
    fn due_ns(&self, now_ns: u64, verb: &Verb) -> u64 {
        let due_ns = match verb.due_ns() {
            0 => now_ns,
            _ if !self.clock.is_known() => {
                now_ns.saturating_add(commands::length_ns(verb, orders::ahead_ns(self.height + 1)))
            }
            job_ns => self.clock.from_job(job_ns).max(now_ns),
        };
        due_ns.saturating_add(commands::patience_ns(verb))
    }

    fn deadline_ns(&self, from_ns: u64, per_layer: u64) -> u64 {
        from_ns.saturating_add(per_layer.saturating_mul(u64::from(self.height)))
    }

    /// From a member: gathered, answered or passed on.
    fn climb(&mut self, now_ns: u64, member: usize, message: Up, out: &mut Vec<Action>) {
        match message {
            Up::Hello { ranks } => {
                // Both sides know the layout; a difference means that they were started with different numbers.
                if ranks != self.members.get(member).ranks {
                    self.garbage(member);
                }
                self.present.tick_off(member);
            }
            Up::Drained => self.drained.tick_off(member),
            Up::Partial {
                wave,
                partial,
                coverage,
                missing,
            } => {
                let member_is = self.members.get_mut(member);
                let plausible =
                    coverage.ranks <= member_is.ranks && coverage.ranks_reporting <= coverage.ranks;
                if plausible {
                    member_is.last = coverage.ledger;
                }
                let Some(sum) = self.waves.answered(wave, member) else {
                    self.ignored.late += 1;
                    return;
                };
                if !plausible || sum.add(&self.law, partial, &coverage, missing).is_err() {
                    sum.absent(self.members.get(member));
                    self.garbage(member);
                }
            }
            Up::Ack { command, acks } => {
                let Some(course) = self.commands.under_way.answered(command, member) else {
                    self.ignored.late += 1;
                    return;
                };
                if plausible(&acks, self.members.get(member).ranks) {
                    acks::merge(&mut course.acks, acks);
                } else {
                    course.absent(self.members.get(member));
                    self.garbage(member);
                }
            }
            Up::WhatTime { asked_ns } => {
                let time = Down::Time {
                    asked_ns,
                    job_ns: self.clock.job_ns(now_ns),
                    error_ns: self.clock.error_ns(now_ns),
                };
                out.push(self.to_member(member, time));
            }
            Up::WantGroups(ids) => self.want_groups(member, ids, out),
            Up::Groups(told) if self.is_root => self.pass_groups(&told, out),
            Up::Groups(_) | Up::RankEnded(_) => out.push(Action::Up(message)),
        }
    }

    fn want_groups(&mut self, member: usize, ids: Vec<CommId>, out: &mut Vec<Action>) {
        let (known, unknown) = self.groups.want(member, ids);
        self.tell_groups(member, known, out);
        if !unknown.is_empty() && !self.is_root {
            out.push(Action::Up(Up::WantGroups(unknown)));
        }
    }

    fn pass_groups(&mut self, told: &Told, out: &mut Vec<Action>) {
        for (member, told) in self.groups.learn(told) {
            self.tell_groups(member, told, out);
        }
    }

    fn tell_groups(&self, member: usize, told: Told, out: &mut Vec<Action>) {
        if self.members.get(member).lost {
            return;
        }
        for message in groups::messages(told) {
            out.push(self.to_member(member, Down::Groups(message)));
        }
    }

    fn to_member(&self, member: usize, message: Down) -> Action {
        match self.members.get(member) {
            Member { local: true, .. } => Action::Local(message),
            &Member { world: to, .. } => Action::Down { to, message },
        }
    }

    /// Nothing comes from this child any more: nobody waits for it, and its branch counts as present, drained
    /// and dropped.
    fn lose(&mut self, child: WorldRank) {
        let Some(member) = self.living(child) else {
            self.ignored.strangers += 1;
            return;
        };
        self.members.get_mut(member).lost = true;
        self.present.tick_off(member);
        self.drained.tick_off(member);
        self.waves.lose(member, self.members.get(member));
        self.commands.under_way.lose(member, self.members.get(member));
    }

    /// Sends up whatever is complete, or overdue at `overdue_ns`.
    fn conclude(&mut self, overdue_ns: u64, out: &mut Vec<Action>) {
        if self.closed {
            return;
        }
        if self.present.complete() {
            out.push(Action::Up(Up::Hello { ranks: self.ranks() }));
        }
        for (wave, sum) in self.waves.finish(overdue_ns, &mut self.members) {
            out.push(Action::Up(sum.into_answer(wave, self.notes())));
        }
        for (command, course) in self.commands.under_way.finish(overdue_ns, &mut self.members) {
            out.push(Action::Up(Up::Ack {
                command,
                acks: course.acks.clone(),
            }));
            self.commands.remember(command, course);
        }
        if self.drained.complete() {
            out.push(Action::Up(Up::Drained));
        }
    }

    /// Whether a command is under way or remembered.
    pub(crate) fn knows(&self, command: CommandId) -> bool {
        self.commands.known(command).is_some()
    }

    /// Whether another wave would push the oldest out.
    pub(crate) fn waves_full(&self) -> bool {
        self.waves.is_full()
    }

    /// Whether another command would push the oldest out.
    pub(crate) fn commands_full(&self) -> bool {
        self.commands.under_way.is_full()
    }
}

/// Whether a member with `ranks` ranks can say so.
fn plausible(acks: &Acks, ranks: u32) -> bool {
    let in_order = |cut: &Option<Cut>| cut.is_none_or(|cut| cut.earliest_ns <= cut.latest_ns);
    acks.targets <= ranks
        && acks.done <= acks.targets
        && u64::from(acks.held_in_mpi) + u64::from(acks.partly) <= u64::from(acks.done)
        && in_order(&acks.from)
        && in_order(&acks.to)
}
