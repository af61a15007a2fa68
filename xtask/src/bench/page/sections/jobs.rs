//! The sections on whole jobs: bytes, start and end, and questions to the tree.

use super::cells::{bounded, earlier, newest, rows, word};
use crate::bench::page::section::Runs;
use crate::bench::svg::short;
use anyhow::Result;
use serde_json::Value;
use std::fmt::Write as _;

pub fn bytes(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let mut text = String::from(
        "| program | ranks | calls | bytes per call | target | libotf2 | bytes, earlier runs \
         |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows(run) {
        let program = word(row, "program");
        let of = |of: &Value, name: &str| of[name].as_f64().unwrap_or(0.0);
        let bytes = &row["bytes_per_call"];
        let _ = writeln!(
            text,
            "| {program} | {} | {} | {:.2} ({:.2} .. {:.2}) | {:.2} | {} | {} |",
            row["ranks"],
            short(of(row, "calls")),
            of(bytes, "median"),
            of(bytes, "low"),
            of(bytes, "high"),
            of(row, "target_bytes"),
            short(of(row, "otf2_bytes")),
            earlier(runs, |other| other["program"] == program, "bytes_per_call")
        );
    }
    Ok(text)
}

pub fn startup(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let mut text = String::from(
        "| MPI | bare ms | observed ms | added ms | target | added, earlier runs | added with \
         place and root apart |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows(run) {
        let mpi = word(row, "mpi");
        let _ = writeln!(
            text,
            "| {mpi} | {} | {} | {} | {} | {} | {} |",
            bounded(&row["bare_ms"]),
            bounded(&row["observed_ms"]),
            bounded(&row["added_ms"]),
            short(row["target_ms"].as_f64().unwrap_or(0.0)),
            earlier(runs, |other| other["mpi"] == mpi, "added_ms"),
            bounded(&row["apart_added_ms"])
        );
    }
    Ok(text)
}

pub fn tree(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let of = |kind: &'static str| rows(run).filter(move |row| row["kind"] == kind);
    let mut text = String::from(
        "| fan-in | layers | tool processes | question | ms | of a hundred, the second longest | \
         bytes to the client |\n|---|---|---|---|---|---|---|\n",
    );
    for row in of("real") {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            word(row, "fan_in"),
            row["layers"],
            row["tools"],
            word(row, "question"),
            bounded(&row["ms"]),
            short(row["p99_ms"].as_f64().unwrap_or(0.0)),
            row["bytes"]
        );
    }
    text += "\nBytes that the root of a simulated tree receives for one question and hands out:\n\n\
             | ranks | layers | tool processes | functions | matrix | status | messages \
             |\n|---|---|---|---|---|---|---|\n";
    for row in of("simulated") {
        // Small numbers, such as layers, are shown as they are.
        let number = |name: &str| match row[name].as_f64() {
            Some(many) if many >= 10.0 => short(many),
            _ => row[name].to_string(),
        };

        let names = [
            "ranks",
            "layers",
            "tools",
            "functions_bytes",
            "matrix_bytes",
            "status_bytes",
            "messages_bytes",
        ];
        let cells = names.map(number);
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    Ok(text)
}
