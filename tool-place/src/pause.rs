//! Decides about pause, hold and resume on one place's ranks.
//!
//! When a gate closes, how long it may stay closed without a heartbeat of the root, which ranks
//! have answered, and what is acknowledged. Pure: time is an argument, actions come out.
//!
//! ```text
//! open --Pause--> closed --Resume, lease over, root lost--> open
//! open --Hold---> closed for ranks before the end of MPI_Init
//!                        --Resume, lease over, root lost--> open
//! ```
//!
//! A closed gate carries a time at which ranks open it themselves. It is put off with every
//! heartbeat of the root, never beyond the lease; so neither our death nor the root's leaves a rank
//! stopped. Pause and hold share the gate: it is open when neither wants it closed.

mod action;
mod hold;
mod hold_state;
mod requested;

pub use action::PauseAction;
pub use hold_state::Stand;

use hold_state::Hold;
use invivo_proto::control::local::Outcome;
use invivo_proto::control::results::PauseStatus;
use invivo_proto::control::tree::{Acks, Command, Verb};
use invivo_proto::ids::{CommandId, Rank};
use invivo_proto::rank_set::RankSet;
use requested::{Asked, fail};
use std::collections::{BTreeMap, BTreeSet};

/// How long a gate stays closed after a heartbeat without us: eight of them, and longer than the
/// silence after which the root is lost, so that a busy node opens none by mistake.
pub const HOLD_NS: u64 = 2_000_000_000;
/// A supervisor that has not answered by then is named as a failure. It needs some 100 us to stop a
/// process, a few schedule slices on a crowded node.
pub const ANSWER_NS: u64 = 1_000_000_000;

/// Whether a rank can be paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Absent,
    Present,
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    command: CommandId,
    lease_end_ns: u64,
}

/// The pause and the hold in force, and the commands under way.
#[derive(Debug)]
pub struct Pauses {
    lives: BTreeMap<Rank, Presence>,
    generation: u32,
    /// The root has said whether ranks are held from the start.
    begun: bool,
    pause: Option<Pause>,
    hold: Option<Hold>,
    asked: Option<Asked>,
}

impl Pauses {
    /// Of a place with these ranks, none of which is there yet.
    pub fn new(ranks: impl Into<RankSet>) -> Pauses {
        let ranks = ranks.into().iter();
        Pauses {
            lives: ranks.map(|rank| (rank, Presence::Absent)).collect(),
            generation: 0,
            begun: false,
            pause: None,
            hold: None,
            asked: None,
        }
    }

    /// Whether no pause, no hold and no command is in force, and none is awaited from the start.
    pub fn is_at_rest(&self) -> bool {
        self.begun && self.pause.is_none() && self.hold.is_none() && self.asked.is_none()
    }

    /// The pause in force.
    pub fn status(&self, now_ns: u64) -> Option<PauseStatus> {
        self.pause.map(|pause| PauseStatus {
            command: pause.command,
            lease_left_ns: pause.lease_end_ns.saturating_sub(now_ns),
        })
    }

    /// The root is alive.
    pub fn heartbeat(&mut self, now_ns: u64) -> Vec<PauseAction> {
        let push = |(until_ns, ranks)| PauseAction::Push { ranks, until_ns };
        self.closed_until(now_ns).into_iter().map(push).collect()
    }

    /// Ranks whose gates are to stay closed, by how long: of one that is paused and held it is the
    /// later. One value for each rank, since what is written between two would open its gate when
    /// time runs out in between.
    fn closed_until(&self, now_ns: u64) -> BTreeMap<u64, Vec<Rank>> {
        let paused = self.pause.map(|pause| until(now_ns, pause.lease_end_ns));
        let mut by_time: BTreeMap<u64, Vec<Rank>> = BTreeMap::new();
        for rank in self.with(Presence::Present) {
            if let Some(until_ns) = paused.max(self.held_rank_until(now_ns, rank)) {
                by_time.entry(until_ns).or_default().push(rank);
            }
        }
        by_time
    }

