//! The commands that observe and steer a job. Each prints text to standard output or, with
//! `--json`, JSON; errors go to standard error.

pub mod analyses;
pub mod audit;
pub mod bridge;
pub mod buffers;
pub mod compare;
pub mod config;
pub mod connect;
pub mod control;
pub mod efficiency;
pub mod explain;
pub mod export;
pub mod functions;
pub mod hang;
pub mod heatmap;
pub(crate) mod interval;
pub mod invite;
pub mod iterations;
pub mod join;
pub mod list;
pub mod matrix;
pub mod messages;
pub mod metrics;
mod one_iteration;
pub mod overhead;
pub mod profile;
mod progress;
mod ranks;
pub mod record;
pub mod records;
pub mod regions;
pub mod report;
pub mod sampling;
pub mod save;
pub mod selection;
pub mod session;
pub mod shell;
pub mod stacks;
pub mod status;
pub mod strategy;
pub mod target;
pub mod timeline;
pub mod waitstates;
pub mod watch;

use invivo_report::{Versioned, terminal};
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
            note(&sentence(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes, each said once: some errors have their cause in their own words.
fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text.push_str(&format!(": {cause}"));
        }
    }
    text
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Prints text that ends in a newline.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    print_as_it_is(&terminal::lines(text))
}

/// Prints text in which nothing comes from elsewhere that a terminal could obey.
fn print_as_it_is(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    // Flushed here, because an error at the end of the process would go unnoticed.
    Ok(out.flush()?)
}

/// Prints an object as one line of JSON, with its version.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string(&Versioned::new(value))?;
    print_as_it_is(&format!("{}\n", terminal::json(&text)))
}

/// Prints a line on standard error that begins with our name.
pub(crate) fn note(line: &str) {
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "invivo: {}", terminal::lines(line));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn an_error_says_each_cause_once() {
        let error = invivo_jobdir::Connect::read(Path::new("/nonexistent/connect.json"));
        let error = anyhow::Error::from(error.expect_err("no file")).context("no job");
        let text = sentence(&error);
        assert!(
            text.starts_with("no job: cannot read /nonexistent"),
            "{text}"
        );
        assert_eq!(text.matches("No such file").count(), 1, "{text}");
    }
}
