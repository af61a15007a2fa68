//! What the supervisor of a rank is given at its start.

use crate::job::environment::{Environment, Numbers, World};
use crate::mpi::preload::Preload;
use crate::rank::shared_memory::{RankIdentity, StartState};
use crate::tool::startup_barrier::StartupBarrier;
use std::ffi::OsString;

/// What a supervisor has to do.
#[derive(Debug)]
pub struct RankAssignment {
    /// Which rank this is.
    pub identity: RankIdentity,
    /// How it begins.
    pub start_state: StartState,
    /// What the application is to find in its environment.
    pub numbers: Numbers,
    /// The launcher's numbers.
    pub world: World,
    /// The launcher's process on this node.
    pub launcher: i32,
    /// The environment that the launcher gave.
    pub environment: Environment,
    /// The application with its arguments.
    pub program: Vec<OsString>,
    /// What to preload; nothing into a program that is not to be observed.
    pub preload: Option<Preload>,
    /// Where to note that the rank is in MPI; nothing where no tool process waits for that.
    pub barrier: Option<StartupBarrier>,
}
