//! The section on begins and ends of regions.

use super::cells::{bounded, newest, rows, word};
use crate::bench::page::section::Runs;
use anyhow::Result;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Tools, as the bench names them, in the order of the columns.
const TOOLS: [&str; 5] = [
    "two stamps",
    "recording off",
    "not selected",
    "recorded",
    "and measured",
];

pub fn probe(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let mut text = String::from("| MPI | probe | bare |");
    for tool in TOOLS {
        let _ = write!(text, " {tool} |");
    }
    text.push_str("\n|---|---|---|");
    text.push_str(&"---|".repeat(TOOLS.len()));
    text.push('\n');
    let mut seen = BTreeSet::new();
    for row in rows(run) {
        let (mpi, kind) = (word(row, "mpi"), word(row, "kind"));
        if !seen.insert((mpi.to_owned(), kind.to_owned())) {
            continue;
        }
        let of = |tool: &str| {
            let mut of = rows(run).filter(|other| {
                other["mpi"] == *mpi && other["kind"] == *kind && other["tool"] == *tool
            });
            of.next()
        };
        let bare = of("empty hooks").map_or_else(String::new, |row| bounded(&row["ns"]));
        let _ = write!(text, "| {mpi} | {} | {bare} |", word(row, "about"));
        for tool in TOOLS {
            let cell = of(tool).map_or_else(String::new, |row| bounded(&row["added_ns"]));
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    Ok(text)
}
