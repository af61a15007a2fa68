//! The node: the machine of every tool process.
//!
//! ```text
//!              parent                      Up::{Hello, Partial, Ack, Groups, RankEnded, Drained}
//!           Down |  ^ Up                   gathered over all members, or passed on
//!              [node]
//!        Down |  ^ Up   \ Local(Down)      Down::{Job, Command, Query, Heartbeat, Release, Shutdown}
//!            children    itself            to every member that is not lost
//! ```
//!
//! A node serves its children and, where ranks report to it directly, itself: the driver of a place is to its
//! node what a child is to an inner node, and speaks the same messages ([`Input::Local`], [`Action::Local`]).
//! So there is one machine for every role and any depth.
//!
//! Links keep their order and lose nothing (MPI's promise), members may fall silent: every question and every
//! command has a time-out that grows with the height, so that the deepest node that waits in vain gives up
//! first, names the silent member, and its parents still hear the rest of the branch in time.

use crate::acks;
use crate::commands::{Commands, Course, Known};
use crate::gather::Tally;
use crate::law::Law;
use crate::layout::Layout;
use crate::limits::{COMMAND_NS_PER_LAYER, WAVE_NS_PER_LAYER};
use crate::members::{Chorus, Member, Members};
use crate::pulse::Pulse;
use crate::waves::{self, Wave, Waves};
use alloc::vec::Vec;
use invivo_proto::control::results::Ledger;
use invivo_proto::control::tree::{Acks, Command, Down, Up, Verb};
use invivo_proto::ids::{CommandId, WorldRank};

/// Where a node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The node itself.
    pub me: WorldRank,
    /// Layers from the ranks up to it: 1 a place.
    pub height: u32,
    /// Ranks that it serves itself; nothing where only nodes are below.
    pub local: Option<u32>,
    /// The nodes below, each with the number of its ranks.
    pub children: Vec<(WorldRank, u32)>,
}

impl Seat {
    /// The seat of a tool process; nothing for a rank of the application.
    pub fn of(layout: &Layout, me: WorldRank) -> Option<Seat> {
        let ranks = |world| layout.ranks_of(world).len() as u32;
        let height = layout.height(me)?;
        match height {
            0 => None,
            1 => Some(Seat {
                me,
                height,
                local: Some(ranks(me)),
                children: Vec::new(),
            }),
            _ => {
                let children = layout.children(me).map(|child| (child, ranks(child))).collect();
                Some(Seat {
                    me,
                    height,
                    local: None,
                    children,
                })
            }
        }
    }
}

/// What can happen to a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The parent says something.
    Down(Down),
    /// A child says something.
    Up {
        /// The child.
        from: WorldRank,
        /// What it says.
        message: Up,
    },
    /// The driver says something for the ranks that the node serves itself. Its first word is [`Up::Hello`],
    /// once it is ready for them.
    Local(Up),
    /// Time passes. Before a tick, hand in everything that has arrived: what waits unread is not late.
    Tick,
    /// A child will never be heard again.
    ChildLost(WorldRank),
    /// A child's message cannot be read.
    Garbage(WorldRank),
}

/// What the driver has to do for a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send to a child.
    Down {
        /// The child.
        to: WorldRank,
        /// What to say.
        message: Down,
    },
    /// Send to the parent. (The root has none: there it is for the root itself.)
    Up(Up),
    /// For the driver itself. Commands and queries come only where the node serves ranks and are answered by
    /// [`Input::Local`]; all else comes everywhere.
    Local(Down),
    /// Nothing has been heard from the root for too long; said once per silence. Open the gates.
    RootLost,
}

/// What a node ignored, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Answers and acknowledgements that nobody waited for (any more).
    pub late: u64,
    /// Messages that could not be read, do not answer what was asked, or claim more ranks than there are.
    pub garbage: u64,
    /// Messages from processes that are no members, or are lost.
    pub strangers: u64,
    /// Messages after the shutdown.
    pub after_shutdown: u64,
}

/// The machine. `L` says how partial results are merged.
#[derive(Clone, Debug)]
pub struct Node<L> {
    law: L,
    height: u32,
    members: Members,
    waves: Waves,
    commands: Commands,
    present: Chorus,
    drained: Chorus,
    pulse: Pulse,
    closed: bool,
    ignored: Ignored,
}

