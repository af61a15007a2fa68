//! Orders that the supervisors of all ranks carry out: given to each, and acknowledged to the root
//! when all of them have answered.

use super::local_ranks::LocalRanks;
use crate::time_point::Now;
use invivo_proto::control::local::ToSupervisor;
use invivo_proto::control::tree::{Acks, FAILURES_MAX, Up};
use invivo_proto::ids::{CommandId, Rank};
use std::collections::BTreeSet;

/// How long a supervisor may take: it may start a process, and opens an event for each thread.
const PATIENCE_NS: u64 = 1_500_000_000;
/// What a supervisor's silence is called.
const SILENT: &str = "its supervisor did not answer";
/// The number of an order that nobody waits for: of ranks that come later.
pub const NOBODY: u32 = 0;

/// Orders of one kind.
#[derive(Default)]
pub struct SupervisorOrders {
    last: u32,
    under_way: Vec<UnderWay>,
}

struct UnderWay {
    command: CommandId,
    number: u32,
    begun_ns: u64,
    waiting: BTreeSet<Rank>,
    acks: Acks,
}

impl UnderWay {
    fn answered(&mut self, now_ns: u64, rank: Rank, outcome: Result<(), String>) {
        if !self.waiting.remove(&rank) {
            return;
        }
        let took_ns = now_ns.saturating_sub(self.begun_ns);
        let slowest = self.acks.slowest;
        if slowest.is_none_or(|(_, slowest_ns)| took_ns > slowest_ns) {
            self.acks.slowest = Some((rank, took_ns));
        }
        match outcome {
            Ok(()) => self.acks.done += 1,
            Err(why) => self.fail(rank, &why),
        }
    }

    fn fail(&mut self, rank: Rank, why: &str) {
        if self.acks.failures.len() < FAILURES_MAX {
            self.acks.failures.push((rank, why.to_owned()));
        }
    }
}

impl SupervisorOrders {
    /// Gives an order, made with its number, to all supervisors. The answer, where none of them
    /// has to be waited for.
    pub fn give(
        &mut self,
        now: Now,
        command: CommandId,
        order: impl Fn(u32) -> ToSupervisor,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        self.last = self.last.wrapping_add(1).max(NOBODY + 1);
        let mut under_way = UnderWay {
            command,
            number: self.last,
            begun_ns: now.ns,
            waiting: BTreeSet::new(),
            acks: Acks {
                targets: local.len() as u32,
                ..Acks::default()
            },
        };
        for rank in local.numbers() {
            match local.tell(rank, &order(self.last)) {
                true => {
                    under_way.waiting.insert(rank);
                }
                // One that has not come yet is told when it does, and one that has ended needs
                // nothing.
                false if !local.has_supervisor(rank) => under_way.acks.done += 1,
                false => under_way.fail(rank, SILENT),
            }
        }
        self.under_way.push(under_way);
        self.due(now)
    }

    /// A supervisor has done what the order of this number says, or says why not.
    pub fn answered(
        &mut self,
        now: Now,
        rank: Rank,
        number: u32,
        outcome: Result<(), String>,
    ) -> Vec<Up> {
        if let Some(one) = self.under_way.iter_mut().find(|one| one.number == number) {
            one.answered(now.ns, rank, outcome);
        }
        self.due(now)
    }

    /// A rank has no supervisor any more: there is nothing to do for it.
    pub fn lost(&mut self, now: Now, rank: Rank) -> Vec<Up> {
        for one in &mut self.under_way {
            one.answered(now.ns, rank, Ok(()));
        }
        self.due(now)
    }

    /// Answers what is done or has waited for long enough.
    pub fn due(&mut self, now: Now) -> Vec<Up> {
        for one in &mut self.under_way {
            if now.ns.saturating_sub(one.begun_ns) >= PATIENCE_NS {
                for rank in std::mem::take(&mut one.waiting) {
                    one.fail(rank, SILENT);
                }
            }
        }
        let done = self.under_way.extract_if(.., |one| one.waiting.is_empty());
        done.map(|one| Up::Ack {
            command: one.command,
            acks: one.acks,
        })
        .collect()
    }

    /// What is under way will not be done, for this reason.
    pub fn refuse(&mut self, refusal: &Acks) -> Vec<Up> {
        let all = self.under_way.drain(..);
        all.map(|one| Up::Ack {
            command: one.command,
            acks: refusal.clone(),
        })
        .collect()
    }
}
