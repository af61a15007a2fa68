//! Benches the cap on the overhead: programs that cost the measurement much, bare, under Invivo
//! without a cap, and with one, in turns one after the other.
//!
//! They are millions of tiny functions a second, which time themselves once things have settled,
//! and the HPC Challenge benchmark, whose calls come in bursts, from its start to its end.

use super::apps::hpcc;
use super::effort::{Effort, Turns};
use super::machine::Beside;
use super::mpi::{MPIS, Mpi, OPEN_MPI, Report, behind_run_with};
use super::pairs::{App, RANKS};
use super::results::{folder, write_table};
use super::statistics::Median;
use crate::run::{output, root};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

/// Turns in a short and in a full bench.
const TURNS: Turns = (1, 5);
/// Seconds of the program of tiny functions; it times itself behind the first 2.5.
const SECONDS: &str = "8";
/// The caps, by program.
const CAP_TINY: &str = "5%";
const CAP_HPCC: &str = "2%";
/// The side of hpcc's matrix.
const SIDE: u32 = 5000;
/// By which the overhead may exceed its cap.
const ALLOWED: f64 = 1.5;
/// From the folder of the benches.
const TINY: &str = "../../tests/apps/regions/tiny_functions.c";

/// A program, and how long the same work takes in a run of it, in seconds.
struct Program {
    mpi: Mpi,
    name: &'static str,
    cap: &'static str,
    line: Box<dyn Fn() -> Command>,
    took: fn(&str, f64) -> Result<f64>,
    /// What is to be there behind a run.
    check: Box<dyn Fn() -> Result<()>>,
}

/// Measures all, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let beside = Beside::begin();
    let mut rows = Vec::new();
    for program in programs(effort)? {
        if effort.wants(program.name) {
            rows.push(measure(&program, effort)?);
        }
    }
    let about = "What a run takes longer than the bare one of its turn: without a cap on the \
                 overhead, and with one; two ranks on two cores. Tiny functions: 20,000 of a \
                 tenth of a microsecond between two MPI_Allreduce, compiled with \
                 -finstrument-functions, rounds a second behind the first 2.5 s. hpcc: the whole \
                 run.";
    write_table("overhead", about, effort, &beside, &rows)
}

fn programs(effort: &Effort) -> Result<Vec<Program>> {
    let mut all = Vec::new();
    for mpi in MPIS {
        all.push(tiny(mpi)?);
    }
    if effort.full || effort.only.is_some() {
        all.push(of_app(long(hpcc(OPEN_MPI)?)?));
    }
    Ok(all)
}

fn tiny(mpi: Mpi) -> Result<Program> {
    let common = format!("-I{}", root().join("tests/apps/common").display());
    let options = ["-finstrument-functions", &common];
    let program = mpi.compile(TINY, "tiny_functions", &options)?;
    Ok(Program {
        mpi,
        name: "tiny functions",
        cap: CAP_TINY,
        line: Box::new(move || {
            let mut line = mpi.launch(RANKS);
            line.arg(&program).arg(SECONDS);
            line
        }),
        took: |said, _| {
            let rate = said.trim().strip_suffix(" rounds a second");
            let rate: f64 = rate.with_context(|| said.to_owned())?.parse()?;
            ensure!(rate > 0.0, "no rounds");
            Ok(1.0 / rate)
        },
        check: Box::new(|| Ok(())),
    })
}

/// With a problem that takes half a minute instead of a second: a cap needs some seconds to hold.
fn long(app: App) -> Result<App> {
    let input = app.folder.join("hpccinf.txt");
    let text = std::fs::read_to_string(&input)?;
    let larger = |line: &str| match line.split_whitespace().nth(1) {
        Some("Ns") => format!("{SIDE}         Ns\n"),
        _ => format!("{line}\n"),
    };
    std::fs::write(&input, text.lines().map(larger).collect::<String>())?;
    Ok(app)
}

fn of_app(app: App) -> Program {
    let of = app.clone();
    Program {
        mpi: app.mpi,
        name: "hpcc",
        cap: CAP_HPCC,
        line: Box::new(move || {
            let mut line = app.mpi.launch(app.ranks);
            line.current_dir(&app.folder).arg(&app.program);
            line
        }),
        took: |_, seconds| Ok(seconds),
        check: Box::new(move || {
            let said = (of.read)("", &of.folder)?;
            ensure!(said.answer == "1", "hpcc failed: {}", said.answer);
            Ok(())
        }),
    }
}

/// Runs a program bare, or under Invivo with a cap or `off`; how long the same work took.
fn once(program: &Program, cap: Option<&str>) -> Result<f64> {
    let file = folder().join("overhead-report.json");
    let mut line = (program.line)();
    if let Some(cap) = cap {
        line = behind_run_with(&["--overhead", cap], &line, &file);
    }
    let begun = Instant::now();
    let said = output(&mut line)?;
    let took = (program.took)(&said, begun.elapsed().as_secs_f64())?;
    (program.check)()?;
    let report = cap.map(|_| Report::read(&file)).transpose()?;
    if let Some(report) = &report {
        // Floods drop some calls, and caps leave some out: that it was observed is enough.
        ensure!(report.entered()? > 0, "no call was seen");
    }
    Ok(took)
}

fn measure(program: &Program, effort: &Effort) -> Result<Value> {
    let ways = [None, Some("off"), Some(program.cap)];
    let mut slower = [Vec::new(), Vec::new()];
    for turn in 0..effort.turns(TURNS) {
        let mut took = [0.0; 3];
        // Each turn begins with another one.
        for at in 0..ways.len() {
            let way = (at + turn) % ways.len();
            took[way] = once(program, ways[way])?;
        }
        for (way, slower) in slower.iter_mut().enumerate() {
            slower.push(100.0 * (took[way + 1] / took[0] - 1.0));
        }
    }
    let [uncapped, capped] = slower.map(|all| Median::of(&all));
    let (uncapped, capped) = (uncapped?, capped?);
    let cap: f64 = program.cap.trim_end_matches('%').parse()?;
    println!(
        "{:<9} {:<15} cap {cap} %: {:+.1} % without, {:+.1} % with it",
        program.mpi.title, program.name, uncapped.value, capped.value
    );
    Ok(json!({
        "mpi": program.mpi.title, "program": program.name, "ranks": RANKS,
        "cap_percent": cap, "aim_percent": cap * ALLOWED,
        "uncapped_percent": uncapped.json(), "capped_percent": capped.json(),
    }))
}