    /// A command came from the root: a pause, a resume or a hold.
    pub fn command(&mut self, now_ns: u64, command: &Command) -> Vec<PauseAction> {
        match command.verb {
            Verb::Pause { lease_ns } => self.begin_pause(now_ns, command.id, lease_ns),
            Verb::Resume => self.resume(now_ns, command.id),
            Verb::Hold { lease_ns } => self.begin_hold(now_ns, command.id, lease_ns),
            _ => Vec::new(),
        }
    }

    fn begin_pause(&mut self, now_ns: u64, command: CommandId, lease_ns: u64) -> Vec<PauseAction> {
        let mut actions = self.conclude("another command came first");
        let present: BTreeSet<Rank> = self.with(Presence::Present).collect();
        let mut acks = self.targets();
        acks.done = self.with(Presence::Done).count() as u32;
        // It fails for those now, but `attached` closes their gates as long as the pause lasts.
        for rank in self.with(Presence::Absent) {
            fail(
                &mut acks,
                rank,
                "has not started yet; it is held as soon as it does",
            );
        }

        let pause = Pause {
            command,
            lease_end_ns: now_ns.saturating_add(lease_ns),
        };
        self.pause = Some(pause);
        // 0 in the gate's word means open.
        self.generation = self.generation.wrapping_add(1).max(1);
        let generation = self.generation;

        let close = |(until_ns, ranks)| PauseAction::Close {
            ranks,
            generation,
            until_ns,
        };
        actions.extend(self.closed_until(now_ns).into_iter().map(close));
        self.asked = Some(Asked {
            command,
            pausing: true,
            began_ns: now_ns,
            waiting: present,
            acks,
        });
        actions.extend(self.acknowledge());
        actions
    }

    fn resume(&mut self, now_ns: u64, command: CommandId) -> Vec<PauseAction> {
        // Of commands that stop or continue ranks one is under way at a time.
        let mut actions = self.conclude("another command came first");
        let freed = self.end_hold("resumed first", &mut actions);
        let present: BTreeSet<Rank> = self.with(Presence::Present).collect();
        let mut acks = self.targets();
        acks.done = acks.targets - present.len() as u32;
        if self.pause.take().is_none() {
            // Nobody was stopped: done as soon as the gates are open.
            if !freed.is_empty() {
                actions.push(PauseAction::Free { ranks: freed });
            }
            acks.done = acks.targets;
            actions.push(PauseAction::Ack { command, acks });
            return actions;
        }
        actions.push(PauseAction::Open {
            generation: self.generation,
            keep: Vec::new(),
        });
        self.asked = Some(Asked {
            command,
            pausing: false,
            began_ns: now_ns,
            waiting: present,
            acks,
        });
        actions.extend(self.acknowledge());
        actions
    }

    /// A rank's supervisor attached. During a pause or a hold the rank is held at once; otherwise
    /// its gate, which a supervisor may have closed before the start, is opened.
    pub fn attached(&mut self, now_ns: u64, rank: Rank) -> Vec<PauseAction> {
        let Some(life) = self
            .lives
            .get_mut(&rank)
            .filter(|life| **life == Presence::Absent)
        else {
            return Vec::new();
        };
        *life = Presence::Present;
        let mut actions = Vec::new();
        if let Some(pause) = self.pause {
            actions.push(PauseAction::Close {
                ranks: vec![rank],
                generation: self.generation,
                until_ns: match &self.hold {
                    Some(hold) => self.held_until(now_ns, hold),
                    None => until(now_ns, pause.lease_end_ns),
                },
            });
        }
        if let Some(hold) = &self.hold {
            actions.push(self.close_for_hold(now_ns, hold, vec![rank]));
        } else if self.pause.is_none() && self.begun {
            actions.push(PauseAction::Free { ranks: vec![rank] });
        }
        actions
    }

    /// A rank needs no pause any more: it has drained or ended.
    pub fn finished(&mut self, now_ns: u64, rank: Rank) -> Vec<PauseAction> {
        let Some(life) = self.lives.get_mut(&rank) else {
            return Vec::new();
        };
        *life = Presence::Done;
        let mut actions: Vec<PauseAction> = self.finished_held(now_ns, rank).into_iter().collect();
        actions.extend(self.answered(now_ns, rank, |acks| acks.done += 1));
        actions
    }

