//! Benches a tool place: checking, decoding, storing and all analyses of each call, on a recorded
//! stream, with one location and with many.
//!
//! The program is tool-place/examples/bench, built as a release; it fails where an answer differs
//! from the recording.

use super::effort::Effort;
use super::machine::Beside;
use super::results::write_table;
use super::statistics::Median;
use super::stream;
use crate::run::{FAMILIES, cargo, output};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Target for the calls that one core takes in a second, of 64 locations: 64 ranks with 35,000
/// calls a second each take a quarter of it.
const TARGET: f64 = 10e6;
/// The stages in the order in which a record goes through them. Those behind `decode` are measured
/// together with it, and it is subtracted.
const STAGES: [&str; 10] = [
    "checksum",
    "copy",
    "decode",
    "store",
    "functions",
    "sites",
    "matrix",
    "messages",
    "heatmap",
    "waitstates",
];
/// Whole places: everything on, the analyses that are on by default, none.
const WHOLES: [&str; 3] = ["place", "default", "none"];
/// Records as they are and raw ones: the rank's side, then the place's.
const FORMATS: [&str; 4] = ["encode", "write raw", "decode alone", "read raw"];
/// Growth of memory that is allowed between half-time and the end: the number of messages that wait
/// for their other end differs.
const GROWTH_MAX: f64 = 0.02;

/// Measures, prints and writes one table.
///
/// A minute and a half give bounds of half a percent: a full run takes no longer.
pub fn run(effort: &Effort) -> Result<()> {
    let melt = stream::recorded()?;
    let beside = Beside::begin();

    let mut bench = cargo();
    // The folder and the compiler of the tree's first family: nothing is compiled twice.
    bench.env("CARGO_TARGET_DIR", FAMILIES[0].target());
    bench.env(
        "MPICC",
        FAMILIES[0].compiler.context("an MPI with a compiler")?,
    );
    bench.args([
        "run",
        "--release",
        "-p",
        "invivo-tool-place",
        "--example",
        "bench",
        "--",
    ]);
    bench.arg(&melt);

    let lines = output(&mut bench)?;
    let measured: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| line.to_owned()))
        .collect::<Result<_>>()?;

    let rows = rows(&measured)?;
    print(&rows);
    let about = "ns of one thread for each MPI call, of LAMMPS melt's recorded calls as packets; \
        each location has a buffer of \
                 4 MiB, which is full. place: a whole tool place, from the packet to buffers and \
                 all analyses, all answers \
                 compared with the recording; default and none: the same with the analyses that \
                 are on by default, and with none; the others are parts of it, each alone on the \
                 same packets, turn by turn: \
                 checksum of packets, copy (the same, and keeping them as they came), decode \
                 (with the checksum), and what store, functions, \
                 matrix, messages, heatmap, sites and waitstates take beyond that. encode and \
                 decode alone, write raw and read raw: a rank's calls in the records of its \
                 packets, and in records of fixed size.";
    write_table("place", about, effort, &beside, &rows)
}

/// One row per number of locations and stage.
fn rows(measured: &[Value]) -> Result<Vec<Value>> {
    let mut each: BTreeMap<(u64, &str), Vec<&Value>> = BTreeMap::new();
    for line in measured {
        let locations = line["locations"].as_u64().context("locations")?;
        let stage = line["stage"].as_str().context("stage")?;
        each.entry((locations, stage)).or_default().push(line);
    }
    let mut rows = Vec::new();
    for ((locations, stage), lines) in &each {
        // One line for each number of locations, with fields of its own.
        if *stage == "memory" {
            rows.push(memory(lines[0])?);
            continue;
        }
        if *stage == "answers" {
            rows.push(lines[0].clone());
            continue;
        }

        let decode = each.get(&(*locations, "decode"));
        let is_part = !WHOLES.contains(stage)
            && !FORMATS.contains(stage)
            && !matches!(*stage, "checksum" | "copy" | "decode");
        let before = decode.filter(|_| is_part);
        let beyond = |name: &str| -> Result<Vec<f64>> {
            let mut ns = per_call(lines, name)?;
            if let Some(before) = before {
                // Of the same batch, measured a moment before or after.
                let before = per_call(before, name)?;
                ns.iter_mut()
                    .zip(before)
                    .for_each(|(ns, before)| *ns -= before);
            }
            Ok(ns)
        };

        let allocations: f64 = sum(lines, "allocations")? / (sum(lines, "calls")? / 1e6);
        rows.push(json!({
            "locations": locations, "stage": stage, "batches": lines.len(), "calls": sum(lines,
            "calls")?,
            "cpu_ns": Median::of(&beyond("cpu_ns")?)?.json(),
            "wall_ns": Median::of(&beyond("wall_ns")?)?.json(),
            "allocations_per_million_calls": allocations,
            "bytes_per_call": lines[0]["bytes_per_call"],
        }));
    }
    Ok(rows)
}

