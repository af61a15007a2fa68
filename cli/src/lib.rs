//! The `invivo` command: starting jobs (`launch`), finding them (`connect`), asking and steering them over
//! their gateway (`client`, `commands`), and how that looks (`view`, `report`).
//!
//! Not here: MPI (processes of the job are started, not linked), and anything that only the root knows.

pub mod client;
pub mod commands;
pub mod config;
pub mod connect;
pub mod launch;
pub mod report;
pub mod toml_file;
pub mod view;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Watch and steer a running MPI job, unmodified.
#[derive(Debug, Parser)]
#[command(name = "invivo", version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  invivo run -- mpiexec -n 4 ./app     run a program under Invivo
  invivo watch                         in another terminal: what it does, line by line
  invivo functions                     where its MPI time goes
  invivo pause; invivo resume          let it stand still, and go on";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run an MPI job under Invivo: puts the extra ranks into the launcher's command line
    Run(launch::RunArgs),
    /// Start one process of a job; the launcher runs this once per rank
    Exec(launch::ExecArgs),
    /// Print how many ranks to ask for
    Plan(launch::PlanArgs),
    /// List the running jobs
    List(commands::list::Args),
    /// Show what the ranks are doing now
    Status(commands::status::Args),
    /// Show what the ranks are doing, again and again
    Watch(commands::watch::Args),
    /// Show the MPI function table
    Functions(commands::functions::Args),
    /// Show the communication matrix
    Matrix(commands::matrix::Args),
    /// Let the application stand still, for a limited time
    Pause(commands::control::PauseArgs),
    /// Let a paused application go on
    Resume(commands::control::ResumeArgs),
}

impl Cli {
    /// Does what was asked for.
    pub fn run(self) -> ExitCode {
        match self.verb {
            Verb::Run(args) => launch::run(args),
            Verb::Exec(args) => launch::exec(args),
            Verb::Plan(args) => launch::plan(args),
            Verb::List(args) => commands::finish(commands::list::run(&args)),
            Verb::Status(args) => commands::block_on(commands::status::run(args)),
            Verb::Watch(args) => commands::block_on(commands::watch::run(args)),
            Verb::Functions(args) => commands::block_on(commands::functions::run(args)),
            Verb::Matrix(args) => commands::block_on(commands::matrix::run(args)),
            Verb::Pause(args) => commands::block_on(commands::control::pause(args)),
            Verb::Resume(args) => commands::block_on(commands::control::resume(args)),
        }
    }
}
