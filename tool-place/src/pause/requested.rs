//! A pause, resume or hold command under way, from its arrival to its acknowledgement.

use super::action::PauseAction;
use invivo_proto::control::tree::{Acks, FAILURES_MAX};
use invivo_proto::ids::{CommandId, Rank};
use std::collections::BTreeSet;

/// A command that not every rank has answered.
#[derive(Debug)]
pub(super) struct Asked {
    pub command: CommandId,
    pub pausing: bool,
    pub began_ns: u64,
    pub waiting: BTreeSet<Rank>,
    pub acks: Acks,
}

impl Asked {
    pub fn answered(&mut self, now_ns: u64, rank: Rank, note: impl FnOnce(&mut Acks)) {
        // A rank may both answer and end; the first of the two counts.
        if !self.waiting.remove(&rank) {
            return;
        }
        let took = now_ns.saturating_sub(self.began_ns);
        note(&mut self.acks);
        if self.acks.slowest.is_none_or(|(_, slowest)| took > slowest) {
            self.acks.slowest = Some((rank, took));
        }
    }

    pub fn acknowledge(asked: &mut Option<Asked>) -> Option<PauseAction> {
        let done = asked.take_if(|asked| asked.waiting.is_empty())?;
        Some(PauseAction::Ack {
            command: done.command,
            acks: done.acks,
        })
    }

    pub fn conclude(asked: &mut Option<Asked>, why: &str) -> Option<PauseAction> {
        let under_way = asked.as_mut()?;
        for rank in std::mem::take(&mut under_way.waiting) {
            fail(&mut under_way.acks, rank, why);
        }
        Asked::acknowledge(asked)
    }
}

pub(super) fn fail(acks: &mut Acks, rank: Rank, why: &str) {
    // An acknowledgement has a bounded size; how many failed follows from `targets` and `done`.
    if acks.failures.len() < FAILURES_MAX {
        acks.failures.push((rank, why.to_owned()));
    }
}
