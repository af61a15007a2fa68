//! The place as a node of the tree: what its parent says is done or answered.

use super::{Exit, Life, Place, WANT_GROUPS_NS, WANT_LAST_GROUPS_NS};
use crate::pause::Pauses;
use crate::recording::Recording;
use crate::time_point::Now;
use invivo_proto::control::local::ToSupervisor;
use invivo_proto::control::tree::{
    Acks, Command, Down, FAILURES_MAX, JobInfo, Partial, Query, Up, Verb,
};
use invivo_proto::ids::Rank;
use invivo_tbon::node::{Action, Input};
use std::collections::VecDeque;

impl Place {
    /// Lets something happen to the node, and does what it asks for.
    pub(super) fn run(&mut self, now: Now, input: Input) {
        let mut actions = VecDeque::from(self.node.step(now.ns, input));
        while let Some(action) = actions.pop_front() {
            match action {
                Action::Up(message) => self.up.push(message),
                Action::Local(message) => {
                    if let Some(answer) = self.local(now, message) {
                        actions.extend(self.node.step(now.ns, Input::Local(answer)));
                    }
                }
                Action::RootLost => {
                    self.root_lost_ns = Some(now.ns);
                    // Without a root there is no word about memory either: analyse, keep nothing.
                    self.ready = true;
                    let pause_actions = self.pauses.end_all();
                    self.act(now, pause_actions);
                }
                // A place has nobody below.
                Action::Down { .. } => {}
            }
        }
    }

    /// What the node hands to its driver.
    fn local(&mut self, now: Now, message: Down) -> Option<Up> {
        match message {
            Down::Job(job) => self.begin(now, &job),
            Down::Command(command) => return self.command(now, &command),
            Down::Query {
                wave,
                query: Query::Hang { older_ns },
            } => return self.look_at_calls(now, wave, older_ns),
            Down::Query {
                wave,
                query: Query::Stacks { chosen, threads },
            } => return self.look_at_stacks(now, wave, chosen, threads),
            Down::Query { wave, query } => {
                let partial = match query {
                    Query::Functions { rank_rows_max } => {
                        Partial::Functions(self.feed.analyses.functions(rank_rows_max))
                    }
                    Query::Matrix { side_max } => {
                        Partial::Matrix(self.feed.analyses.matrix(side_max))
                    }
                    Query::Status => Partial::Status(self.status(now)),
                    Query::Buffers => Partial::Buffers(self.buffers(now)),
                    Query::Records {
                        location,
                        from_ns,
                        to_ns,
                        after,
                        max,
                    } => Partial::Records(self.kept_records(
                        now,
                        location,
                        from_ns..to_ns,
                        after,
                        max,
                    )),
                    Query::Timeline {
                        from,
                        from_ns,
                        to_ns,
                        newest,
                        max,
                    } => Partial::Timeline(self.last(now, from, from_ns..to_ns, newest, max)),
                    Query::Messages => Partial::Messages(Box::new(self.feed.analyses.messages())),
                    // Not answered at once.
                    Query::Hang { .. } | Query::Stacks { .. } => return None,
                };
                return Some(Up::Partial {
                    wave,
                    partial,
                    coverage: self.coverage(now),
                    missing: Vec::new(),
                });
            }
            Down::Heartbeat => {
                let actions = self.pauses.heartbeat(now.ns);
                self.act(now, actions);
            }
            Down::Groups(groups) => self.feed.analyses.learn_groups(groups),
            Down::Release => {
                // A rank has died: the launcher ends the job, and nobody can finalise MPI any more.
                self.abnormal = true;
                self.release();
            }
            Down::Shutdown => {
                self.release();
                self.exit = Some(if self.abnormal {
                    Exit::Abandon
                } else {
                    Exit::Finalize
                });
            }
            // The node's own.
            Down::Time { .. } => {}
        }
        None
    }

    /// The root has said which job this is.
    fn begin(&mut self, now: Now, job: &JobInfo) {
        self.feed.budget.begin(job.buffer_bytes, job.budget_bytes);
        self.begin_keeping(job.strategy);
        self.ready = true;
        let actions = self.pauses.begin(now.ns, job.hold_lease_ns);
        self.act(now, actions);
        self.begin_recording(now, job.recording);
    }

    /// A command, which is acknowledged at once only where it is refused.
    fn command(&mut self, now: Now, command: &Command) -> Option<Up> {
        if Recording::takes(&command.verb) {
            self.command_recording(now, command);
            return None;
        }
        if self.recording.is_shut_down() {
            return Some(Up::Ack {
                command: command.id,
                acks: self.shut_down(),
            });
        }
        if let Verb::Strategy { strategy } = command.verb {
            return Some(Up::Ack {
                command: command.id,
                acks: self.keep(strategy),
            });
        }
        if Pauses::takes(&command.verb) {
            let actions = self.pauses.command(now.ns, command);
            self.act(now, actions);
        }
        None
    }

    fn shut_down(&self) -> Acks {
        let why = match self.feed.is_lost {
            true => "its tool place failed in itself, and it runs on unobserved",
            false => "the measurement has been shut down",
        };
        let why = |rank| (Rank(rank), why.to_owned());
        Acks {
            targets: self.ranks.len() as u32,
            failures: (self.first..)
                .take(self.ranks.len().min(FAILURES_MAX))
                .map(why)
                .collect(),
            ..Acks::default()
        }
    }

    /// Tells the groups that the ranks told, and asks for those that they met.
    pub(super) fn exchange_groups(&mut self, now: Now) {
        self.feed.analyses.resolve();
        let groups = self.feed.analyses.take_groups();
        if !groups.is_empty() {
            self.run(now, Input::Local(Up::Groups(groups)));
        }
        let through = self.is_through(now);
        let every = if through {
            WANT_LAST_GROUPS_NS
        } else {
            WANT_GROUPS_NS
        };
        let unasked = through && self.wanted_ns <= self.through_ns;
        if unasked || now.ns.saturating_sub(self.wanted_ns) >= every {
            self.wanted_ns = now.ns;
            let wanted = self.feed.analyses.wanted_groups();
            self.wants_groups = !wanted.is_empty();
            if !wanted.is_empty() {
                self.run(now, Input::Local(Up::WantGroups(wanted)));
            }
        }
    }

    /// Lets the supervisors of ended ranks leave.
    pub(super) fn release(&mut self) {
        let Some(supervisors) = &mut self.supervisors else {
            return;
        };
        for (rank, one) in (self.first..).zip(&mut self.ranks) {
            if one.life == Life::Finished && std::mem::take(&mut one.lingers) {
                supervisors.tell(Rank(rank), &ToSupervisor::Leave);
            }
        }
    }
}
