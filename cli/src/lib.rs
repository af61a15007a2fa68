//! The `invivo` command: starting jobs (`launch`), finding them (`connect`), asking and steering
//! them over their gateway (`client`, `steer`, `commands`), doing so by a script (`session`), which
//! options hold (`config`), a screen for it (`top`), and how all that looks (`view`, `report`).
//!
//! Not here: MPI (processes of the job are started, not linked), and anything that only the root
//! knows.

pub mod client;
pub mod commands;
pub mod config;
pub mod connect;
pub mod last;
pub mod launch;
pub mod report;
pub mod session;
pub mod steer;
pub mod toml_file;
pub mod top;
pub mod view;
mod whole_file;

use clap::{CommandFactory, Parser, Subcommand};
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
    /// Check what would get in a job's way
    Doctor(launch::DoctorArgs),
    /// List the running jobs
    List(commands::list::Args),
    /// Show what the ranks are doing now
    Status(commands::status::Args),
    /// Show what the ranks are doing, again and again
    Watch(commands::watch::Args),
    /// Show the job on a whole screen, and steer it by keys
    Top(top::Args),
    /// Show the MPI function table
    Functions(commands::functions::Args),
    /// Show the communication matrix
    Matrix(commands::matrix::Args),
    /// Show messages: sends matched with receives, their times, and waiting for late senders
    Messages(commands::messages::Args),
    /// Show who waits for whom, and which ranks can never go on
    Waits(commands::waits::Args),
    /// Show where the ranks are: their call paths, merged into one tree
    Stacks(commands::stacks::Args),
    /// Show what the event buffers hold, and what they gave up
    Buffers(commands::buffers::Args),
    /// Show the calls and samples that a rank's buffer keeps
    Records(commands::records::Args),
    /// Show what every rank did last, as a picture and as a timeline
    Last(commands::last::Args),
    /// Show or change what buffers keep when not everything fits
    Strategy(commands::strategy::Args),
    /// Let the application stand still, for a limited time
    Pause(commands::control::PauseArgs),
    /// Let a paused or held application go on
    Resume(commands::control::ResumeArgs),
    /// Wait until every rank stands right behind MPI_Init
    Hold(commands::control::HoldArgs),
    /// Forget everything so far
    Reset(commands::control::ResetArgs),
    /// Switch recording on or off, or record a window
    Record(commands::record::Args),
    /// End the measurement; the job runs on unobserved
    Shutdown(commands::control::ShutdownArgs),
    /// Steer a job by a script: wait, record, query, assert
    Session(commands::session::Args),
    /// Show the control commands that were given, by whom, and how they went
    Audit(commands::audit::Args),
    /// Make a one-time secret that opens the job
    Invite(commands::invite::Args),
    /// Show which options hold, and who said so
    Config(commands::config::Args),
    /// Print the completions of a shell
    Completions(commands::shell::CompletionsArgs),
    /// Write the manual pages
    Man(commands::shell::ManArgs),
}

impl Cli {
    /// Does what was asked for.
    pub fn run(self) -> ExitCode {
        match self.verb {
            Verb::Run(args) => launch::run(args),
            Verb::Exec(args) => launch::exec(args),
            Verb::Plan(args) => launch::plan(args),
            Verb::Doctor(args) => launch::doctor(args),
            Verb::List(args) => commands::finish(commands::list::run(&args)),
            Verb::Status(args) => commands::block_on(commands::status::run(args)),
            Verb::Watch(args) => commands::block_on(commands::watch::run(args)),
            Verb::Top(args) => commands::block_on(top::run(args)),
            Verb::Functions(args) => commands::block_on(commands::functions::run(args)),
            Verb::Matrix(args) => commands::block_on(commands::matrix::run(args)),
            Verb::Messages(args) => commands::block_on(commands::messages::run(args)),
            Verb::Waits(args) => commands::block_on(commands::waits::run(args)),
            Verb::Stacks(args) => commands::block_on(commands::stacks::run(args)),
            Verb::Buffers(args) => commands::block_on(commands::buffers::run(args)),
            Verb::Records(args) => commands::block_on(commands::records::run(args)),
            Verb::Last(args) => commands::block_on(commands::last::run(args)),
            Verb::Strategy(args) => commands::block_on(commands::strategy::run(args)),
            Verb::Pause(args) => commands::block_on(commands::control::pause(args)),
            Verb::Resume(args) => commands::block_on(commands::control::resume(args)),
            Verb::Hold(args) => commands::block_on(commands::control::hold(args)),
            Verb::Reset(args) => commands::block_on(commands::control::reset(args)),
            Verb::Record(args) => commands::block_on(commands::record::run(args)),
            Verb::Shutdown(args) => commands::block_on(commands::control::shutdown(args)),
            Verb::Session(args) => commands::session::run(args),
            Verb::Audit(args) => commands::block_on(commands::audit::run(args)),
            Verb::Invite(args) => commands::block_on(commands::invite::run(args)),
            Verb::Config(args) => commands::finish(commands::config::run(&args)),
            Verb::Completions(args) => {
                commands::finish(commands::shell::completions(&args, Cli::command()))
            }
            Verb::Man(args) => commands::finish(commands::shell::man(&args, Cli::command())),
        }
    }
}
