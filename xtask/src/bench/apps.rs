//! Benches whole programs: each bare and under Invivo, in pairs one after the other, with the same
//! answers.
//!
//! They are kernels of our own with the patterns of the NAS benchmarks, in C and Fortran, whose
//! call rates follow from the work between two exchanges, and real programs: LAMMPS, and in a full
//! run the HPC Challenge benchmark.

mod app;
mod programs;

use super::machine::Beside;
use super::machine::own_s;
use super::mpi::{OPEN_MPI, Report, observed, with_tools};
use super::results::{folder, write_table};
use super::statistics::{Median, differences};
use crate::run::output;
use anyhow::{Context, Result, ensure};
use app::{App, Said};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// Pairs of runs in a short and in a full bench.
const PAIRS: (usize, usize) = (3, 10);

/// Measures all programs, prints and writes one table.
pub fn run(full: bool) -> Result<()> {
    let pairs = if full { PAIRS.1 } else { PAIRS.0 };
    let beside = Beside::begin();
    let apps = programs::all(full)?;
    let mut rows = Vec::new();
    println!(
        "{:<16}{:>6}{:>11}{:>11}{:>10}  {:<18}{:>12}{:>11}",
        "program", "ranks", "calls/s/rk", "KiB/s/rk", "slower", "bounds", "bare s", "tool CPU"
    );

    for app in &apps {
        let row = measure(app, pairs)?;
        print(&row);
        rows.push(row);
    }

    let about = "Main loops bare and under Invivo, on Open MPI, in pairs one after the other, \
        answers compared and every call \
                 found in the report; in both, waiting ranks yield the processor. Slowdown is that \
                 of a pair; calls and bytes \
                 are those of one rank in a second of the observed run; tool CPU is the CPU time \
                 of all tool processes for each \
                 second that the bare job used. Ranks and tools share the cores.";
    write_table("apps", about, full, &beside, &rows)
}

/// Measures one program bare and observed in so many pairs.
fn measure(app: &App, pairs: usize) -> Result<Value> {
    let mut seconds = Vec::new();
    let (mut rates, mut bytes, mut shares, mut sizes) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());

    for pair in 0..pairs {
        // The order changes: what warms up in the first run of a pair must not favour one side.
        let (bare, with) = if pair % 2 == 0 {
            let bare = app.run(false)?;
            (bare, app.run(true)?)
        } else {
            let with = app.run(true)?;
            (app.run(false)?, with)
        };

        ensure!(
            bare.said.answer == with.said.answer,
            "{}: {} bare, and {} under Invivo",
            app.name,
            bare.said.answer,
            with.said.answer
        );

        let report = with.report.context("a report")?;
        let took = |ran: &Said| ran.seconds.context("a time");
        let (bare_s, with_s) = (took(&bare.said)?, took(&with.said)?);
        let per_rank = f64::from(app.ranks) * with_s;
        // Calls of one rank per second of the observed run.
        rates.push(report.entered()? as f64 / per_rank);
        bytes.push(report.payload_bytes()? as f64 / per_rank);
        sizes.push(report.payload_bytes()? as f64 / report.entered()? as f64);
        shares.push(report.tool_cpu_ns()? as f64 / 1e9 / bare.cpu_s);
        seconds.push((bare_s, with_s));
    }

    let slower: Vec<f64> = seconds
        .iter()
        .map(|(bare, with)| 100.0 * (with / bare - 1.0))
        .collect();
    let bare: Vec<f64> = seconds.iter().map(|pair| pair.0).collect();
    Ok(json!({
        "program": app.name, "about": app.about, "ranks": app.ranks, "pairs": pairs,
        "calls_per_second_and_rank": Median::of(&rates)?.json(),
        "bytes_per_second_and_rank": Median::of(&bytes)?.json(),
        "slower_percent": Median::of(&slower)?.json(), "bare_seconds": Median::of(&bare)?.json(),
        "added_seconds": Median::of(&differences(&seconds))?.json(),
        "tool_cpu_per_cpu": Median::of(&shares)?.json(),
        "bytes_per_call": Median::of(&sizes)?.json(),
    }))
}

/// One run of a program.
struct Ran {
    said: Said,
    report: Option<Report>,
    /// CPU time of the whole job, in seconds.
    cpu_s: f64,
}

impl App {
    fn run(&self, is_observed: bool) -> Result<Ran> {
        let file = folder().join("apps-report.json");
        let ranks = self.ranks;
        let mut launch = OPEN_MPI.launch(if is_observed {
            with_tools(ranks)
        } else {
            ranks
        });
        // Yielding in both runs: otherwise the tools' mere presence would switch it on and change
        // the figure.
        OPEN_MPI.yielding(&mut launch, true);

        launch.current_dir(&self.folder);
        if is_observed {
            observed(&mut launch, &file, &[]);
        }

        // CPU time of all processes of the job, children of this one: read before and after.
        let (before, begun) = (own_s(), Instant::now());
        let text = output(launch.arg(&self.program).args(&self.arguments))?;
        let (cpu_s, seconds) = (own_s() - before, begun.elapsed().as_secs_f64());

        let mut said = (self.read)(&text, &self.folder).with_context(|| self.name.clone())?;
        // A program that does not time its own loop is timed as a whole.
        said.seconds = said.seconds.or(Some(seconds));

        let report = is_observed
            .then(|| self.checked(&file, &said))
            .transpose()?;
        Ok(Ran {
            said,
            report,
            cpu_s,
        })
    }

    fn checked(&self, file: &Path, said: &Said) -> Result<Report> {
        let report = Report::read(file)?;
        report
            .is_complete(self.ranks)
            .with_context(|| self.name.clone())?;

        // Of real programs nobody says what they call: but recording was on when they began, and
        // when they ended.
        let ends = ["MPI_Init", "MPI_Finalize"].map(|name| (name, u64::from(self.ranks)));
        let made = said
            .made
            .iter()
            .map(|(name, calls)| (name.as_str(), *calls));
        for (function, calls) in made.chain(ends) {
            report
                .has_called(function, calls)
                .with_context(|| self.name.clone())?;
        }
        Ok(report)
    }
}

fn print(row: &Value) {
    let of = |what: &str, name: &str| row[what][name].as_f64().unwrap_or(0.0);

    let bounds = format!(
        "{:+.1} .. {:+.1} %",
        of("slower_percent", "low"),
        of("slower_percent", "high")
    );
    println!(
        "{:<16}{:>6}{:>11.0}{:>11.1}{:>8.1} %  {bounds:<18}{:>12.2}{:>11.3}",
        row["program"].as_str().unwrap_or(""),
        row["ranks"].as_u64().unwrap_or(0),
        of("calls_per_second_and_rank", "median"),
        of("bytes_per_second_and_rank", "median") / 1024.0,
        of("slower_percent", "median"),
        of("bare_seconds", "median"),
        of("tool_cpu_per_cpu", "median"),
    );
}
