//! The node: the state machine of every tool process.
//!
//! ```text
//!              parent              Up::{Hello, Partial, Ack, Drained}  merged over all members
//!                                  Up::{Groups, RankFaulted, RankEnded} passed on
//!           Down |  ^ Up           Up::{WantGroups, WhatTime}          answered, or requested
//!              [node]                                                  once for all
//!        Down |  ^ Up   \ Local(Down)
//!            children    itself    Down::{Job, Command, Heartbeat, Release, Shutdown}
//!                                                          to every member
//!                                  Down::Query             to every member that is not silent
//!                                  Down::{Time, Groups}    to those who requested it
//! ```
//!
//! A node serves its children and, where ranks report to it directly, itself: the driver of a place
//! is to its node what a child is to an inner node, and speaks the same messages ([`Input::Local`],
//! [`Action::Local`]). So there is one machine for every role and any depth.
//!
//! Links keep their order and lose nothing, members may fall silent: every question and every
//! command has a time-out that grows with the height, so that the deepest node that waits in vain
//! gives up first, names the silent member, and its parents still hear the rest of the branch in
//! time. Later questions leave a silent member out, until it is heard again; commands still go to
//! it, and nobody waits for it. One that is not heard for [`GONE_NS`](crate::limits::GONE_NS) is
//! gone: what it held counts as dropped. Members that are alive ask for the time every five
//! seconds at least, so that silence means something; and a member that comes back is restored with
//! its ledger.

mod climb;
mod descend;
mod events;
mod position;
mod rest;

pub use events::{Action, Ignored, Input};
pub use position::Position;

use crate::alertness::Alertness;
use crate::commands::Commands;
use crate::groups::{Bounds, Groups};
use crate::job_time::{DRIFT_PPM, JobClock};
use crate::limits::{GROUP_RUNS_MAX, GROUPS_MAX, ROOT_GROUP_RUNS_MAX, ROOT_GROUPS_MAX};
use crate::members::{Member, Members, Tally};
use crate::merge::Merge;
use crate::root_heartbeat::Heartbeat;
use crate::waves::{self, Waves};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use invivo_proto::control::results::{Group, NOTES_MAX};
use invivo_proto::control::tree::Up;
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::{CommId, CommandId, WorldRank};

/// The state machine. `M` merges partial results.
#[derive(Clone, Debug)]
pub struct Node<M> {
    merge: M,
    process: WorldRank,
    height: u32,
    members: Members,
    waves: Waves,
    commands: Commands,
    groups: Groups,
    clock: JobClock,
    is_root: bool,
    present: Tally,
    drained: Tally,
    heartbeat: Heartbeat,
    closed: bool,
    ignored: Ignored,
    /// Where this process and its parent run.
    here: Whereabouts,
    above: Whereabouts,
    alertness: Alertness,
}

impl<M: Merge> Node<M> {
    /// A node at its position, below a parent. The clock for the root's silence starts at `now_ns`.
    pub fn new(now_ns: u64, position: Position, merge: M) -> Node<M> {
        let bounds = Bounds {
            groups: GROUPS_MAX,
            runs: GROUP_RUNS_MAX,
        };
        let clock = match position.is_beside_root {
            true => JobClock::beside_root(now_ns),
            false => JobClock::below(now_ns),
        };
        Node::with(now_ns, position, merge, clock, Groups::new(false, bounds))
    }

    /// A node with nobody above: its clock is job time, and nobody knows more groups.
    pub(crate) fn root(now_ns: u64, position: Position, merge: M) -> Node<M> {
        let bounds = Bounds {
            groups: ROOT_GROUPS_MAX,
            runs: ROOT_GROUP_RUNS_MAX,
        };

        let node = Node::with(
            now_ns,
            position,
            merge,
            JobClock::root(),
            Groups::new(true, bounds),
        );
        Node {
            is_root: true,
            ..node
        }
    }

    fn with(now_ns: u64, position: Position, merge: M, clock: JobClock, groups: Groups) -> Node<M> {
        let local = position
            .local
            .map(|ranks| Member::new(now_ns, position.me, ranks, true));
        let children = position
            .children
            .into_iter()
            .map(|(child, ranks)| Member::new(now_ns, child, ranks, false));
        // Sorted by world rank there: look-ups are by bisection.
        let members = Members::new(local.into_iter().chain(children).collect());
        Node {
            merge,
            process: position.process,
            height: position.height,
            waves: waves::none(),
            commands: Commands::none(),
            groups,
            clock,
            is_root: false,
            present: Tally::new(&members),
            drained: Tally::new(&members),
            members,
            heartbeat: Heartbeat::new(now_ns),
            closed: false,
            ignored: Ignored::default(),
            here: Whereabouts::default(),
            above: Whereabouts::default(),
            alertness: Alertness::new(),
        }
    }

    /// In a process that runs here, of which its neighbours are told.
    pub fn located(mut self, here: Whereabouts) -> Node<M> {
        self.here = here;
        self
    }

    /// Ranks below.
    pub fn ranks(&self) -> u32 {
        self.members.ranks()
    }

    /// What was ignored so far.
    pub fn ignored(&self) -> Ignored {
        self.ignored
    }

