//! The client of a running job: commands that look at it and steer it (`commands`), scripts
//! (`session`), a screen (`top`), a page (`web`), and how answers look (`view`). Jobs are found by
//! the crate `jobdir` and reached over their gateway (`client`, `job`), also behind a login
//! (`ssh`).
//!
//! This crate owns the whole command line of `invivo`, for help, completions and manual pages; the
//! verbs that start jobs are the launcher's.
//!
//! Not here: MPI, and anything that only the root knows.

#![forbid(unsafe_code)]

pub mod client;
pub mod commands;
mod help;
mod invitation;
pub mod job;
mod look;
mod measured;
mod overhead;
mod profile;
mod saved;
mod saving;
pub mod session;
pub mod ssh;
pub mod steer;
pub mod top;
pub mod view;
pub mod web;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Watch and steer a running MPI job, unmodified.
#[derive(Debug, Parser)]
#[command(name = "invivo", bin_name = "invivo", version, after_help = EXAMPLES)]
#[command(max_term_width = 110)]
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
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Launch(invivo_launcher::Verb),
    /// List the running jobs
    List(commands::list::Args),
    /// Show what the ranks are doing now
    Status(commands::status::Args),
    /// Show what the ranks are doing, again and again
    Watch(commands::watch::Args),
    /// Show the job on a whole screen, and steer it by keys
    Top(top::Args),
    /// Show the job as a page in a browser, and steer it there
    Web(web::Args),
    /// Show a job behind a login, on a screen or as a page
    Connect(commands::connect::Args),
    /// Say in one sentence what limits the job now
    Explain(commands::explain::Args),
    /// Show the MPI function table
    Functions(commands::functions::Args),
    /// Show time by region of the program: what it marks, and instrumented functions
    Regions(commands::regions::Args),
    /// Show the loops of the program: how many iterations, and how long
    Iterations(commands::iterations::Args),
    /// Show the communication matrix
    Matrix(commands::matrix::Args),
    /// Show what the ranks did over time
    Heatmap(commands::heatmap::Args),
    /// Show how well the ranks share the work, and what communication costs
    Efficiency(commands::efficiency::Args),
    /// Show messages: sends matched with receives, their times, and waiting for late senders
    Messages(commands::messages::Args),
    /// Show who made whom wait, and for how long: wait states of collectives and messages
    Waitstates(commands::waitstates::Args),
    /// Show who waits for whom, and whether that can end
    Hang(commands::hang::Args),
    /// Show where the ranks are: their call paths, merged into one tree
    Stacks(commands::stacks::Args),
    /// Show in which functions the ranks spend their time, by samples
    Profile(commands::profile::Args),
    /// Show what is measured of the ranks beside their calls, or choose it
    Metrics(commands::metrics::Args),
    /// Show what the event buffers hold, and what they gave up
    Buffers(commands::buffers::Args),
    /// Show the calls that a rank's buffer keeps
    Records(commands::records::Args),
    /// Show what every rank did, call by call, in the last seconds
    Timeline(commands::timeline::Args),
    /// Save what the event buffers hold, while the job runs
    Save(commands::save::Args),
    /// Write a saved observation for other tools: OTF2, Perfetto, CSV
    Export(commands::export::Args),
    /// Show the report of a job, or make an HTML page of it
    Report(commands::report::Args),
    /// Compare runs of a program by their reports
    Compare(commands::compare::Args),
    /// Show or change what buffers keep when not everything fits
    Strategy(commands::strategy::Args),
    /// Show which analyses are on, or switch them
    Analyses(commands::analyses::Args),
    /// Show what the measurement takes of the ranks' time, or cap it
    Overhead(commands::overhead::Args),
    /// Choose which regions and MPI functions are recorded, or show it
    Selection(commands::selection::Args),
    /// Sample the ranks, to see in which functions they are, or no longer
    Sampling(commands::sampling::Args),
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
    /// Let somebody else look at the job, or steer it
    Invite(commands::invite::Args),
    /// Take an invitation to a job
    Join(commands::join::Args),
    /// Show which options hold, and who said so
    Config(commands::config::Args),
    /// Connect standard input and output with a job's gateway: the other end of --on
    Bridge(commands::bridge::Args),
    /// Print the completions of a shell
    Completions(commands::shell::CompletionsArgs),
    /// Write the manual pages
    Man(commands::shell::ManArgs),
}

