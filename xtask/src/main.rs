//! `cargo xtask`: everything a developer or a CI system does with this repository, as one program.

#![forbid(unsafe_code)]

mod bench;
mod build;
mod call_graph;
mod campaigns;
mod client;
mod demo;
mod failed_tests;
mod functions;
mod fuzz;
mod generate;
mod release;
mod run;
mod setup;
mod structure;
mod suite;
mod test;
mod zig;

use build::Linked;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Parser, Subcommand};
use setup::Purpose;
use std::process::ExitCode;

/// Tasks of the Invivo workspace.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what testing needs, which is everything; other tasks install what they need
    /// themselves.
    Setup {
        /// Print what was missing as JSON on stdout.
        #[arg(long)]
        json: bool,
    },
    /// Build the relocatable tree in target/dist (sets up too).
    Build {
        /// Only this MPI family: `ompi`, `mpich` or `abi`. All without it.
        #[arg(long, value_parser = ["ompi", "mpich", "abi"])]
        family: Option<String>,
        /// Print the tree's files as JSON on stdout.
        #[arg(long)]
        json: bool,
    },
    /// Make the release: the tree for older systems too, as one tarball in target (sets up and
    /// builds first).
    Dist {
        /// Print the tarball's path as JSON on stdout.
        #[arg(long)]
        json: bool,
    },
    /// Make the client alone for macOS, in target/client (sets up too).
    Client(client::Client),
    /// Check everything, cheapest first (sets up and builds too).
    Test(test::Options),
    /// Fuzz the decoders, for another time than the tests do (sets up too).
    Fuzz(campaigns::Fuzz),
    /// Kill and stop every process of jobs at random (sets up and builds too).
    Kills(campaigns::Kills),
    /// Keep one job busy for long, and see that no process holds ever more (sets up and builds
    /// too).
    Soak(campaigns::Soak),
    /// Run LAMMPS under Invivo, watch it, pause it, resume it, and read the report (sets up and
    /// builds too).
    Demo {
        /// Kill a rank instead, and see every rank's last seconds.
        #[arg(long)]
        blackbox: bool,
    },
    /// Measure, and write target/bench/NAME.json (sets up, and builds what is measured, too).
    Bench {
        /// Which; all without one.
        #[arg(value_parser = bench_names())]
        name: Option<String>,
        /// As many turns as narrow bounds take: hours, on a machine that nobody else uses.
        #[arg(long)]
        full: bool,
        /// So many turns of each comparison.
        #[arg(long, value_name = "NUMBER")]
        turns: Option<usize>,
        /// Only rows with this in their name (apps, rates, latency, profile, idle): they are
        /// printed, and no file is written.
        #[arg(long, value_name = "WORD", requires = "name")]
        only: Option<String>,
    },
    /// Run the generators: what is generated is checked in, and a test compares.
    Generate,
    /// Print circles of files, forbidden crate edges, excesses of size, and figures about files.
    Structure {
        /// Another source tree than this one.
        #[arg(long, value_name = "FOLDER")]
        tree: Option<std::path::PathBuf>,
    },
    /// Write the manual's table of functions of what the end-to-end tests saw.
    Functions,
}

/// The benches as the command line takes them, each with its line of help.
fn bench_names() -> PossibleValuesParser {
    PossibleValuesParser::new(
        bench::names().map(|(name, about)| PossibleValue::new(name).help(about)),
    )
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Setup { json } => setup::run(Purpose::Test { all: false }, json),
        Task::Build { family, json } => {
            let family = family.as_deref();
            build::run(family, Linked::Here, Purpose::Build(family), json)
        }
        Task::Dist { json } => release::run(json),
        Task::Client(client) => client.run(),
        Task::Test(options) => test::run(&options),
        Task::Demo { blackbox } => build::run(Some("ompi"), Linked::Here, Purpose::Demo, false)
            .and_then(|()| demo::run(blackbox)),
        Task::Fuzz(fuzz) => {
            setup::run(Purpose::Test { all: false }, false).and_then(|()| fuzz.run())
        }
        Task::Kills(kills) => tree_for_tests().and_then(|()| kills.run()),
        Task::Soak(soak) => tree_for_tests().and_then(|()| soak.run()),
        Task::Bench {
            name,
            full,
            turns,
            only,
        } => {
            let name = name.as_deref();
            let prepared = if bench::needs_tree(name) {
                build::run(None, Linked::Here, Purpose::Bench, false)
            } else {
                setup::run(Purpose::Bench, false)
            };
            let effort = bench::Effort { full, turns, only };
            prepared.and_then(|()| bench::run(name, &effort))
        }
        Task::Generate => generate::run(run::root()),
        Task::Structure { tree } => structure::print(tree.as_deref().unwrap_or(run::root())),
        Task::Functions => functions::run(run::root()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            // 2 is for what only the user can do: install something.
            ExitCode::from(if error.is::<setup::Missing>() { 2 } else { 1 })
        }
    }
}

/// Sets up for the tests, and builds the tree.
fn tree_for_tests() -> anyhow::Result<()> {
    build::run(None, Linked::Here, Purpose::Test { all: false }, false)
}
