//! The sections on the processes of the tool in a job: where their time goes, and what they take
//! while the ranks are quiet.

use super::cells::{each, newest, rows, word};
use crate::bench::page::section::Runs;
use anyhow::Result;
use serde_json::Value;
use std::fmt::Write as _;

pub fn profile(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    if rows(run).next().is_none() {
        // Why there is none: perf was not there.
        return Ok(format!("{}\n", word(run, "about")));
    }
    let mut text = String::new();
    for mpi in each(run, "mpi") {
        for program in each(run, "program") {
            let of_job = |row: &&Value| row["mpi"] == mpi && row["program"] == program;
            if !rows(run).any(|row| of_job(&row)) {
                continue;
            }
            let _ = writeln!(
                text,
                "{mpi}, {program}:\n\n| process | function | % of the tool's CPU time | ns per \
                 call |\n|---|---|---|---|"
            );
            for row in rows(run).filter(of_job) {
                let of = |name: &str| row[name].as_f64().unwrap_or(0.0);
                // A name may hold what a table takes for its own.
                let function = word(row, "function").replace('|', "\\|").replace('`', "'");
                let _ = writeln!(
                    text,
                    "| {} | `{function}` | {:.1} | {:.1} |",
                    word(row, "process"),
                    of("share_percent"),
                    of("ns_per_call")
                );
            }
            text.push('\n');
        }
    }
    Ok(text)
}

pub fn idle(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let mut text = String::from(
        "| MPI | tool processes | process | of them | seconds | of a core, the most, % | aim |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for row in rows(run) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {:.3} | {} |",
            word(row, "mpi"),
            word(row, "tools"),
            word(row, "process"),
            row["processes"],
            row["seconds"],
            row["percent"].as_f64().unwrap_or(0.0),
            row["target_percent"]
        );
    }
    Ok(text)
}
