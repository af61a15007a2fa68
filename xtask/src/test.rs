//! `cargo xtask test`: runs the checks of [`crate::suite`], goes on after a failure, and ends with
//! a summary.

use crate::setup::{self, Purpose};
use crate::suite::ended::Ended;
use crate::suite::{CHECKS, Check};
use anyhow::{Result, bail, ensure};
use std::time::Instant;

/// Checks everything, cheapest first.
#[derive(clap::Args)]
pub struct Options {
    /// Long campaigns too: longer fuzzing, more random cases, ignored tests, and tools that compile
    /// for minutes.
    #[arg(long)]
    all: bool,
    /// Only these checks (what they need is taken to be done).
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// Name the checks and what they hold, and run none.
    #[arg(long)]
    list: bool,
    /// Print the summary as JSON on stdout.
    #[arg(long)]
    json: bool,
}

/// How a check ended, for the summary.
struct Line {
    name: &'static str,
    result: &'static str,
    seconds: f64,
    note: String,
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
        ensure!(
            CHECKS.iter().any(|c| c.name == name),
            "no check is called {name}; `cargo xtask test --list` names them"
        );
    }

    let begun = Instant::now();
    setup::run(Purpose::Test { all: options.all }, false)?;

    let mut lines: Vec<Line> = Vec::new();
    for check in CHECKS {
        if options.only.is_empty() || options.only.iter().any(|name| name == check.name) {
            lines.push(one(check, options.all, &lines));
        }
    }

    summary(&lines, begun.elapsed().as_secs_f64(), options.json);

    let failed: Vec<&str> = lines
        .iter()
        .filter(|line| line.result == "failed")
        .map(|line| line.name)
        .collect();
    if !failed.is_empty() {
        bail!(
            "{} failed; once more: cargo xtask test --only {}",
            failed.join(" and "),
            failed.join(",")
        );
    }
    Ok(())
}

fn one(check: &Check, all: bool, before: &[Line]) -> Line {
    // A check that was not chosen counts as passed, since it is taken to be done.
    let broken = check.needs.filter(|need| {
        before
            .iter()
            .any(|l| l.name == *need && l.result != "passed")
    });

    if let Some(need) = broken {
        return Line {
            name: check.name,
            result: "failed",
            seconds: 0.0,
            note: format!("not run without {need}"),
        };
    }

    eprintln!("xtask: ---- {}: {}", check.name, check.about);
    let begun = Instant::now();
    let ended = (check.run)(all);
    let seconds = begun.elapsed().as_secs_f64();
    let (result, note) = match ended {
        Ok(Ended::Passed) => ("passed", String::new()),
        Ok(Ended::PassedBut(part)) => ("passed", part),
        Ok(Ended::Skipped(why)) => ("skipped", why),
        Err(error) => ("failed", format!("{error:#}")),
    };

    eprintln!(
        "xtask: ---- {} {result} after {seconds:.1} s {note}",
        check.name
    );
    Line {
        name: check.name,
        result,
        seconds,
        note,
    }
}

fn summary(lines: &[Line], seconds: f64, json: bool) {
    if json {
        let checks: Vec<_> = lines
            .iter()
            .map(|l| {
                serde_json::json!({ "name": l.name, "result": l.result,
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
            line.name, line.result, line.seconds
        );
    }
    eprintln!("  {:<12} {:<8} {seconds:>7.1} s", "all", "");
}
