//! Starts jobs: `invivo plan` says how many processes to ask for, `invivo run` puts Invivo into a
//! launcher's command line, and `invivo exec` is what the launcher then starts: one process of the
//! job, which takes its role and, as a supervisor, outlives the application's process or the root.
//!
//! ```text
//! command_line   run, plan: launchers, Slurm, slots, binding
//! job            options, the launcher's environment, placement, the job's name, preflight checks
//! mpi            which MPI library the program loads, and the shim that fits it
//! exec           the way into each role:
//! rank           the supervisor of a rank: pause, shared memory, the socket to its place
//! root           the supervisor of the root: gateway, result, last seconds
//! tool           the supervisor of any other tool process; start-up barrier, process proxy
//! process        child processes and signals
//! open           a saved observation in the stead of a job
//! doctor         checks of machine, installation and program
//! ```
//!
//! Not here: gRPC and the terminal. `exec` stands behind every rank of a job and stays small; see
//! docs/adr/0016.

mod client_program;
mod command_line;
mod doctor;
mod exec;
mod job;
mod mpi;
mod open;
mod output;
mod process;
mod rank;
mod root;
mod tool;

use clap::{Parser, Subcommand};
use std::ffi::OsStr;
use std::process::ExitCode;

pub use client_program::replace_this_process as become_client;

/// The verbs that start jobs, and what goes with starting them.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run an MPI job under Invivo: puts the extra ranks into the launcher's command line
    Run(command_line::run::RunArgs),
    /// Start one process of a job; the launcher runs this once per rank
    Exec(exec::ExecArgs),
    /// Print how many ranks to ask for
    Plan(command_line::plan::PlanArgs),
    /// Open a saved observation: commands for running jobs answer from it
    Open(open::OpenArgs),
    /// Check what would get in a job's way
    Doctor(doctor::DoctorArgs),
}

/// The verbs' names: a command line that begins with one is this program's, any other the client's.
pub const VERBS: [&str; 5] = ["run", "exec", "plan", "open", "doctor"];

/// The command line of the verbs that start jobs.
#[derive(Debug, Parser)]
#[command(name = "invivo", bin_name = "invivo", version, max_term_width = 110)]
pub struct Launcher {
    #[command(subcommand)]
    verb: Verb,
}

/// Whether the first argument names a verb of this program.
pub fn is_ours(first: Option<&OsStr>) -> bool {
    first.is_some_and(|first| VERBS.iter().any(|verb| first == *verb))
}

impl Verb {
    /// Its name, as one types it.
    pub fn name(&self) -> &'static str {
        match self {
            Verb::Run(_) => "run",
            Verb::Exec(_) => "exec",
            Verb::Plan(_) => "plan",
            Verb::Open(_) => "open",
            Verb::Doctor(_) => "doctor",
        }
    }
}

impl Launcher {
    /// Carries the verb out.
    pub fn run(self) -> ExitCode {
        match self.verb {
            Verb::Run(args) => command_line::run::run(args),
            Verb::Exec(args) => exec::exec(args),
            Verb::Plan(args) => command_line::plan::plan(args),
            Verb::Open(args) => open::open(&args),
            Verb::Doctor(args) => doctor::doctor(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_verb_is_known_by_its_name() {
        let command = Launcher::command();
        let names: Vec<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        assert_eq!(names, VERBS);
        assert!(is_ours(Some(OsStr::new("run"))) && !is_ours(Some(OsStr::new("top"))));
        assert!(!is_ours(None) && !is_ours(Some(OsStr::new("--help"))));
    }
}
