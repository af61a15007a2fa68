//! The section on the tool place: time and memory for each call, and the part of each stage.

use super::cells::{bar, bounded, earlier, median, newest, rows};
use crate::bench::page::section::{Charts, Runs};
use crate::bench::svg::{Chart, Group, short};
use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write as _;

const STAGES: [(&str, &str); 8] = [
    ("decode", "checksum and decode"),
    ("store", "store in the buffer"),
    ("functions", "function table"),
    ("sites", "table of call sites"),
    ("matrix", "communication matrix"),
    ("messages", "matching of messages"),
    ("heatmap", "ranks over time"),
    ("waitstates", "wait states of collectives"),
];

const WHOLES: [(&str, &str); 3] = [
    ("place", "everything on"),
    ("default", "those that are on by default"),
    ("none", "none: buffers alone"),
];

/// A format, the stage that writes it and the one that reads it.
const FORMATS: [(&str, &str, &str); 2] = [
    ("as they are", "encode", "decode alone"),
    ("raw", "write raw", "read raw"),
];

fn of_place<'a>(run: &'a Value, stage: &str) -> impl Iterator<Item = &'a Value> {
    let stage = stage.to_owned();
    rows(run).filter(move |row| row["stage"] == stage.as_str())
}

pub fn place(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let mut text = String::from(
        "| locations | ns per call | million calls a second and core | of the target, 10 | \
         allocations in a million calls | memory at half-time, in the end | ns, earlier runs |\n\
         |---|---|---|---|---|---|---|\n",
    );

    for row in of_place(run, "place") {
        let ns = median(&row["cpu_ns"])?;
        let same = |other: &Value| other["locations"] == row["locations"];
        let memory = of_place(run, "memory").find(|memory| same(memory));
        let mib = |name: &str| {
            let bytes = memory.and_then(|memory| memory[name].as_f64());
            bytes.unwrap_or(0.0) / f64::from(1 << 20)
        };
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} | {:.0} % | {} | {:.0}, {:.0} MiB | {} |",
            row["locations"],
            bounded(&row["cpu_ns"]),
            1e3 / ns,
            // 1e9 ns, over the target of 10 million calls, in percent.
            1e4 / ns,
            short(row["allocations_per_million_calls"].as_f64().unwrap_or(0.0)),
            mib("half_bytes"),
            mib("end_bytes"),
            earlier(
                runs,
                |other| same(other) && other["stage"] == "place",
                "cpu_ns"
            )
        );
    }
    text += &by_analyses(runs, run);
    text += "\nOf the time with 64 locations, each part alone:\n\n| part | ns per call | share \
        |\n|---|---|---|\n";

    let whole = of_place(run, "place").find(|row| row["locations"] == 64);
    let whole = median(&whole.context("64 locations")?["cpu_ns"])?;
    // What is left when the parts are subtracted from the whole.
    let mut rest = whole;
    for (stage, about) in STAGES {
        // Runs of earlier versions had fewer.
        let Some(row) = of_place(run, stage).next() else {
            continue;
        };
        let ns = median(&row["cpu_ns"])?;
        rest -= ns;
        let _ = writeln!(
            text,
            "| {about} | {} | {:.0} % |",
            bounded(&row["cpu_ns"]),
            100.0 * ns / whole
        );
    }

    let _ = writeln!(
        text,
        "| the rest: cuts and pauses, and caches that all share | {} | {:.0} % |",
        short(rest),
        100.0 * rest / whole
    );
    Ok(text + &raw_records(run))
}

/// Records of fixed size beside those that are written; nothing of runs of earlier versions.
fn raw_records(run: &Value) -> String {
    let row_of = |stage| of_place(run, stage).next();
    let mut text = String::from(
        "\nRecords as they are, and raw ones of fixed size, of one rank's calls:\n\n\
         | records | written, ns per call | read, ns per call | bytes per call |\n\
         |---|---|---|---|\n",
    );
    for (about, write, read) in FORMATS {
        let (Some(write), Some(read)) = (row_of(write), row_of(read)) else {
            return String::new();
        };
        let _ = writeln!(
            text,
            "| {about} | {} | {} | {} |",
            bounded(&write["cpu_ns"]),
            bounded(&read["cpu_ns"]),
            short(write["bytes_per_call"].as_f64().unwrap_or(0.0))
        );
    }
    text
}

/// Places with fewer analyses; nothing of runs of earlier versions, which had none.
fn by_analyses(runs: &Runs, run: &Value) -> String {
    let row_of = |stage| of_place(run, stage).find(|row| row["locations"] == 64);
    if row_of("default").is_none() {
        return String::new();
    }
    let mut text = String::from(
        "\nWith 64 locations, by the analyses that are on:\n\n\
         | analyses | ns per call | ns, earlier runs |\n|---|---|---|\n",
    );
    for (stage, about) in WHOLES {
        let same = |other: &Value| other["locations"] == 64 && other["stage"] == stage;
        let earlier = earlier(runs, same, "cpu_ns");
        let ns = row_of(stage).map(|row| bounded(&row["cpu_ns"]));
        let _ = writeln!(text, "| {about} | {} | {earlier} |", ns.unwrap_or_default());
    }
    text
}

pub fn place_charts(run: &Value) -> Result<Charts> {
    let mut groups = Vec::new();
    for row in of_place(run, "place") {
        let label = format!("{} locations", row["locations"]);
        let bars = vec![bar(0, &row["cpu_ns"])?];
        groups.push(Group { label, bars });
    }
    for (stage, about) in STAGES {
        let Some(row) = of_place(run, stage).next() else {
            continue;
        };
        groups.push(Group {
            label: about.to_owned(),
            bars: vec![bar(1, &row["cpu_ns"])?],
        });
    }
    Ok(vec![(
        "place.svg",
        Chart {
            title: "What a tool place takes for a call".into(),
            unit: "ns",
            series: vec!["all of it".into(), "a part, alone, 64 locations".into()],
            groups,
            mark: Some((100.0, "target")),
        },
    )])
}
