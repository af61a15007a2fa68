//! The section on calls: what wrappers, time stamps, Invivo and EZTrace add to each.

use super::cells::{bar, bounded, each, earlier, median, newest, rows, word};
use crate::bench::page::section::{Charts, Runs};
use crate::bench::svg::{Chart, Group, short};
use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write as _;

/// What a recorded call may cost more than two time stamps, in ns.
const RECORDED_NS: f64 = 8.0;
/// What a call may cost more than a wrapper that passes it on, in ns, while recording is off.
const OFF_NS: f64 = 2.0;
const TOOLS: [&str; 5] = [
    "wrapper",
    "two stamps",
    "recording off",
    "recorded",
    "EZTrace",
];

pub fn shim(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let mut text = String::new();
    for mpi in each(run, "mpi") {
        let _ = writeln!(
            text,
            "{mpi}: ns added to each call, of the bare run's ns.\n"
        );
        let _ = writeln!(
            text,
            "| call | bare | {} | recorded, earlier runs |",
            TOOLS.join(" | ")
        );
        let _ = writeln!(text, "|---|---|{}---|", "---|".repeat(TOOLS.len()));
        // These two have tables of their own below.
        let kinds = each(run, "kind").into_iter();
        for kind in kinds.filter(|kind| !kind.starts_with("single") && *kind != "packet switch") {
            let row = |tool: &str| {
                let is_it =
                    |row: &&Value| row["mpi"] == mpi && row["kind"] == kind && row["tool"] == tool;
                rows(run).find(is_it)
            };

            let bare = row("bare").context("a bare run")?;
            let _ = write!(
                text,
                "| {} | {} ",
                word(bare, "about"),
                short(median(&bare["ns"])?)
            );

            for tool in TOOLS {
                let cell = row(tool).map_or("-".to_owned(), |row| bounded(&row["added_ns"]));
                let _ = write!(text, "| {cell} ");
            }

            let is_it =
                |row: &Value| row["mpi"] == mpi && row["kind"] == kind && row["tool"] == "recorded";
            let _ = writeln!(text, "| {} |", earlier(runs, is_it, "added_ns"));
        }
        text += &aims(runs, mpi)?;
        text += &single(run, mpi)?;
    }
    Ok(text)
}

/// The kinds of calls that have an aim: loops of calls that a tool records.
fn kinds(run: &Value) -> impl Iterator<Item = &str> {
    let all = each(run, "kind").into_iter();
    all.filter(|kind| !kind.starts_with("single") && !["packet switch", "rank"].contains(kind))
}

/// What a tool adds to a call of a kind, in one run.
fn added<'a>(run: &'a Value, mpi: &str, kind: &str, tool: &str) -> Option<&'a Value> {
    let is_it = |row: &&Value| row["mpi"] == mpi && row["kind"] == kind && row["tool"] == tool;
    Some(&rows(run).find(is_it)?["added_ns"])
}

/// By how much the aims are missed, in all runs that are kept.
fn aims(runs: &Runs, mpi: &str) -> Result<String> {
    let mut text = format!(
        "\nAbove the aims on {mpi}, in ns, run by run, the newest first; what is below zero is \
         met:\n\n\
         | call | recorded, less two stamps and {RECORDED_NS:.0} ns | recording off, less the \
         wrapper and {OFF_NS:.0} ns |\n|---|---|---|\n"
    );
    // Only within one run: figures of different days have different machines below them.
    for kind in kinds(newest(runs)?) {
        let above = |tool: &str, least: &str, more: f64| {
            let of_run = |run: &Value| {
                let of = |tool: &str| median(added(run, mpi, kind, tool)?).ok();
                Some(format!("{:+.1}", of(tool)? - of(least)? - more))
            };
            let each: Vec<String> = runs.iter().rev().filter_map(of_run).collect();
            each.join(", ")
        };
        let about = rows(newest(runs)?).find(|row| row["kind"] == kind);
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            word(about.context("a row")?, "about"),
            above("recorded", "two stamps", RECORDED_NS),
            above("recording off", "wrapper", OFF_NS)
        );
    }
    Ok(text)
}

fn single(run: &Value, mpi: &str) -> Result<String> {
    let mut text = format!(
        "\nSingle calls of `MPI_Iprobe` on {mpi}, in ns (with the time stamps around each, 20 ns \
         or so):\n\n\
         | of all calls, as long or shorter | bare | two stamps | recorded |\n|---|---|---|---|\n"
    );
    for kind in each(run, "kind")
        .into_iter()
        .filter(|kind| kind.starts_with("single"))
    {
        let ns = |tool: &str| {
            let is_it =
                |row: &&Value| row["mpi"] == mpi && row["kind"] == kind && row["tool"] == tool;
            let row = rows(run).find(is_it);
            row.map_or("-".to_owned(), |row| bounded(&row["ns"]))
        };

        let part: f64 = kind.trim_start_matches("single ").parse()?;
        let _ = writeln!(
            text,
            "| {} % | {} | {} | {} |",
            (part * 1e6).round() / 1e4,
            ns("bare"),
            ns("two stamps"),
            ns("recorded")
        );
    }

    let switch = rows(run).find(|row| row["mpi"] == mpi && row["kind"] == "packet switch");
    if let Some(row) = switch {
        let _ = writeln!(
            text,
            "\nA call that fills a packet, sends it and opens the next takes {} ns, {} more than \
             as rare calls of the bare run. (Where \
             the cores are taken, it is also when the place goes before the rank.)\n",
            bounded(&row["ns"]),
            bounded(&row["added_ns"])
        );
    }
    Ok(text)
}

pub fn shim_charts(run: &Value) -> Result<Charts> {
    let mut charts = Vec::new();
    for (mpi, file) in [
        ("Open MPI", "shim-openmpi.svg"),
        ("MPICH", "shim-mpich.svg"),
    ] {
        let mut groups = Vec::new();
        for kind in each(run, "kind") {
            let mut bars = Vec::new();
            for (series, tool) in TOOLS.iter().enumerate() {
                let is_it =
                    |row: &&Value| row["mpi"] == mpi && row["kind"] == kind && row["tool"] == *tool;
                if let Some(row) = rows(run).find(is_it) {
                    bars.push(bar(series, &row["added_ns"])?);
                }
            }
            // A tool that was not there, such as EZTrace, has no bar.
            if !kind.starts_with("single") && kind != "packet switch" && !bars.is_empty() {
                let label = kind.to_owned();
                groups.push(Group { label, bars });
            }
        }
        if !groups.is_empty() {
            charts.push((
                file,
                Chart {
                    title: format!("Added to each call, {mpi}"),
                    unit: "ns",
                    series: TOOLS.map(str::to_owned).to_vec(),
                    groups,
                    mark: None,
                },
            ));
        }
    }
    Ok(charts)
}
