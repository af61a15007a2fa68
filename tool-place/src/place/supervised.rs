//! The place and the supervisors of its ranks: who attaches, who ends, who is stopped and continued.

use super::{Life, Now, Place};
use crate::gates;
use crate::memory::Memory;
use crate::notes::Trouble;
use crate::pause::Action;
use crate::supervisors::Event;
use invivo_proto::control::local::{FromSupervisor, Outcome, ToSupervisor};
use invivo_proto::control::tree::{Ended, Up};
use invivo_proto::ids::Rank;
use invivo_proto::shm::phase;
use invivo_tbon::node::Input;
use rustix::process::Signal;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

impl Place {
    /// Does what a pause asks for.
    pub(super) fn act(&mut self, now: Now, actions: Vec<Action>) {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            match action {
                Action::Close {
                    ranks,
                    generation,
                    until_ns,
                } => {
                    for &rank in &ranks {
                        if let Some(memory) = self
                            .index(rank)
                            .and_then(|index| self.ranks[index].records.memory())
                        {
                            gates::close(memory, generation, until_ns);
                            self.feed.analyses.pause(rank, now.ticks);
                        }
                    }
                    gates::seen_by_all();
                    for &rank in &ranks {
                        if !self.tell(rank, &ToSupervisor::Stop { generation }) {
                            actions.extend(self.pauses.acted(now.ns, rank, generation, &Outcome::Running));
                        }
                    }
                }
                Action::Push { until_ns } => {
                    for memory in self.ranks.iter().filter_map(|one| one.records.memory()) {
                        gates::push(memory, until_ns);
                    }
                }
                Action::Open { generation } => {
                    for (rank, one) in (self.first..).map(Rank).zip(&self.ranks) {
                        if let Some(memory) = one.records.memory() {
                            gates::open(memory);
                        }
                        if let Some(supervisors) = &mut self.supervisors {
                            // One that is not there sees by itself that the gate is open.
                            supervisors.tell(rank, &ToSupervisor::Continue { generation });
                        }
                    }
                    self.feed.analyses.resume(now.ticks);
                }
                Action::Ack { command, acks } => self.run(now, Input::Local(Up::Ack { command, acks })),
            }
        }
    }

    fn tell(&mut self, rank: Rank, message: &ToSupervisor) -> bool {
        self.supervisors
            .as_mut()
            .is_some_and(|supervisors| supervisors.tell(rank, message))
    }

    /// Something happened on the supervisors' socket.
    pub(super) fn supervisor(&mut self, now: Now, event: Event) {
        match event {
            Event::Attached { rank, memory, .. } => self.attach(now, rank, &memory),
            Event::Said {
                rank,
                message: FromSupervisor::Acted { generation, outcome },
            } => {
                let actions = self.pauses.acted(now.ns, rank, generation, &outcome);
                self.act(now, actions);
            }
            Event::Said {
                rank,
                message: FromSupervisor::Ended(how),
            } => self.ended(rank, how, true),
            // Said once, at the beginning, and told as `Attached`.
            Event::Said {
                message: FromSupervisor::Attach { .. },
                ..
            } => {}
            Event::Lost { rank } => {
                let alive = self
                    .index(rank)
                    .is_some_and(|index| self.ranks[index].life == Life::Alive);
                if alive {
                    self.feed.notes.add(Trouble::Supervisor, || {
                        format!("the supervisor of rank {rank} went away without a word: the rank counts as killed")
                    });
                }
                // The kernel kills a rank with its supervisor.
                self.ended(rank, Ended::Signal(Signal::KILL.as_raw()), false);
            }
            Event::Refused(why) => self
                .feed
                .notes
                .add(Trouble::Stranger, || format!("turned away: {why}")),
        }
    }

    fn attach(&mut self, now: Now, rank: Rank, descriptor: &OwnedFd) {
        let Some(index) = self.index(rank) else { return };
        let said = |memory: &Memory| memory.page().rank.load(Ordering::Relaxed);
        match Memory::map(descriptor) {
            Ok(memory) if said(&memory) == rank.0 && self.ranks[index].life == Life::Absent => {
                self.ranks[index].records.attach(memory);
                self.ranks[index].life = Life::Alive;
                self.seen_ns.get_or_insert(now.ns);
                let actions = self.pauses.attached(now.ns, rank);
                self.act(now, actions);
            }
            Ok(memory) => {
                let said = said(&memory);
                self.feed.notes.add(Trouble::Memory, || {
                    format!(
                        "rank {rank}: its memory is refused; it says that it is of rank {said}, or came twice"
                    )
                });
            }
            Err(error) => self
                .feed
                .notes
                .add(Trouble::Memory, || format!("rank {rank}: {error}; not observed")),
        }
    }

    /// A rank's process is gone.
    fn ended(&mut self, rank: Rank, how: Ended, lingers: bool) {
        let Some(index) = self.index(rank) else { return };
        let one = &mut self.ranks[index];
        one.lingers = lingers;
        if one.life != Life::Alive {
            return;
        }
        one.life = Life::Ending;
        let in_phase = one
            .records
            .memory()
            .map_or(phase::STARTING, |m| m.page().phase.load(Ordering::Acquire));
        // What the rank asked for tells more than how its launcher then killed it.
        let abort_code = |memory: &Memory| memory.page().abort_code.load(Ordering::Relaxed);
        let how = match one.records.memory().filter(|_| in_phase == phase::ABORTING) {
            Some(memory) => Ended::Code(abort_code(memory) as i32),
            None => how,
        };
        let fine = in_phase == phase::DRAINED || (in_phase == phase::SILENT && how == Ended::Code(0));
        if !fine {
            one.ended = Some(how);
        }
    }
}
