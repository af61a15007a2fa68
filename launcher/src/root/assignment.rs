//! What the supervisor of the root is given at its start.

use crate::job::artefacts::Artefacts;
use crate::job::job_id::Job;
use crate::job::job_options::JobOptions;
use crate::mpi::library::Library;
use crate::tool::startup_barrier::StartupBarrier;
use invivo_tbon::layout::Plan;

/// What the root's supervisor has to do.
#[derive(Debug)]
pub struct RootAssignment {
    /// What is known of the tree.
    pub plan: Plan,
    /// No rank of the application has this number.
    pub ranks_max: u32,
    /// The job has no other tool process.
    pub is_alone: bool,
    /// The installation.
    pub artefacts: Artefacts,
    /// The MPI that the program will load, as far as that can be told before.
    pub library: Library,
    /// The program is of another MPI than the launcher, which has been said: it runs unobserved.
    pub foreign: bool,
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
    /// What to say where the tool process dies in `MPI_Init` and Slurm's fence may be why.
    pub fence: Option<String>,
    /// The application's command line.
    pub command: Vec<String>,
}
