//! Pause and resume on one place's ranks: when the gate closes, how long it may stay closed without word from
//! the root, who has answered, and what is acknowledged. Pure: time is an argument, actions come out.
//!
//! ```text
//! open --Pause--> closed --Resume, lease over, root lost--> open
//! ```
//!
//! A closed gate carries a time at which ranks open it themselves. It is pushed on with every heartbeat of
//! the root, never beyond the lease; so neither our death nor the root's leaves a rank standing.

use invivo_proto::control::local::Outcome;
use invivo_proto::control::results::PauseStatus;
use invivo_proto::control::tree::{Acks, Command, FAILURES_MAX, Verb};
use invivo_proto::ids::{CommandId, Rank};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How long a gate stays closed after a heartbeat without us: eight of them, and longer than the silence after
/// which the root is lost, so that a busy node opens none by mistake.
pub const HOLD_NS: u64 = 2_000_000_000;
/// A supervisor that has not answered by then is named as a failure. It needs some 100 us to stop a process,
/// a few schedule slices on a crowded node.
pub const ANSWER_NS: u64 = 1_000_000_000;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Close the gate of these ranks until then, and have their supervisors stop them.
    Close {
        /// Whose.
        ranks: Vec<Rank>,
        /// The pause.
        generation: u32,
        /// `CLOCK_MONOTONIC`.
        until_ns: u64,
    },
    /// Let the closed gates stay closed until then.
    Push {
        /// `CLOCK_MONOTONIC`.
        until_ns: u64,
    },
    /// Open all gates and have the supervisors let the ranks go on.
    Open {
        /// The pause that ends.
        generation: u32,
    },
    /// Answer a command.
    Ack {
        /// Which.
        command: CommandId,
        /// How it went.
        acks: Acks,
    },
}

/// Where a rank is in its life, as far as a pause is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Absent,
    Present,
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    command: CommandId,
    lease_end_ns: u64,
}

/// A command that not every rank has answered.
#[derive(Debug)]
struct Asked {
    command: Command,
    began_ns: u64,
    waiting: BTreeSet<Rank>,
    acks: Acks,
}

/// See the module's head.
#[derive(Debug)]
pub struct Pauses {
    lives: BTreeMap<Rank, Life>,
    generation: u32,
    pause: Option<Pause>,
    asked: Option<Asked>,
}

impl Pauses {
    /// Of a place with these ranks, none of which is there yet.
    pub fn new(ranks: Range<u32>) -> Pauses {
        Pauses {
            lives: ranks.map(|rank| (Rank(rank), Life::Absent)).collect(),
            generation: 0,
            pause: None,
            asked: None,
        }
    }

    /// The pause in force.
    pub fn status(&self, now_ns: u64) -> Option<PauseStatus> {
        self.pause.map(|pause| PauseStatus {
            command: pause.command,
            lease_left_ns: pause.lease_end_ns.saturating_sub(now_ns),
        })
    }

    /// The root is alive.
    pub fn heartbeat(&mut self, now_ns: u64) -> Vec<Action> {
        match self.pause {
            Some(pause) => vec![Action::Push {
                until_ns: until(now_ns, &pause),
            }],
            None => Vec::new(),
        }
    }

    /// A command came from the root.
    pub fn command(&mut self, now_ns: u64, command: &Command) -> Vec<Action> {
        let mut actions = self.conclude("another command came first");
        let present: BTreeSet<Rank> = self.with(Life::Present).collect();
        let mut acks = Acks {
            targets: self.lives.len() as u32,
            ..Acks::default()
        };
        acks.done = self.with(Life::Done).count() as u32;
        match command.verb {
            Verb::Pause { lease_ns } => {
                for rank in self.with(Life::Absent) {
                    fail(
                        &mut acks,
                        rank,
                        "has not started yet; it is held as soon as it does",
                    );
                }
                let pause = Pause {
                    command: command.id,
                    lease_end_ns: now_ns.saturating_add(lease_ns),
                };
                self.pause = Some(pause);
                self.generation = self.generation.wrapping_add(1).max(1);
                actions.push(Action::Close {
                    ranks: present.iter().copied().collect(),
                    generation: self.generation,
                    until_ns: until(now_ns, &pause),
                });
            }
            Verb::Resume => {
                acks.done += self.with(Life::Absent).count() as u32;
                if self.pause.take().is_none() {
                    // Nothing is held: done as it is.
                    acks.done += present.len() as u32;
                    actions.push(Action::Ack {
                        command: command.id,
                        acks,
                    });
                    return actions;
                }
                actions.push(Action::Open {
                    generation: self.generation,
                });
            }
        }
        self.asked = Some(Asked {
            command: command.clone(),
            began_ns: now_ns,
            waiting: present,
            acks,
        });
        actions.extend(self.acknowledge());
        actions
    }

