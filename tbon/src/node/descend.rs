//! Handles messages from above: for all members, or for those who asked.

use super::{Action, Node};
use crate::commands::{Course, Known};
use crate::limits::{COMMAND_NS_PER_LAYER, WAVE_NS_PER_LAYER};
use crate::merge::Merge;
use crate::orders;
use crate::waves::Wave;
use alloc::vec::Vec;
use invivo_proto::control::tree::{Command, Down, Up, Verb};

impl<M: Merge> Node<M> {
    /// Handles a message of the parent.
    pub(super) fn descend(&mut self, now_ns: u64, message: Down, out: &mut Vec<Action>) {
        let mut for_all = true;
        self.alertness.hear(now_ns, &message);
        match &message {
            // These two come from the parent itself and do not prove that the root is alive.
            Down::Time {
                asked_ns,
                job_ns,
                error_ns,
                parent_ns,
                here,
            } => {
                self.above = *here;
                let clock = &mut self.clock;
                let known = match self.here.shares_clock(here) {
                    true => clock.shared(now_ns, *asked_ns, *parent_ns, *job_ns, *error_ns),
                    false => clock.answered(now_ns, *asked_ns, *job_ns, *error_ns),
                };
                self.ignored.late += u64::from(!known);
                return;
            }
            Down::Groups(told) => return self.pass_groups(told, out),
            Down::Command(command) => {
                self.heartbeat.hear(now_ns);
                if !self.begin_command(now_ns, command, out) {
                    return;
                }
            }
            Down::Query { wave, query } => {
                self.heartbeat.hear(now_ns);
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
            Down::Job(_) | Down::Analyses(_) | Down::Heartbeat | Down::Release => {
                self.heartbeat.hear(now_ns);
            }
        }

        for child in self.members.children() {
            // A silent child would not answer the question in time; a command or the shutdown must
            // reach it all the same.
            if for_all || !child.silent {
                out.push(Action::Down {
                    to: child.world,
                    message: message.clone(),
                });
            }
        }

        // The driver of a node without ranks of its own has nothing to answer.
        let for_ranks = matches!(message, Down::Command(_) | Down::Query { .. });
        if !for_ranks || self.members.local().is_some() {
            out.push(Action::Local(message));
        }
    }

    /// Whether the command is new. A past one is answered from memory, one under way will be
    /// answered anyway.
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
                // The command itself also goes to silent members; only nobody waits for them.
                let awake = self.members.roll_of_awake();
                self.commands.under_way.begin(
                    command.id,
                    Course::default(),
                    deadline_ns,
                    &self.members,
                    awake,
                );
                true
            }
        }
    }

    /// Own time from which on a command's usual time-out counts.
    fn due_ns(&self, now_ns: u64, verb: &Verb) -> u64 {
        let due_ns = match verb.due_ns() {
            0 => now_ns,
            // Without job time the due time cannot be converted: the usual distance of a cut is
            // assumed.
            _ if !self.clock.is_known() => {
                now_ns.saturating_add(verb.due_after_ns(orders::ahead_ns(self.height + 1)))
            }
            job_ns => self.clock.from_job(job_ns).max(now_ns),
        };
        due_ns.saturating_add(verb.extra_time_ns())
    }

    fn deadline_ns(&self, from_ns: u64, per_layer: u64) -> u64 {
        from_ns.saturating_add(per_layer.saturating_mul(u64::from(self.height)))
    }
}
