//! What the place does with messages of its ranks' supervisors.

use super::sampling::Came;
use super::{Place, measuring};
use crate::notes::Trouble;
use crate::supervisors::Event;
use crate::time_point::Now;
use invivo_proto::control::local::FromSupervisor;
use invivo_proto::control::tree::Ended;
use invivo_proto::ids::Rank;
use rustix::process::Signal;

impl Place {
    /// Something happened on the supervisors' socket.
    pub fn supervisor(&mut self, now: Now, event: Event) {
        match event {
            Event::Attached { rank, pid, memory } => {
                if self.local.attach(now, rank, pid, &memory) && !self.local.salvages {
                    self.sampling.attached(now, rank, &mut self.local);
                    self.measuring.attached(rank, &mut self.local);
                    self.commands.selecting.attached(rank, &self.local);
                    let answers = self.commands.attached(now, rank, &mut self.local);
                    self.answer(now, answers);
                }
            }
            Event::Said { rank, message } => self.supervisor_message(now, rank, message),
            Event::Lost { rank } => {
                // The kernel kills a rank whose supervisor dies, so that is how this one ends.
                let how = Ended::Signal(Signal::KILL.as_raw());
                self.local.supervisor_lost(now, rank, how);
                let mut answers = self.sampling.orders.lost(now, rank);
                answers.extend(self.measuring.lost(now, rank, &mut self.local));
                self.answer(now, answers);
                self.queries.profile.lost(rank);
                self.queries.metrics.lost(rank);
                self.answer_due_queries(now);
            }
            Event::Refused(why) => self
                .local
                .feed
                .notes
                .add(Trouble::Stranger, || format!("turned away: {why}")),
        }
    }

    /// A message of a rank's supervisor.
    fn supervisor_message(&mut self, now: Now, rank: Rank, message: FromSupervisor) {
        match message {
            FromSupervisor::Acted {
                generation,
                outcome,
            } => {
                let answers = self
                    .commands
                    .acted(now, rank, generation, &outcome, &mut self.local);
                self.answer(now, answers);
            }
            FromSupervisor::Ended(how) => {
                if let Some(index) = self.local.index(rank) {
                    self.local.ranks[index].process_ended(how, true);
                }
            }
            FromSupervisor::Faulted(fault) => {
                if let Some(index) = self.local.index(rank) {
                    self.local.ranks[index].faulted(fault);
                }
            }
            FromSupervisor::Inspected { inspection, call } => {
                self.queries.hang.inspected(rank, inspection, call);
                self.answer_due_queries(now);
            }
            FromSupervisor::Unwound {
                unwinding,
                thread,
                rest,
            } => {
                self.queries.stacks.unwound(rank, unwinding, thread, rest);
                self.answer_due_queries(now);
            }
            FromSupervisor::Named { module, named } => {
                self.queries.code.named(&module, &named);
                self.queries.stacks.named(&module, named);
                self.answer_due_queries(now);
            }
            FromSupervisor::Sampling { sampling, outcome } => {
                let answers = self
                    .sampling
                    .answered(now, rank, sampling, outcome, &mut self.local);
                self.answer(now, answers);
            }
            FromSupervisor::Profiled {
                profile,
                seen,
                nodes,
                rest,
            } => {
                self.queries
                    .profile
                    .profiled(rank, profile, seen, nodes, rest);
                self.answer_due_queries(now);
            }
            FromSupervisor::Contexts { first, contexts } => {
                let index = self.local.index(rank);
                let met = index.map(|index| self.local.ranks[index].records.met(first, contexts));
                if let Some(Err(_)) = met {
                    self.local.feed.notes.add(Trouble::Sampling, || {
                        format!(
                            "rank {rank}: functions of its samples were told out of order, or are \
                             too many: samples in them have no name"
                        )
                    });
                }
            }
            FromSupervisor::Samples {
                tid,
                halvings,
                left_out,
                taken,
            } => {
                let came = Came {
                    tid,
                    halvings,
                    left_out,
                    taken,
                };
                self.sampling.came(now, rank, &came, &mut self.local);
            }
            FromSupervisor::Measuring { measuring, outcome } => {
                let answers =
                    self.measuring
                        .answered(now, rank, measuring, outcome, &mut self.local);
                self.answer(now, answers);
            }
            FromSupervisor::Measured(reading) => {
                measuring::read(now, rank, &reading, self.tree.clock(), &mut self.local);
            }
            FromSupervisor::Spent { cpu_ns, in_rank_ns } => {
                if let Some(index) = self.local.index(rank) {
                    let rank = &mut self.local.ranks[index];
                    rank.spent_ns = cpu_ns.max(rank.spent_ns);
                    rank.sampled_ns = in_rank_ns.max(rank.sampled_ns);
                }
            }
            FromSupervisor::MetricsTried { without, .. } => {
                self.queries.metrics.tried(rank, without);
                self.answer_due_queries(now);
            }
            // The first message of a connection, already reported as `Event::Attached`.
            FromSupervisor::Attach { .. } => {}
        }
    }
}