    /// A rank's supervisor attached. During a pause the rank is held at once.
    pub fn attached(&mut self, now_ns: u64, rank: Rank) -> Vec<Action> {
        if let Some(life) = self.lives.get_mut(&rank)
            && *life == Life::Absent
        {
            *life = Life::Present;
            if let Some(pause) = self.pause {
                let until_ns = until(now_ns, &pause);
                return vec![Action::Close {
                    ranks: vec![rank],
                    generation: self.generation,
                    until_ns,
                }];
            }
        }
        Vec::new()
    }

    /// A rank needs no pause any more: it has drained or ended.
    pub fn finished(&mut self, now_ns: u64, rank: Rank) -> Vec<Action> {
        let Some(life) = self.lives.get_mut(&rank) else {
            return Vec::new();
        };
        *life = Life::Done;
        self.answered(now_ns, rank, |acks| acks.done += 1)
    }

    /// A supervisor answered.
    pub fn acted(&mut self, now_ns: u64, rank: Rank, generation: u32, outcome: &Outcome) -> Vec<Action> {
        if generation != self.generation {
            return Vec::new();
        }
        let Some(asked) = &self.asked else {
            return Vec::new();
        };
        let pausing = matches!(asked.command.verb, Verb::Pause { .. });
        self.answered(now_ns, rank, |acks| match (outcome, pausing) {
            (Outcome::Gone, _) | (Outcome::Stopped, true) | (Outcome::Running, false) => acks.done += 1,
            (Outcome::HeldInMpi, true) => {
                acks.done += 1;
                acks.held_in_mpi += 1;
            }
            (Outcome::Partly { .. }, true) => {
                acks.done += 1;
                acks.partly += 1;
            }
            (Outcome::Running, true) => fail(acks, rank, "could not be stopped"),
            (_, false) => fail(acks, rank, "could not be continued"),
        })
    }

    /// Time has passed.
    pub fn tick(&mut self, now_ns: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        if self
            .asked
            .as_ref()
            .is_some_and(|asked| now_ns.saturating_sub(asked.began_ns) > ANSWER_NS)
        {
            actions.extend(self.conclude("its supervisor did not answer within 1 s"));
        }
        if self.pause.is_some_and(|pause| now_ns >= pause.lease_end_ns) {
            actions.extend(self.end());
        }
        actions
    }

    /// Nothing has been heard from the root for too long: nobody could resume, so nothing stays paused.
    pub fn root_lost(&mut self) -> Vec<Action> {
        self.end()
    }

    fn end(&mut self) -> Vec<Action> {
        if self.pause.take().is_none() {
            return Vec::new();
        }
        let mut actions = self.conclude("the pause ended first");
        actions.push(Action::Open {
            generation: self.generation,
        });
        actions
    }

    fn with(&self, life: Life) -> impl Iterator<Item = Rank> {
        self.lives
            .iter()
            .filter(move |(_, l)| **l == life)
            .map(|(rank, _)| *rank)
    }

    /// Notes a rank's answer to the command under way.
    fn answered(&mut self, now_ns: u64, rank: Rank, note: impl FnOnce(&mut Acks)) -> Vec<Action> {
        if let Some(asked) = &mut self.asked
            && asked.waiting.remove(&rank)
        {
            let took = now_ns.saturating_sub(asked.began_ns);
            note(&mut asked.acks);
            if asked.acks.slowest.is_none_or(|(_, slowest)| took > slowest) {
                asked.acks.slowest = Some((rank, took));
            }
        }
        self.acknowledge()
    }

    /// Answers the command under way if every rank has.
    fn acknowledge(&mut self) -> Vec<Action> {
        match self.asked.take_if(|asked| asked.waiting.is_empty()) {
            Some(asked) => vec![Action::Ack {
                command: asked.command.id,
                acks: asked.acks,
            }],
            None => Vec::new(),
        }
    }

    /// Answers the command under way as it stands.
    fn conclude(&mut self, why: &str) -> Vec<Action> {
        if let Some(asked) = &mut self.asked {
            for rank in std::mem::take(&mut asked.waiting) {
                fail(&mut asked.acks, rank, why);
            }
        }
        self.acknowledge()
    }
}

/// How long a gate stays closed if nothing more is heard.
fn until(now_ns: u64, pause: &Pause) -> u64 {
    now_ns.saturating_add(HOLD_NS).min(pause.lease_end_ns)
}

fn fail(acks: &mut Acks, rank: Rank, why: &str) {
    if acks.failures.len() < FAILURES_MAX {
        acks.failures.push((rank, why.to_owned()));
    }
}

#[cfg(test)]
mod tests;