    /// A supervisor answered.
    pub fn acted(
        &mut self,
        now_ns: u64,
        rank: Rank,
        generation: u32,
        outcome: &Outcome,
    ) -> Vec<PauseAction> {
        // A late answer to an earlier pause must not count for this one.
        if generation != self.generation {
            return Vec::new();
        }
        let Some(pausing) = self.asked.as_ref().map(|asked| asked.pausing) else {
            return Vec::new();
        };
        self.answered(now_ns, rank, |acks| match (outcome, pausing) {
            (Outcome::Gone, _) | (Outcome::Stopped, true) | (Outcome::Running, false) => {
                acks.done += 1
            }
            (Outcome::HeldInMpi, true) => {
                acks.done += 1;
                acks.held_in_mpi += 1;
            }
            (Outcome::Partly { .. }, true) => {
                acks.done += 1;
                acks.partly += 1;
            }
            // Everything else is the opposite of what was requested.
            (Outcome::Running, true) => fail(acks, rank, "could not be stopped"),
            (_, false) => fail(acks, rank, "could not be continued"),
        })
    }

    /// Time has passed.
    pub fn tick(&mut self, now_ns: u64) -> Vec<PauseAction> {
        let mut actions = Vec::new();
        if self
            .asked
            .as_ref()
            .is_some_and(|asked| now_ns.saturating_sub(asked.began_ns) > ANSWER_NS)
        {
            actions.extend(self.conclude("its supervisor did not answer within 1 s"));
        }
        if self.pause.is_some_and(|pause| now_ns >= pause.lease_end_ns) {
            actions.extend(self.end_pause());
        }
        actions.extend(self.tick_held(now_ns));
        actions
    }

    /// Opens all gates: the measurement ends, or the root has been silent for too long and nobody
    /// could resume.
    pub fn end_all(&mut self) -> Vec<PauseAction> {
        let mut actions = Vec::new();
        // Before the job begins supervisors may keep gates closed for a hold that nobody will ask
        // for.
        let may_be_closed = !std::mem::replace(&mut self.begun, true) || self.hold.is_some();
        self.end_hold("the hold ended first", &mut actions);
        if self.pause.is_some() {
            actions.extend(self.end_pause());
        } else if may_be_closed {
            actions.push(PauseAction::Free {
                ranks: self.with(Presence::Present).collect(),
            });
        }
        actions
    }

    fn end_pause(&mut self) -> Vec<PauseAction> {
        if self.pause.take().is_none() {
            return Vec::new();
        }
        let mut actions = self.conclude("the pause ended first");
        actions.push(PauseAction::Open {
            generation: self.generation,
            // The hold has its own lease; its ranks stay behind their gates.
            keep: self.held(),
        });
        actions
    }

    fn targets(&self) -> Acks {
        Acks {
            targets: self.lives.len() as u32,
            ..Acks::default()
        }
    }

    fn with(&self, life: Presence) -> impl Iterator<Item = Rank> {
        self.lives
            .iter()
            .filter(move |(_, l)| **l == life)
            .map(|(rank, _)| *rank)
    }

    /// Notes a rank's answer to the command under way.
    fn answered(
        &mut self,
        now_ns: u64,
        rank: Rank,
        note: impl FnOnce(&mut Acks),
    ) -> Vec<PauseAction> {
        if let Some(asked) = &mut self.asked {
            asked.answered(now_ns, rank, note);
        }
        self.acknowledge()
    }

    /// Answers the command under way if every rank has.
    fn acknowledge(&mut self) -> Vec<PauseAction> {
        Asked::acknowledge(&mut self.asked).into_iter().collect()
    }

    /// Answers the command under way as it stands.
    fn conclude(&mut self, why: &str) -> Vec<PauseAction> {
        Asked::conclude(&mut self.asked, why).into_iter().collect()
    }
}

/// How long a gate stays closed if nothing more is heard.
fn until(now_ns: u64, lease_end_ns: u64) -> u64 {
    now_ns.saturating_add(HOLD_NS).min(lease_end_ns)
}

#[cfg(test)]
mod tests;
