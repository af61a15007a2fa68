//! Cells of tables and bars of charts, made of the values of a run.

use crate::bench::page::section::Runs;
use crate::bench::svg::{Bar, short};
use anyhow::{Context, Result};
use serde_json::Value;

pub fn newest(runs: &Runs) -> Result<&Value> {
    runs.last().context("no run")
}

pub fn rows(run: &Value) -> impl Iterator<Item = &Value> {
    run["rows"].as_array().into_iter().flatten()
}

pub fn word<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or("")
}

/// `12 (11 .. 14)`: a median with its bounds.
pub fn bounded(value: &Value) -> String {
    let of = |name: &str| value[name].as_f64();
    match (of("median"), of("low"), of("high")) {
        (Some(median), Some(low), Some(high)) => {
            format!("{} ({} .. {})", short(median), short(low), short(high))
        }
        _ => "-".to_owned(),
    }
}

pub fn median(value: &Value) -> Result<f64> {
    value["median"].as_f64().context("a median")
}

pub fn bar(series: usize, value: &Value) -> Result<Bar> {
    let of = |name: &str| value[name].as_f64().with_context(|| name.to_owned());
    Ok(Bar {
        series,
        value: of("median")?,
        bounds: (of("low")?, of("high")?),
    })
}

/// The medians of the same row in the earlier runs, the newest of them first.
pub fn earlier(runs: &Runs, is_it: impl Fn(&Value) -> bool, of: &str) -> String {
    // The newest is in a column of its own.
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
pub fn each<'a>(run: &'a Value, column: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for row in rows(run) {
        let word = word(row, column);
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}
