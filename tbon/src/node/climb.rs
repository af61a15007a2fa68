//! Handles messages of the members: gathers, answers, or passes them on.

use super::{Action, Node};
use crate::acks;
use crate::gather::Answers;
use crate::groups::{self, Told};
use crate::members::Member;
use crate::merge::Merge;
use alloc::vec::Vec;
use invivo_proto::control::tree::{Acks, Cut, Down, Up};
use invivo_proto::ids::CommId;

impl<M: Merge> Node<M> {
    /// Handles a message of a member.
    pub(super) fn climb(&mut self, now_ns: u64, member: usize, message: Up, out: &mut Vec<Action>) {
        match message {
            Up::Hello { ranks } => {
                // Both sides know the layout; a difference means that they were started with
                // different numbers.
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
                // An answer about more ranks than the member has would spoil the totals of the job.
                let plausible =
                    coverage.ranks <= member_is.ranks && coverage.ranks_reporting <= coverage.ranks;
                if plausible {
                    member_is.last = coverage.ledger;
                }
                let Some(sum) = self.waves.answered(wave, member) else {
                    self.ignored.late += 1;
                    return;
                };
                // The member did answer, so it is not silent; its ranks are missing from this
                // answer only.
                if !plausible || sum.add(&self.merge, partial, &coverage, missing).is_err() {
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
            Up::WhatTime { asked_ns, here } => {
                self.members.get_mut(member).here = here;
                if !self.here.shares_clock(&here) {
                    self.alertness.answered_time(now_ns);
                }
                let time = Down::Time {
                    asked_ns,
                    job_ns: self.clock.job_ns(now_ns),
                    error_ns: self.clock.error_ns(now_ns),
                    parent_ns: now_ns,
                    here: self.here,
                };
                out.push(self.to_member(member, time));
            }
            Up::WantGroups(ids) => self.want_groups(now_ns, member, ids, out),
            // Groups climb to the root; from there they go down to the members that asked.
            Up::Groups(told) if self.is_root => self.pass_groups(&told, out),
            Up::Groups(_) | Up::RankFaulted(_) | Up::RankEnded(_) => out.push(Action::Up(message)),
        }
    }

    fn want_groups(&mut self, now_ns: u64, member: usize, ids: Vec<CommId>, out: &mut Vec<Action>) {
        let (known, up) = self.groups.want(now_ns, member, ids);
        self.tell_groups(member, known, out);
        if !up.is_empty() && !self.is_root {
            out.push(Action::Up(Up::WantGroups(up)));
        }
    }

    pub(super) fn pass_groups(&mut self, told: &Told, out: &mut Vec<Action>) {
        for (member, told) in self.groups.learn(told) {
            self.tell_groups(member, told, out);
        }
    }

    fn tell_groups(&self, member: usize, told: Told, out: &mut Vec<Action>) {
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
}

/// Whether acknowledgements can be those of a member with `ranks` ranks.
fn plausible(acks: &Acks, ranks: u32) -> bool {
    let in_order = |cut: &Option<Cut>| cut.is_none_or(|cut| cut.earliest_ns <= cut.latest_ns);
    acks.targets <= ranks
        && acks.done <= acks.targets
        && u64::from(acks.held_in_mpi) + u64::from(acks.partly) <= u64::from(acks.done)
        && in_order(&acks.from)
        && in_order(&acks.to)
}
