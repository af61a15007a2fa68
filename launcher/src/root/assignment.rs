//! What the supervisor of the root is given at its start.

use crate::job::artefacts::Artefacts;
use crate::job::job_id::Job;
use crate::job::job_options::JobOptions;
use crate::mpi::library::Library;
use crate::tool::startup_barrier::StartupBarrier;
use invivo_tbon::layout::Layout;

/// What the root's supervisor has to do.
#[derive(Debug)]
pub struct RootAssignment {
    /// Roles and positions of all processes.
    pub layout: Layout,
    /// The installation.
    pub artefacts: Artefacts,
    /// The MPI that the program will load, as far as that can be told before.
    pub library: Library,
    /// The job.
    pub job: Job,
    /// How to wait for the application; nothing where it cannot be told.
    pub barrier: Option<StartupBarrier>,
    /// Other tool processes on this node.
    pub others_here: u32,
    /// The user's options.
    pub options: JobOptions,
    /// A terminal waits for the report.
    pub terminal: bool,
    /// The application's command line.
    pub command: Vec<String>,
}
