//! The place and the supervisors of its ranks: who attaches, who ends, who is stopped and
//! continued.

use super::{Life, Now, Place};
use crate::gates;
use crate::memory::Memory;
use crate::notes::Trouble;
use crate::pause::Action;
use crate::process::Process;
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

/// How long a rank may outlive its supervisor before it is taken for one that is not killed with
/// it.
const ORPHAN_NS_MAX: u64 = 1_000_000_000;

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
                        if let Some(memory) = self.memory(rank) {
                            gates::close(memory, generation, until_ns);
                            self.feed.analyses.pause(rank, now.ticks);
                        }
                    }
                    gates::seen_by_all();
                    for &rank in &ranks {
                        if !self.tell(rank, &ToSupervisor::Stop { generation }) {
                            actions.extend(self.pauses.acted(
                                now.ns,
                                rank,
                                generation,
                                &Outcome::Running,
                            ));
                        }
                    }
                }
                Action::Hold {
                    ranks,
                    generation,
                    until_ns,
                } => actions.extend(self.close_for_hold(now, &ranks, generation, until_ns)),
                Action::Push { ranks, until_ns } => {
                    for memory in ranks.iter().filter_map(|rank| self.memory(*rank)) {
                        gates::push(memory, until_ns);
                    }
                }
                Action::Open { generation, keep } => {
                    for (rank, one) in (self.first..).map(Rank).zip(&self.ranks) {
                        if let Some(memory) = one.records.memory().filter(|_| !keep.contains(&rank))
                        {
                            gates::open(memory);
                        }
                        if let Some(supervisors) = &mut self.supervisors {
                            // One that is not there sees by itself that the gate is open.
                            supervisors.tell(rank, &ToSupervisor::Continue { generation });
                        }
                    }
                    self.feed.analyses.resume(now.ticks);
                }
                Action::Free { ranks } => {
                    for memory in ranks.iter().filter_map(|rank| self.memory(*rank)) {
                        gates::open(memory);
                    }
                }
                Action::Ack { command, acks } => {
                    self.run(now, Input::Local(Up::Ack { command, acks }))
                }
            }
        }
    }

    /// Closes gates for a hold, and says where the ranks are.
    fn close_for_hold(
        &mut self,
        now: Now,
        ranks: &[Rank],
        generation: u32,
        until_ns: u64,
    ) -> Vec<Action> {
        let mut closed = Vec::new();
        for &rank in ranks {
            if let Some(memory) = self.memory(rank) {
                closed.push((rank, gates::is_closed(memory, now.ns)));
                gates::close(memory, generation, until_ns);
            }
        }
        gates::seen_by_all();
        let mut actions = Vec::new();
        for (rank, was_closed) in closed {
            if let Some(index) = self.index(rank) {
                let stand = self.ranks[index].records.stand(was_closed);
                actions.extend(self.pauses.stood(now.ns, rank, stand));
            }
        }
        actions
    }

    /// Looks whether ranks stand that a command waits for.
    pub(super) fn look_for_held(&mut self, now: Now) {
        for rank in self.pauses.awaited() {
            if let Some(index) = self.index(rank) {
                let stand = self.ranks[index].records.stand(true);
                let actions = self.pauses.stood(now.ns, rank, stand);
                self.act(now, actions);
            }
        }
    }

    fn memory(&self, rank: Rank) -> Option<&Memory> {
        self.ranks[self.index(rank)?].records.memory()
    }

    pub(super) fn tell(&mut self, rank: Rank, message: &ToSupervisor) -> bool {
        self.supervisors
            .as_mut()
            .is_some_and(|supervisors| supervisors.tell(rank, message))
    }

    /// Something happened on the supervisors' socket.
    pub(super) fn supervisor(&mut self, now: Now, event: Event) {
        match event {
            Event::Attached { rank, pid, memory } => self.attach(now, rank, pid, &memory),
            Event::Said {
                rank,
                message:
                    FromSupervisor::Acted {
                        generation,
                        outcome,
                    },
            } => {
                let actions = self.pauses.acted(now.ns, rank, generation, &outcome);
                self.act(now, actions);
            }
            Event::Said {
                rank,
                message: FromSupervisor::Ended(how),
            } => self.ended(rank, how, true),
            Event::Said {
                rank,
                message: FromSupervisor::Inspected { inspection, call },
            } => self.seen(now, rank, inspection, call),
            Event::Said {
                rank,
                message:
                    FromSupervisor::Unwound {
                        unwinding,
                        thread,
                        rest,
                    },
            } => self.walked(now, rank, unwinding, thread, rest),
            Event::Said {
                message: FromSupervisor::Named { module, named },
                ..
            } => self.named(now, &module, named),
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
                // The kernel kills a rank with its supervisor, behind whose end it may go on for a
                // moment.
                if let Some(index) = self.index(rank) {
                    self.ranks[index].orphan_until_ns = now.ns.saturating_add(ORPHAN_NS_MAX);
                }
                self.ended(rank, Ended::Signal(Signal::KILL.as_raw()), false);
            }
            Event::Refused(why) => self
                .feed
                .notes
                .add(Trouble::Stranger, || format!("turned away: {why}")),
        }
    }

    fn attach(&mut self, now: Now, rank: Rank, pid: u32, descriptor: &OwnedFd) {
        let Some(index) = self.index(rank) else {
            return;
        };
        let said = |memory: &Memory| memory.page().rank.load(Ordering::Relaxed);
        match Memory::map(descriptor) {
            Ok(memory) if said(&memory) == rank.0 && self.ranks[index].life == Life::Absent => {
                self.ranks[index].records.attach(memory);
                self.ranks[index].life = Life::Alive;
                self.ranks[index].process = Process::of(pid);
                self.seen_ns.get_or_insert(now.ns);
                if let Some((on, epoch)) = self.recording.told()
                    && let Some(memory) = self.memory(rank)
                {
                    gates::switch(memory, on, epoch, now.ticks);
                }
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
            Err(error) => self.feed.notes.add(Trouble::Memory, || {
                format!("rank {rank}: {error}; not observed")
            }),
        }
    }

    /// A rank's process is gone.
    fn ended(&mut self, rank: Rank, how: Ended, lingers: bool) {
        let Some(index) = self.index(rank) else {
            return;
        };
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
        let fine =
            in_phase == phase::DRAINED || (in_phase == phase::SILENT && how == Ended::Code(0));
        if !fine {
            one.ended = Some(how);
        }
    }
}
