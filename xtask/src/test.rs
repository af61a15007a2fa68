//! `cargo xtask test`: runs the checks of [`crate::suite`], goes on after a failure, and ends with
//! a summary.

mod commit;
mod line;
mod long;
mod machine;
mod page;
mod results;

use crate::setup::{self, Purpose};
use crate::suite::{self, CHECKS};
use anyhow::{Result, bail, ensure};
use line::Line;
use std::time::Instant;

/// Checks everything, cheapest first.
#[derive(clap::Args)]
pub struct Options {
    /// Long campaigns too: an hour of fuzzing for each decoder, more random cases, ignored tests,
    /// and tools that compile for minutes. What has passed on this commit is not run again. The
    /// results are a page of the manual (docs/manual/reference/long-tests.md).
    #[arg(long)]
    all: bool,
    /// With --all: also what has passed on this commit.
    #[arg(long, requires = "all")]
    again: bool,
    /// Only these checks (what they need is taken to be done). With --all also parts of them, such
    /// as fuzz/packet or e2e/soak; what they need is then made.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// Name the checks and what they hold, and run none.
    #[arg(long)]
    list: bool,
    /// Print the summary as JSON on stdout.
    #[arg(long)]
    json: bool,
}

/// Runs the chosen checks; an error when any failed.
pub fn run(options: &Options) -> Result<()> {
    if options.list {
        for check in CHECKS {
            println!("{:<12} {}", check.name, check.about);
        }
        return Ok(());
    }
    for name in &options.only {
        let (check, is_part) = match name.split_once('/') {
            Some((check, _)) => (check, true),
            None => (name.as_str(), false),
        };
        ensure!(
            CHECKS.iter().any(|c| c.name == check),
            "no check is called {check}; `cargo xtask test --list` names them"
        );
        ensure!(
            !is_part || options.all && suite::parts(check).is_some(),
            "{name}: only --all runs parts, and only of fuzz and e2e"
        );
    }

    let begun = Instant::now();
    setup::run(Purpose::Test { all: options.all }, false)?;

    let lines = if options.all {
        long::run(&options.only, options.again)?
    } else {
        usual(&options.only)
    };

    summary(&lines, begun.elapsed().as_secs_f64(), options.json);

    let failed: Vec<&str> = lines
        .iter()
        .filter(|line| line.has_failed())
        .map(|line| line.name.as_str())
        .collect();
    if !failed.is_empty() {
        bail!(
            "{} failed; once more: cargo xtask test {}--only {}",
            failed.join(" and "),
            if options.all { "--all " } else { "" },
            failed.join(",")
        );
    }
    Ok(())
}

/// The chosen checks in their short form; all where none is chosen.
fn usual(only: &[String]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for check in CHECKS {
        if only.is_empty() || only.iter().any(|name| name == check.name) {
            // A check that was not chosen counts as passed, since it is taken to be done.
            lines.push(match Line::without_need(check, &lines) {
                Some(line) => line,
                None => Line::of(check.name, check.about, || (check.run)(false)),
            });
        }
    }
    lines
}

fn summary(lines: &[Line], seconds: f64, json: bool) {
    if json {
        let checks: Vec<_> = lines
            .iter()
            .map(|l| {
                serde_json::json!({ "name": l.name, "result": l.outcome.word(),
            "seconds": l.seconds, "note": l.note })
            })
            .collect();
        println!(
            "{}",
            serde_json::json!({ "seconds": seconds, "checks": checks })
        );
    }

    eprintln!();
    for line in lines {
        let note = line.note.lines().next().unwrap_or_default();
        eprintln!(
            "  {:<12} {:<8} {:>7.1} s  {note}",
            line.name,
            line.outcome.word(),
            line.seconds
        );
    }
    eprintln!("  {:<12} {:<8} {seconds:>7.1} s", "all", "");
}
