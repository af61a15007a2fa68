//! The section on begins and ends of regions, samples, and readings of metrics.

use super::cells::{bounded, newest, rows, word};
use crate::bench::page::section::Runs;
use crate::bench::svg::short;
use anyhow::Result;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Tools, as the bench names them, in the order of the columns. Earlier runs do not have all.
const TOOLS: [&str; 6] = [
    "two stamps",
    "libotf2's writer",
    "recording off",
    "not selected",
    "recorded",
    "and measured",
];
/// What a pair of an instrumented function may cost more than two stamps, and not selected at all,
/// in ns.
const RECORDED_MAX: f64 = 6.0;
const NOT_SELECTED_MAX: f64 = 3.0;

pub fn probe(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let mut text = regions(run);
    if has_tool(run, TOOLS[1]) {
        text += &beside_aims(run);
    }
    text += &samples(run);
    text += &metrics(run);
    Ok(text)
}

/// Rows of regions: the first that there were, they have no part.
fn of_regions(run: &Value) -> impl Iterator<Item = &Value> {
    rows(run).filter(|row| row["part"].is_null())
}

fn of_part<'a>(run: &'a Value, part: &'static str) -> impl Iterator<Item = &'a Value> {
    rows(run).filter(move |row| row["part"] == *part)
}

fn has_tool(run: &Value, tool: &str) -> bool {
    of_regions(run).any(|row| row["tool"] == *tool)
}

fn region<'a>(run: &'a Value, mpi: &str, kind: &str, tool: &str) -> Option<&'a Value> {
    of_regions(run).find(|row| row["mpi"] == *mpi && row["kind"] == *kind && row["tool"] == *tool)
}

fn regions(run: &Value) -> String {
    let tools: Vec<&str> = TOOLS
        .into_iter()
        .filter(|tool| has_tool(run, tool))
        .collect();
    let mut text = String::from("| MPI | probe | bare |");
    for tool in &tools {
        let _ = write!(text, " {tool} |");
    }
    text.push_str("\n|---|---|---|");
    text.push_str(&"---|".repeat(tools.len()));
    text.push('\n');
    let mut seen = BTreeSet::new();
    for row in of_regions(run) {
        let (mpi, kind) = (word(row, "mpi"), word(row, "kind"));
        if !seen.insert((mpi.to_owned(), kind.to_owned())) {
            continue;
        }
        let bare = region(run, mpi, kind, "empty hooks");
        let bare = bare.map_or_else(String::new, |row| bounded(&row["ns"]));
        let _ = write!(text, "| {mpi} | {} | {bare} |", word(row, "about"));
        for tool in &tools {
            // Where a tool does not take part: libotf2 writes regions alone.
            let cell = region(run, mpi, kind, tool)
                .map_or_else(|| "-".to_owned(), |row| bounded(&row["added_ns"]));
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    text
}

/// How far the pairs of a function are above their aims, and recorded ones beside libotf2's.
fn beside_aims(run: &Value) -> String {
    let mut text = String::from(
        "\nAn instrumented function above the aims, in ns (what is below zero is met), and \
         recorded pairs as a part of libotf2's:\n\n\
         | MPI | recorded, less two stamps and 6 ns | not selected, less 3 ns \
         | function, of libotf2's | marked region, of libotf2's |\n|---|---|---|---|---|\n",
    );
    let mut mpis = Vec::new();
    for row in of_regions(run) {
        let mpi = word(row, "mpi");
        if mpis.contains(&mpi) {
            continue;
        }
        mpis.push(mpi);
        let added = |tool: &str| region(run, mpi, "function", tool)?["added_ns"]["median"].as_f64();
        let above = |added: Option<f64>, aim: Option<f64>| match (added, aim) {
            (Some(added), Some(aim)) => format!("{:+.1}", added - aim),
            _ => "-".to_owned(),
        };
        let stamps = added("two stamps").map(|ns| ns + RECORDED_MAX);
        let of_otf2 = |kind: &str| {
            let row = region(run, mpi, kind, "recorded");
            bounded(row.map_or(&Value::Null, |row| &row["of_otf2"]))
        };
        let _ = writeln!(
            text,
            "| {mpi} | {} | {} | {} | {} |",
            above(added("recorded"), stamps),
            above(added("not selected"), Some(NOT_SELECTED_MAX)),
            of_otf2("function"),
            of_otf2("marked")
        );
    }
    text
}

fn samples(run: &Value) -> String {
    let all: Vec<&Value> = of_part(run, "samples").collect();
    let mut tools = Vec::new();
    let mut cases = Vec::new();
    for row in all.iter().filter(|row| !row["calls"].is_null()) {
        let (tool, case) = (word(row, "tool"), (&row["frequency"], &row["calls"]));
        if !tools.contains(&tool) {
            tools.push(tool);
        }
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    if cases.is_empty() {
        return String::new();
    }
    // By frequency, then by depth.
    cases.sort_by_key(|(frequency, calls)| (frequency.as_u64(), calls.as_u64()));
    let head = |what: &str| -> String {
        let columns = tools.iter().map(|tool| match *tool {
            "Invivo" => format!(" {tool} |"),
            tool => format!(" `{tool}` |"),
        });
        format!("\n{what}\n\n| samples a second | calls |") + &columns.collect::<String>()
    };
    let cells = |case: &(&Value, &Value), of: &str| -> String {
        let cell = |tool: &&str| {
            let of_tool = |row: &&&Value| {
                row["tool"] == **tool && (&row["frequency"], &row["calls"]) == *case
            };
            let row = all.iter().find(of_tool);
            format!(" {} |", bounded(row.map_or(&Value::Null, |row| &row[of])))
        };
        tools.iter().map(cell).collect()
    };
    let number = |value: &Value| value.as_f64().map_or_else(String::new, short);
    let mut text = head("One sample, by the calls between `main` and the work: ns of the program.");
    text += " Invivo, of `perf record -g` | Invivo, of dwarf |\n|---|---|";
    text += &("---|".repeat(tools.len() + 2) + "\n");
    for case in &cases {
        let ours = all
            .iter()
            .find(|row| row["tool"] == "Invivo" && (&row["frequency"], &row["calls"]) == *case);
        let of = |name: &str| bounded(ours.map_or(&Value::Null, |row| &row[name]));
        let _ = writeln!(
            text,
            "| {} | {} |{} {} | {} |",
            number(case.0),
            case.1,
            cells(case, "sample_ns"),
            of("of_frames"),
            of("of_stacks")
        );
    }
    text += &head("Beside the program, ns of a processor for each sample.");
    text += &("\n|---|---|".to_owned() + &"---|".repeat(tools.len()) + "\n");
    for case in &cases {
        let cells = cells(case, "beside_ns");
        let _ = writeln!(text, "| {} | {} |{cells}", number(case.0), case.1);
    }
    if let Some(off) = all.iter().find(|row| row["tool"] == "off") {
        let slower = bounded(&off["slower_percent"]);
        let _ = writeln!(
            text,
            "\nUnder Invivo with sampling off, slower by {slower} %."
        );
    }
    text
}

fn metrics(run: &Value) -> String {
    let all: Vec<&Value> = of_part(run, "metrics").collect();
    if all.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\nOne reading of metrics, us of a processor, beside the rank:\n\n\
         | what is read | us | of an interval of `perf stat` |\n|---|---|---|\n",
    );
    for row in all {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            word(row, "what"),
            bounded(&row["reading_us"]),
            bounded(&row["of_perf"])
        );
    }
    text
}
