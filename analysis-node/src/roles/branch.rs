//! An inner node's role in the process loop: receives from parent and children, and passes on.

use super::tree_messages::{FLUSH_MAX, at_a_time, send_down, send_up};
use crate::branch::{Branch, BranchAction};
use crate::self_stats::SelfStats;
use invivo_mpi_link::Transport;
use invivo_mpi_link::idle::Pace;
use invivo_mpi_link::panics::PanicGuard;
use invivo_mpi_link::runtime::{Exit, Role};
use invivo_proto::channel::{TAG_DOWN, TAG_UP};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::WorldRank;
use invivo_tbon::node::Position;
use std::time::Duration;

/// An inner node on a transport. `C` reads `CLOCK_MONOTONIC`, in ns.
pub struct BranchRole<C> {
    branch: Branch,
    parent: WorldRank,
    children: usize,
    /// The time of this process is counted here, and by no other role of it.
    counts_cpu: bool,
    now_ns: C,
}

impl<C: Fn() -> u64> BranchRole<C> {
    /// The node at its position, below `parent`.
    pub fn new(position: Position, parent: WorldRank, now_ns: C) -> BranchRole<C> {
        BranchRole {
            parent,
            children: position.children.len(),
            branch: Branch::new(now_ns(), position),
            counts_cpu: true,
            now_ns,
        }
    }

    /// In a process that runs here.
    pub fn located(mut self, here: Whereabouts) -> BranchRole<C> {
        self.branch = self.branch.located(here);
        self
    }

    /// The same, which says how much processor time its process takes, or leaves that to another
    /// role of the process.
    pub fn counting_cpu(mut self, counts_cpu: bool) -> BranchRole<C> {
        self.counts_cpu = counts_cpu;
        self
    }

    /// Reads the parent, then the children for as long as the parent takes what follows of it.
    fn read<T: Transport>(&mut self, transport: &mut T) -> Result<bool, T::Error> {
        let mut worked = false;
        for _ in 0..at_a_time(1) {
            let Some(message) = transport.receive(TAG_DOWN)? else {
                break;
            };
            worked = true;
            // Only the parent may send on this tag.
            if message.from == self.parent {
                self.branch.down((self.now_ns)(), &message.bytes);
            }
        }
        // What the parent's messages led to is sent before `has_room` is asked below.
        self.act(transport)?;

        for _ in 0..at_a_time(self.children) {
            // Asked before each message: whatever is read must fit into what waits for the parent,
            // or a parent that does not read would let this process grow.
            if !transport.has_room(self.parent, TAG_UP) {
                break;
            }
            let Some(message) = transport.receive(TAG_UP)? else {
                break;
            };
            worked = true;
            self.branch
                .up((self.now_ns)(), message.from, &message.bytes);
            self.act(transport)?;
        }
        Ok(worked)
    }

    /// Sends what the node wants sent. Whether there was anything.
    fn act<T: Transport>(&mut self, transport: &mut T) -> Result<bool, T::Error> {
        let actions = self.branch.take_actions();
        let acted = !actions.is_empty();
        for action in actions {
            match action {
                BranchAction::Down(to, message) => {
                    send_down(transport, to, &message, self.branch.child_pid(to))?;
                }
                BranchAction::Up(message) => {
                    send_up(transport, self.parent, &message, self.branch.parent_pid())?;
                }
            }
        }
        Ok(acted)
    }
}

impl<C: Fn() -> u64> Role for BranchRole<C> {
    fn flush_max(&self) -> Duration {
        FLUSH_MAX
    }

    fn receive<T: Transport>(
        &mut self,
        transport: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error> {
        let read = guard.run(|| self.read(transport)).transpose()?;
        Ok(read.unwrap_or(true))
    }

    fn end_asked(&mut self, _: &mut PanicGuard) {
        // The root is asked as well, and ends the job for all.
    }

    fn tick<T: Transport>(&mut self, transport: &T, guard: &mut PanicGuard) -> bool {
        let stats = SelfStats::now(self.counts_cpu, transport.refused_sends(), guard.panics());
        let has_room = transport.has_room(self.parent, TAG_UP);
        let tick = || match has_room {
            true => self.branch.tick((self.now_ns)(), stats),
            // Children that wait because of the parent must not be taken for silent.
            false => self.branch.backlog((self.now_ns)(), stats),
        };
        // What follows from time alone is in the actions.
        guard.run(tick).is_none()
    }

    fn send<T: Transport>(
        &mut self,
        transport: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error> {
        let acted = guard.run(|| self.act(transport)).transpose()?;
        Ok(acted.unwrap_or(true))
    }

    fn exit(&self) -> Option<Exit> {
        self.branch.exit()
    }

    fn is_shut_down(&self) -> bool {
        self.branch.is_shut_down()
    }

    fn pace(&self) -> Pace {
        self.branch.pace((self.now_ns)())
    }
}

#[cfg(test)]
mod tests;
