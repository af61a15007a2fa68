//! The tables and charts of the page on performance, section by section.

mod jobs;
mod place;
mod shim;

use super::{Runs, Section};
use crate::bench::svg::{Bar, short};
use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write as _;

/// All of them.
pub const ALL: &[Section] = &[
    Section {
        name: "shim",
        others_max: f64::MAX,
        text: shim::shim,
        charts: shim::shim_charts,
    },
    Section {
        name: "place",
        others_max: f64::MAX,
        text: place::place,
        charts: place::place_charts,
    },
    Section {
        name: "bytes",
        others_max: f64::MAX,
        text: jobs::bytes,
        charts: |_| Ok(Vec::new()),
    },
    Section {
        name: "apps",
        others_max: 0.5,
        text: jobs::apps,
        charts: jobs::apps_charts,
    },
    Section {
        name: "startup",
        others_max: f64::MAX,
        text: jobs::startup,
        charts: |_| Ok(Vec::new()),
    },
    Section {
        name: "tree",
        others_max: f64::MAX,
        text: jobs::tree,
        charts: |_| Ok(Vec::new()),
    },
];

/// What stands below each section's tables.
pub fn where_and_when(runs: &Runs) -> String {
    let mut text = String::new();
    for run in runs.iter().rev() {
        let machine = &run["machine"];
        let word = |name: &str| machine[name].as_str().unwrap_or("unknown").to_owned();
        let kind = if machine["is_virtual"] == true {
            "virtual, "
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "- {} run of {}: {} ({kind}{} cores, {:.0} GiB), {}, Linux {}; others used {:.2} cores meanwhile.",
            if run["full"] == true { "Full" } else { "Short" },
            word("date"),
            word("cpu"),
            machine["cores"],
            machine["memory_gib"].as_f64().unwrap_or(0.0),
            word("system"),
            word("kernel"),
            run["beside"]["cores_used_by_others"]
                .as_f64()
                .unwrap_or(0.0)
        );
    }
    format!("\n{text}")
}

fn newest(runs: &Runs) -> Result<&Value> {
    runs.last().context("no run")
}

fn rows(run: &Value) -> impl Iterator<Item = &Value> {
    run["rows"].as_array().into_iter().flatten()
}

fn word<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or("")
}

/// `12 (11 .. 14)`: a median with its bounds.
fn bounded(value: &Value) -> String {
    let of = |name: &str| value[name].as_f64();
    match (of("median"), of("low"), of("high")) {
        (Some(median), Some(low), Some(high)) => {
            format!("{} ({} .. {})", short(median), short(low), short(high))
        }
        _ => "-".to_owned(),
    }
}

fn median(value: &Value) -> Result<f64> {
    value["median"].as_f64().context("a median")
}

fn bar(series: usize, value: &Value) -> Result<Bar> {
    let of = |name: &str| value[name].as_f64().with_context(|| name.to_owned());
    Ok(Bar {
        series,
        value: of("median")?,
        bounds: (of("low")?, of("high")?),
    })
}

/// What the same row says in the runs before, the last first.
fn earlier(runs: &Runs, is_it: impl Fn(&Value) -> bool, of: &str) -> String {
    let before = runs.iter().rev().skip(1);
    let values = before.filter_map(|run| rows(run).find(|row| is_it(row))?[of]["median"].as_f64());
    let values: Vec<String> = values.map(short).collect();
    if values.is_empty() {
        "-".to_owned()
    } else {
        values.join(", ")
    }
}

/// The words of one column in their order, each once.
fn each<'a>(run: &'a Value, column: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for row in rows(run) {
        let word = word(row, column);
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}