    /// The members of a communicator, as far as this node knows them.
    pub fn group(&self, id: CommId) -> Option<&Group> {
        self.groups.get(id)
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
                "the members of {forgotten} communicators were forgotten for lack of room: traffic \
                 on them may be unresolved"
            )
        });
        let drift_ppm = self.clock.drift_ppm();
        let slewed = (drift_ppm > DRIFT_PPM).then(|| {
            format!(
                "tool process {} saw its clock and the root's run apart by up to {drift_ppm} ppm: \
                 job time is stated with a larger error",
                self.process
            )
        });
        let own = forgot.into_iter().chain(slewed);
        // One more than there is room for: then the answer says that there were more.
        own.chain(self.members.notes()).take(NOTES_MAX + 1)
    }

    /// When [`Input::Tick`] is needed next, if nothing else happens before.
    pub fn next_tick_ns(&self) -> Option<u64> {
        let deadlines = [
            self.waves.next_deadline_ns(),
            self.commands.under_way.next_deadline_ns(),
            // The root does not wait for itself.
            self.heartbeat.next_deadline_ns().filter(|_| !self.is_root),
            self.clock.next_ask_ns(),
            self.members.next_gone_ns(),
        ];
        deadlines
            .into_iter()
            .flatten()
            .min()
            .filter(|_| !self.closed)
    }

    /// Lets something happen; what the driver then has to do, in order. `now_ns` is the process'
    /// monotonic clock, read after the message was received: job time is measured by it.
    pub fn step(&mut self, now_ns: u64, input: Input) -> Vec<Action> {
        let mut out = Vec::new();
        if self.closed {
            // Ticks go on after the shutdown and are no messages.
            let of_time = matches!(input, Input::Tick | Input::Backlog | Input::Enough);
            self.ignored.after_shutdown += u64::from(!of_time);
            return out;
        }

        // Only a tick makes late what has not come, because only then has everything been handed
        // in.
        let overdue_ns = match input {
            Input::Tick => now_ns,
            Input::Enough => u64::MAX,
            _ => 0,
        };

        match input {
            Input::Down(message) => {
                self.descend(now_ns, message, &mut out);
                self.ask_time(now_ns, true, &mut out);
            }
            Input::Up { from, message } => match self.members.child(from) {
                Some(member) => {
                    // Before the message is handled: the member answers, so it is neither silent
                    // nor gone.
                    self.members.get_mut(member).hear(now_ns);
                    self.climb(now_ns, member, message, &mut out);
                }
                None => self.ignored.strangers += 1,
            },
            Input::Local(message) => match self.members.local() {
                Some(member) => self.climb(now_ns, member, message, &mut out),
                None => self.ignored.strangers += 1,
            },
            Input::Garbage(child) => match self.members.child(child) {
                Some(member) => self.garbage(member),
                None => self.ignored.strangers += 1,
            },
            Input::Tick => {
                self.give_up(now_ns);
                self.pass_time(now_ns, &mut out);
            }
            Input::Backlog => self.pass_time(now_ns, &mut out),
            Input::Enough => {}
        }

        // At the end, so that an answer that came with this input still counts.
        self.conclude(overdue_ns, &mut out);
        out
    }

    fn pass_time(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        if !self.is_root && self.heartbeat.stops(now_ns) {
            out.push(Action::RootLost);
        }
        self.ask_time(now_ns, false, out);
    }

    fn ask_time(&mut self, now_ns: u64, parent_spoke: bool, out: &mut Vec<Action>) {
        if !self.closed && self.clock.ask(now_ns, parent_spoke) {
            let here = self.here;
            out.push(Action::Up(Up::WhatTime {
                asked_ns: now_ns,
                here,
            }));
        }
    }

    fn garbage(&mut self, member: usize) {
        self.ignored.garbage += 1;
        self.members.get_mut(member).garbage += 1;
    }

    /// Waits no longer for members that have been silent for too long.
    fn give_up(&mut self, now_ns: u64) {
        // Only waves and commands under way: later ones leave it out from their begin.
        for member in self.members.leave(now_ns) {
            self.waves.give_up(member, self.members.get(member));
            self.commands
                .under_way
                .give_up(member, self.members.get(member));
        }
    }

    /// Sends up whatever is complete, or overdue at `overdue_ns`.
    fn conclude(&mut self, overdue_ns: u64, out: &mut Vec<Action>) {
        if self.closed {
            return;
        }
        if self.present.complete() {
            out.push(Action::Up(Up::Hello {
                ranks: self.ranks(),
            }));
        }

        // Waves before commands and these before `Drained`: the parent gets the last results before
        // it learns that nothing follows.
        for (wave, sum) in self.waves.finish(overdue_ns, &mut self.members) {
            out.push(Action::Up(sum.into_answer(wave, self.notes())));
        }

        for (command, course) in self
            .commands
            .under_way
            .finish(overdue_ns, &mut self.members)
        {
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

    /// Whether a command has been given and not been answered for by everybody yet.
    pub(crate) fn is_under_way(&self, command: CommandId) -> bool {
        self.commands.under_way.find(command).is_some()
    }

    /// Whether another wave would displace the oldest.
    pub(crate) fn waves_full(&self) -> bool {
        self.waves.is_full()
    }

    /// Whether another command would displace the oldest.
    pub(crate) fn commands_full(&self) -> bool {
        self.commands.under_way.is_full()
    }
}
