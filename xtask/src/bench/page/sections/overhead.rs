//! The section on the cap on the overhead.

use super::cells::{bounded, newest, rows, word};
use crate::bench::page::section::Runs;
use anyhow::Result;
use std::fmt::Write as _;

pub fn overhead(runs: &Runs) -> Result<String> {
    let mut text = String::from(
        "| MPI | program | cap, % | without a cap, slower by % | with it, slower by % | aim |\n\
         |---|---|---|---|---|---|\n",
    );
    for row in rows(newest(runs)?) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            word(row, "mpi"),
            word(row, "program"),
            row["cap_percent"],
            bounded(&row["uncapped_percent"]),
            bounded(&row["capped_percent"]),
            row["aim_percent"]
        );
    }
    Ok(text)
}