impl Cli {
    /// The command line of this process; ends it where there is a mistake, or help was asked for.
    pub fn of_this_process() -> Cli {
        let matches = help::grouped(Cli::command()).get_matches();
        Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Carries the verb out.
    pub fn run(self) -> ExitCode {
        match self.verb {
            // Only by calling `lib/invivo/client` directly: `bin/invivo` keeps these verbs.
            #[cfg(target_os = "linux")]
            Verb::Launch(verb) => {
                let name = verb.name();
                eprintln!("invivo: this program starts no jobs; type: invivo {name}");
                ExitCode::from(2)
            }
            Verb::List(args) => commands::finish(commands::list::run(&args)),
            Verb::Status(args) => commands::block_on(commands::status::run(args)),
            Verb::Watch(args) => commands::block_on(commands::watch::run(args)),
            Verb::Top(args) => commands::block_on(top::run(args)),
            Verb::Web(args) => commands::block_on(web::run(args)),
            Verb::Connect(args) => match args.words() {
                Ok(words) => Cli::parse_from(words).run(),
                Err(error) => commands::finish(Err(error)),
            },
            Verb::Explain(args) => commands::block_on(commands::explain::run(args)),
            Verb::Functions(args) => commands::block_on(commands::functions::run(args)),
            Verb::Regions(args) => commands::block_on(commands::regions::run(args)),
            Verb::Iterations(args) => commands::block_on(commands::iterations::run(args)),
            Verb::Matrix(args) => commands::block_on(commands::matrix::run(args)),
            Verb::Heatmap(args) => commands::block_on(commands::heatmap::run(args)),
            Verb::Efficiency(args) => commands::block_on(commands::efficiency::run(args)),
            Verb::Messages(args) => commands::block_on(commands::messages::run(args)),
            Verb::Waitstates(args) => commands::block_on(commands::waitstates::run(args)),
            Verb::Hang(args) => commands::block_on(commands::hang::run(args)),
            Verb::Stacks(args) => commands::block_on(commands::stacks::run(args)),
            Verb::Profile(args) => commands::block_on(commands::profile::run(args)),
            Verb::Metrics(args) => commands::block_on(commands::metrics::run(args)),
            Verb::Overhead(args) => commands::block_on(commands::overhead::run(args)),
            Verb::Buffers(args) => commands::block_on(commands::buffers::run(args)),
            Verb::Records(args) => commands::block_on(commands::records::run(args)),
            Verb::Timeline(args) => commands::block_on(commands::timeline::run(args)),
            Verb::Save(args) => commands::block_on(commands::save::run(args)),
            Verb::Export(args) => commands::finish(commands::export::run(&args)),
            Verb::Report(args) => commands::block_on(commands::report::run(args)),
            Verb::Compare(args) => commands::finish(commands::compare::run(&args)),
            Verb::Strategy(args) => commands::block_on(commands::strategy::run(args)),
            Verb::Analyses(args) => commands::block_on(commands::analyses::run(args)),
            Verb::Selection(args) => commands::block_on(commands::selection::run(args)),
            Verb::Sampling(args) => commands::block_on(commands::sampling::run(args)),
            Verb::Pause(args) => commands::block_on(commands::control::pause(args)),
            Verb::Resume(args) => commands::block_on(commands::control::resume(args)),
            Verb::Hold(args) => commands::block_on(commands::control::hold(args)),
            Verb::Reset(args) => commands::block_on(commands::control::reset(args)),
            Verb::Record(args) => commands::block_on(commands::record::run(args)),
            Verb::Shutdown(args) => commands::block_on(commands::control::shutdown(args)),
            Verb::Session(args) => commands::session::run(args),
            Verb::Audit(args) => commands::block_on(commands::audit::run(args)),
            Verb::Invite(args) => commands::block_on(commands::invite::run(args)),
            Verb::Join(args) => commands::block_on(commands::join::run(args)),
            Verb::Config(args) => commands::finish(commands::config::run(&args)),
            Verb::Bridge(args) => commands::block_on(commands::bridge::run(args)),
            Verb::Completions(args) => {
                commands::finish(commands::shell::completions(&args, Cli::command()))
            }
            Verb::Man(args) => commands::finish(commands::shell::man(&args, Cli::command())),
        }
    }
}
