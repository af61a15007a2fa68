//! Benches the start and end of a job: four ranks that call MPI_Init and MPI_Finalize only, bare,
//! by `invivo run`, and with place and root in a process each, in turns.

use super::effort::Effort;
use super::machine::Beside;
use super::mpi::{APART, MPIS, Mpi, Report, behind_run_with};
use super::results::{folder, write_table};
use super::statistics::{Median, differences};
use crate::run::{output, show};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Pairs in a short and in a full bench.
const PAIRS: (usize, usize) = (12, 40);
const RANKS: u32 = 4;
/// Target for the added time, in ms.
const TARGET_MS: f64 = 300.0;

/// Measures both MPIs, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let pairs = effort.turns(PAIRS);
    let beside = Beside::begin();
    let mut rows = Vec::new();
    println!(
        "{:<10}{:>10}{:>12}{:>11}  {:<18}{:>10}{:>13}",
        "MPI", "bare ms", "observed ms", "added ms", "bounds", "target", "apart, added"
    );
    for mpi in MPIS {
        let row = measure(mpi, pairs)?;
        let of = |what: &str, name: &str| row[what][name].as_f64().unwrap_or(0.0);
        let bounds = format!(
            "{:.0} .. {:.0}",
            of("added_ms", "low"),
            of("added_ms", "high")
        );
        println!(
            "{:<10}{:>10.0}{:>12.0}{:>11.0}  {bounds:<18}{TARGET_MS:>10.0}{:>13.0}",
            mpi.title,
            of("bare_ms", "median"),
            of("observed_ms", "median"),
            of("added_ms", "median"),
            of("apart_added_ms", "median")
        );
        rows.push(row);
    }
    let about = "From the launcher's start to its end: four ranks that call MPI_Init and \
                 MPI_Finalize, bare, by invivo run with a report (one tool process), and with \
                 place and root in a process each, in turns; added is the median of the turns' \
                 differences. Ranks and tool processes share the cores.";
    write_table("startup", about, effort, &beside, &rows)
}

fn measure(mpi: Mpi, pairs: usize) -> Result<Value> {
    let program = mpi.compile("nothing.c", "nothing", &[])?;
    let report = folder().join("startup-report.json");
    let mut line = mpi.launch(RANKS);
    line.arg(&program);
    let observed = |options: &[&str]| -> Result<f64> {
        let took = ms(&mut behind_run_with(options, &line, &report))?;
        let report = Report::read(&report)?;
        report.is_complete(RANKS)?;
        report.has_called("MPI_Init", u64::from(RANKS))?;
        report.has_called("MPI_Finalize", u64::from(RANKS))?;
        Ok(took)
    };
    let run = |kind: usize| match kind {
        0 => ms(&mut bare(mpi, &program)),
        1 => observed(&[]),
        _ => observed(APART),
    };
    let mut times: [Vec<f64>; 3] = Default::default();
    // The first turn fills the caches and is not counted.
    for turn in 0..=pairs {
        // The order changes, as in all benches of turns.
        for place in 0..times.len() {
            let kind = (turn + place) % times.len();
            let took = run(kind)?;
            if turn != 0 {
                times[kind].push(took);
            }
        }
    }

    let [bare, with, apart] = &times;
    let added = |with: &[f64]| -> Result<Value> {
        let pairs: Vec<(f64, f64)> = bare.iter().copied().zip(with.iter().copied()).collect();
        Ok(Median::of(&differences(&pairs))?.json())
    };
    Ok(json!({
        "mpi": mpi.title, "ranks": RANKS, "pairs": pairs, "bare_ms": Median::of(bare)?.json(),
        "observed_ms": Median::of(with)?.json(),
        "added_ms": added(with)?,
        "apart_added_ms": added(apart)?,
        "target_ms": TARGET_MS,
    }))
}

fn bare(mpi: Mpi, program: &Path) -> Command {
    let mut launch = mpi.launch(RANKS);
    launch.arg(program);
    launch
}

fn ms(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    output(command).map_err(|error| error.context(show(command)))?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}
