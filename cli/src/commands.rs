//! The commands that observe and steer a job. Each prints text to standard output or, with
//! `--json`, JSON; errors go to standard error.

pub mod analyses;
pub mod audit;
pub mod buffers;
pub mod config;
pub mod control;
pub mod functions;
pub mod hang;
pub mod invite;
pub mod list;
pub mod matrix;
pub mod messages;
mod progress;
pub mod record;
pub mod records;
pub mod session;
pub mod shell;
pub mod stacks;
pub mod status;
pub mod strategy;
pub mod target;
pub mod timeline;
pub mod watch;

use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Whether all that was asked for was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of it.
    Done,
    /// Not on all ranks; it has been said on which not.
    Incomplete,
}

/// Runs a command to its end.
pub fn block_on(command: impl Future<Output = anyhow::Result<Outcome>>) -> ExitCode {
    // One thread: a client waits, and it often runs on a node whose cores belong to the
    // application.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return finish(Err(error.into())),
    };
    finish(runtime.block_on(command))
}

/// Prints a command's error, if there is one, and returns its exit status.
pub fn finish(result: anyhow::Result<Outcome>) -> ExitCode {
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Incomplete) => ExitCode::FAILURE,
        // The reader has enough (`invivo functions | head`): that is no failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            note(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Prints text that ends in a newline.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    // Flushed here, because an error at the end of the process would go unnoticed.
    Ok(out.flush()?)
}

/// Prints a value as one line of JSON.
fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&(serde_json::to_string(value)? + "\n"))
}

/// Prints a line on standard error that begins with our name.
fn note(line: &str) {
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "invivo: {line}");
}
