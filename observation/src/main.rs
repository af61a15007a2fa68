//! The program `observation`: reads a saved observation and answers the gateway's questions about
//! it, in the stead of a job's root. Started by `invivo open`.
//!
//! ```text
//! DIR -- load: calls of all locations in order of their ends --> the analyses of a tool place
//! gateway <-- serve: questions, one after the other ---------------^
//! ```
#![forbid(unsafe_code)]

mod load;
mod regions;
mod samples;
mod serve;

use anyhow::Context;
use clap::Parser;
use invivo_archive::saved::SavedObservation;
use rustix::process::{Resource, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Answers questions about a saved observation. Started by `invivo open`.
#[derive(Parser)]
#[command(name = "observation", version)]
struct Args {
    /// Where to listen for the gateway
    #[arg(long, value_name = "SOCKET")]
    link: PathBuf,
    /// The directory that `invivo save` has written
    dir: PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("invivo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the observation, says so on standard output, and answers until it is killed.
fn run(args: &Args) -> anyhow::Result<()> {
    // Nobody else ends it when `invivo open` is killed.
    set_parent_process_death_signal(Some(Signal::TERM))?;
    open_many_files();
    let saved = SavedObservation::open(&args.dir)?;
    let loaded = load::load(&saved, |percent| say(&format!("read {percent}")))?;
    let served = serve::Served::new(&saved, loaded);
    let gateway = served.listen(&args.link).with_context(|| {
        let link = args.link.display();
        format!("cannot listen for the gateway at {link}")
    })?;
    say(&format!("ready {}", served.calls()));
    served.serve(gateway)
}

/// Every location has a file of its own.
fn open_many_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it stays as it was, a job of many ranks fails with the kernel's own words.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Tells who has started this process.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Who does not listen is not told.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
