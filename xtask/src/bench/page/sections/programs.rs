//! The sections on programs that run with and without tools: by their rate of calls, messages and
//! sums between two ranks, and programs with other patterns.

use super::cells::{bar, bounded, each, earlier, median, newest, rows, word};
use crate::bench::page::section::{Charts, Runs};
use crate::bench::svg::{Chart, Group, short};
use anyhow::Result;
use serde_json::Value;
use std::fmt::Write as _;

/// A median in short, or a dash where nothing was measured.
fn plain(value: &Value) -> String {
    median(value).map_or("-".to_owned(), short)
}

/// An aim, or a dash where there is none.
fn aim(value: &Value) -> String {
    value.as_f64().map_or("-".to_owned(), short)
}

pub fn of_programs(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let mut text = String::from(
        "| MPI | program | ranks | calls a second and rank | bytes per call | bare s | slower by % \
         | aim | EZTrace, slower by % | tool CPU s | tool CPU ns per call | dropped % | slower by \
         %, earlier runs |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows(run) {
        let (mpi, program) = (word(row, "mpi"), word(row, "program"));
        let is_it = |other: &Value| other["program"] == program && other["mpi"] == mpi;
        let _ = writeln!(
            text,
            "| {mpi} | {program}: {} | {} | {} | {:.1} | {:.1} | {} | {} | {} | {} | {} | {} | {} \
             |",
            word(row, "about"),
            row["ranks"],
            short(median(&row["calls_per_second_and_rank"])?),
            median(&row["bytes_per_call"])?,
            median(&row["bare_seconds"])?,
            bounded(&row["slower_percent"]),
            aim(&row["target_percent"]),
            bounded(&row["rival_slower_percent"]),
            plain(&row["tool_cpu_seconds"]),
            plain(&row["tool_cpu_ns_per_call"]),
            plain(&row["dropped_percent"]),
            earlier(runs, is_it, "slower_percent")
        );
    }
    Ok(text)
}

pub fn rates_charts(run: &Value) -> Result<Charts> {
    slower_chart(run, "rates-slower.svg", "Slower than the bare run")
}

pub fn apps_charts(run: &Value) -> Result<Charts> {
    slower_chart(run, "apps-slower.svg", "Slower than the bare run, Open MPI")
}

fn slower_chart(run: &Value, file: &'static str, title: &str) -> Result<Charts> {
    let mut groups = Vec::new();
    for mpi in each(run, "mpi") {
        for row in rows(run).filter(|row| row["mpi"] == mpi) {
            let mut bars = vec![bar(0, &row["slower_percent"])?];
            // A program that the rival did not run has one bar.
            if !row["rival_slower_percent"].is_null() {
                bars.push(bar(1, &row["rival_slower_percent"])?);
            }
            let label = format!("{}, {mpi}", word(row, "program"));
            groups.push(Group { label, bars });
        }
    }
    Ok(vec![(
        file,
        Chart {
            title: title.into(),
            unit: "%",
            series: vec!["Invivo".into(), "EZTrace".into()],
            groups,
            mark: None,
        },
    )])
}

pub fn latency(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let mut text = String::from(
        "| MPI | kind and bytes | bare ns | observed ns | times the bare one | aim | EZTrace ns | \
         bare GB/s | observed GB/s | dropped % | times, earlier runs |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows(run) {
        let (mpi, kind) = (word(row, "mpi"), word(row, "kind"));
        let is_it = |other: &Value| other["kind"] == kind && other["mpi"] == mpi;
        let _ = writeln!(
            text,
            "| {mpi} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            kind.replace('-', " "),
            plain(&row["bare_ns"]),
            plain(&row["observed_ns"]),
            bounded(&row["ratio"]),
            aim(&row["target_ratio"]),
            plain(&row["rival_ns"]),
            plain(&row["bare_gb_per_s"]),
            plain(&row["observed_gb_per_s"]),
            plain(&row["dropped_percent"]),
            earlier(runs, is_it, "ratio")
        );
    }
    Ok(text)
}