impl<L: Law> Node<L> {
    /// A node at its seat. The clock for the root's silence starts at `now_ns`.
    pub fn new(now_ns: u64, seat: Seat, law: L) -> Node<L> {
        let member = |(world, ranks, local)| Member {
            world,
            ranks,
            local,
            lost: false,
            last: Ledger::default(),
        };
        let local = seat.local.map(|ranks| (seat.me, ranks, true));
        let children = seat
            .children
            .into_iter()
            .map(|(child, ranks)| (child, ranks, false));
        let members = Members::new(local.into_iter().chain(children).map(member).collect());
        Node {
            law,
            height: seat.height,
            waves: waves::none(),
            commands: Commands::none(),
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

    /// When [`Input::Tick`] is needed next, if nothing else happens before.
    pub fn next_tick_ns(&self) -> Option<u64> {
        let deadlines = [
            self.waves.next_deadline_ns(),
            self.commands.under_way.next_deadline_ns(),
            self.pulse.next_deadline_ns(),
        ];
        deadlines.into_iter().flatten().min().filter(|_| !self.closed)
    }

    /// Lets something happen; what the driver then has to do, in order. `now_ns` never runs back.
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
                Some(member) => self.climb(member, message, &mut out),
                None => self.ignored.strangers += 1,
            },
            Input::Local(message) => match self.members.local() {
                Some(member) => self.climb(member, message, &mut out),
                None => self.ignored.strangers += 1,
            },
            Input::ChildLost(child) => self.lose(child),
            Input::Garbage(_) => self.ignored.garbage += 1,
            Input::Tick if self.pulse.stops(now_ns) => out.push(Action::RootLost),
            Input::Tick => {}
        }
        self.conclude(overdue_ns, &mut out);
        out
    }

    fn living(&self, child: WorldRank) -> Option<usize> {
        self.members
            .child(child)
            .filter(|&member| !self.members.get(member).lost)
    }

    /// From above, to every member.
    fn descend(&mut self, now_ns: u64, message: Down, out: &mut Vec<Action>) {
        self.pulse.hear(now_ns);
        match &message {
            Down::Command(command) => {
                if !self.begin_command(now_ns, command, out) {
                    return;
                }
            }
            Down::Query { wave, query } => {
                let deadline_ns = self.deadline_ns(now_ns, WAVE_NS_PER_LAYER);
                self.waves
                    .begin(*wave, Wave::new(*query), deadline_ns, &self.members);
            }
            Down::Shutdown => {
                self.closed = true;
                self.waves.clear();
                self.commands.under_way.clear();
            }
            Down::Job(_) | Down::Heartbeat | Down::Release | Down::Time { .. } | Down::Groups(_) => {}
        }
        for child in self.members.reachable() {
            out.push(Action::Down {
                to: child.world,
                message: message.clone(),
            });
        }
        let for_ranks = matches!(message, Down::Command(_) | Down::Query { .. });
        if !for_ranks || self.members.local().is_some() {
            out.push(Action::Local(message));
        }
    }

    /// Whether the command is new. A past one is answered from memory, one under way will be answered anyway.
    fn begin_command(&mut self, now_ns: u64, command: &Command, out: &mut Vec<Action>) -> bool {
        match self.commands.known(command.id) {
            Some(Known::UnderWay(_)) => false,
            Some(Known::Past(course)) => {
                out.push(Action::Up(Up::Ack {
                    command: command.id,
                    acks: course.acks.clone(),
                }));
                false
            }
            None => {
                let deadline_ns = self.deadline_ns(now_ns, COMMAND_NS_PER_LAYER);
                self.commands
                    .under_way
                    .begin(command.id, Course::new(command), deadline_ns, &self.members);
                true
            }
        }
    }

    fn deadline_ns(&self, now_ns: u64, per_layer: u64) -> u64 {
        now_ns.saturating_add(per_layer.saturating_mul(u64::from(self.height)))
    }

    /// From a member, gathered or passed on.
    fn climb(&mut self, member: usize, message: Up, out: &mut Vec<Action>) {
        match message {
            Up::Hello { ranks } => {
                // Both sides know the layout; a difference means that they were started with different numbers.
                self.ignored.garbage += u64::from(ranks != self.members.get(member).ranks);
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
                    self.ignored.garbage += 1;
                    sum.absent(self.members.get(member));
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
                    self.ignored.garbage += 1;
                    course.absent(self.members.get(member));
                }
            }
            Up::Groups(_) | Up::RankEnded(_) | Up::WantGroups(_) | Up::WhatTime { .. } => {
                out.push(Action::Up(message))
            }
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
        for (wave, sum) in self.waves.finish(overdue_ns, &self.members) {
            out.push(Action::Up(sum.into_answer(wave)));
        }
        for (command, course) in self.commands.under_way.finish(overdue_ns, &self.members) {
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

    /// What a known command does.
    pub(crate) fn verb_of(&self, command: CommandId) -> Option<Verb> {
        self.commands.known(command).map(|known| known.verb())
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
    acks.targets <= ranks
        && acks.done <= acks.targets
        && u64::from(acks.held_in_mpi) + u64::from(acks.partly) <= u64::from(acks.done)
}
