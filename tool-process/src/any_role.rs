//! One type for all roles, so that a process can hold several.

use invivo_analysis_node::roles::{BranchRole, RootRole};
use invivo_analysis_node::start::Clock;
use invivo_mpi_link::Transport;
use invivo_mpi_link::idle::Pace;
use invivo_mpi_link::panics::PanicGuard;
use invivo_mpi_link::runtime::{Exit, Role};
use invivo_tool_place::role::PlaceRole;
use rustix::event::PollFd;
use std::time::Duration;

/// Tool place, inner node or root.
pub enum AnyRole {
    Place(Box<PlaceRole>),
    Branch(Box<BranchRole<Clock>>),
    Root(Box<RootRole>),
}

/// Does the same with whichever it is.
macro_rules! each {
    ($role:expr, $one:ident => $does:expr) => {
        match $role {
            AnyRole::Place($one) => $does,
            AnyRole::Branch($one) => $does,
            AnyRole::Root($one) => $does,
        }
    };
}

impl Role for AnyRole {
    fn flush_max(&self) -> Duration {
        each!(self, role => role.flush_max())
    }

    fn receive<T: Transport>(
        &mut self,
        transport: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error> {
        each!(self, role => role.receive(transport, guard))
    }

    fn end_asked(&mut self, guard: &mut PanicGuard) {
        each!(self, role => role.end_asked(guard));
    }

    fn tick<T: Transport>(&mut self, transport: &T, guard: &mut PanicGuard) -> bool {
        each!(self, role => role.tick(transport, guard))
    }

    fn send<T: Transport>(
        &mut self,
        transport: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error> {
        each!(self, role => role.send(transport, guard))
    }

    fn exit(&self) -> Option<Exit> {
        each!(self, role => role.exit())
    }

    fn is_shut_down(&self) -> bool {
        each!(self, role => role.is_shut_down())
    }

    fn pace(&self) -> Pace {
        each!(self, role => role.pace())
    }

    fn ask_to_be_woken(&mut self) -> bool {
        each!(self, role => role.ask_to_be_woken())
    }

    fn descriptors(&self) -> Vec<PollFd<'_>> {
        each!(self, role => role.descriptors())
    }

    fn descriptors_ready(&mut self, guard: &mut PanicGuard) -> bool {
        each!(self, role => role.descriptors_ready(guard))
    }
}