fn number(line: &Value, name: &str) -> Result<f64> {
    line[name].as_f64().with_context(|| name.to_owned())
}

fn sum(lines: &[&Value], name: &str) -> Result<f64> {
    lines.iter().map(|line| number(line, name)).sum()
}

/// A value per call in each batch.
fn per_call(lines: &[&Value], name: &str) -> Result<Vec<f64>> {
    lines
        .iter()
        .map(|line| Ok(number(line, name)? / number(line, "calls")?))
        .collect()
}

/// Fails where the memory grows.
fn memory(line: &Value) -> Result<Value> {
    let (half, end) = (number(line, "half_bytes")?, number(line, "end_bytes")?);
    ensure!(
        end <= half * (1.0 + GROWTH_MAX),
        "resident memory grows from {half} bytes to {end} with {} locations",
        line["locations"]
    );
    Ok(line.clone())
}

fn print(rows: &[Value]) {
    println!(
        "{:>9}  {:<10}{:>9}  {:<16}{:>9}{:>11}{:>13}",
        "locations", "stage", "ns/call", "95 % bounds", "wall", "M calls/s", "of target"
    );

    let of = |name: &'static str| rows.iter().filter(move |row| row["stage"] == name);
    let stages = STAGES.iter().copied().chain(WHOLES).chain(FORMATS);
    for row in stages.flat_map(of) {
        let ns = |name: &str| row["cpu_ns"][name].as_f64().unwrap_or(0.0);
        let bounds = format!("{:.1} .. {:.1}", ns("low"), ns("high"));
        let wall = row["wall_ns"]["median"].as_f64().unwrap_or(0.0);
        let rate = 1e9 / ns("median");
        print!(
            "{:>9}  {:<10}{:>9.1}  {bounds:<16}{wall:>9.1}",
            row["locations"].as_u64().unwrap_or(0),
            row["stage"].as_str().unwrap_or(""),
            ns("median")
        );
        if row["stage"]
            .as_str()
            .is_some_and(|stage| WHOLES.contains(&stage))
        {
            print!("{:>11.2}{:>12.0} %", rate / 1e6, 100.0 * rate / TARGET);
        }
        println!();
    }

    for row in of("memory") {
        println!(
            "{:>9}  memory    {:.0} MiB at half-time, {:.0} MiB in the end",
            row["locations"],
            row["half_bytes"].as_f64().unwrap_or(0.0) / f64::from(1 << 20),
            row["end_bytes"].as_f64().unwrap_or(0.0) / f64::from(1 << 20)
        );
    }

    for row in of("answers").filter(|row| row["given_up"] != 0) {
        println!(
            "{:>9}  more halves of messages waited than there is room for: {:.1} % of the messages \
             were matched",
            row["locations"],
            100.0 * row["matched"].as_f64().unwrap_or(0.0)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(stage: &str, cpu_ns: u64) -> Value {
        json!({ "locations": 64, "stage": stage, "calls": 1000, "cpu_ns": cpu_ns,
        "wall_ns": cpu_ns, "allocations": 1 })
    }

    #[test]
    fn parts_have_what_they_take_beyond_decoding() {
        let lines = [
            line("decode", 20_000),
            line("store", 30_000),
            line("place", 90_000),
        ];
        let rows = rows(&lines).unwrap();
        let median = |stage: &str| {
            let row = rows.iter().find(|row| row["stage"] == stage).unwrap();
            row["cpu_ns"]["median"].as_f64().unwrap()
        };
        assert_eq!(
            (median("decode"), median("store"), median("place")),
            (20.0, 10.0, 90.0)
        );
    }

    #[test]
    fn memory_that_grows_is_a_failure() {
        let memory = |end: u64| {
            json!({ "locations": 64, "stage": "memory", "half_bytes": 1000,
        "end_bytes": end })
        };
        assert!(rows(&[memory(1010)]).is_ok());
        assert!(rows(&[memory(1100)]).is_err());
    }
}
