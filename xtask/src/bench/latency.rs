//! Benches messages and sums between two ranks on full cores: how long one takes and how many bytes
//! go over, bare, under Invivo as a user types it and under EZTrace, on both MPIs.
//!
//! Nothing is computed between two messages: no program makes more calls a second. What cannot be
//! taken at that rate is dropped and counted, and stands in the table.

use super::effort::{Effort, Turns};
use super::machine::Beside;
use super::mpi::{MPIS, Mpi};
use super::pairs::{App, RANKS, Ran, Under, of_kernel, turn};
use super::results::{folder, write_table};
use super::statistics::Median;
use crate::run::output;
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Turns in a short and in a full bench.
const TURNS: Turns = (1, 10);
/// Seconds of the bare main loop.
const LOOP_S: &str = "10.5";
/// EZTrace keeps every call in memory and writes it: it is given so much less of each kind.
const RIVAL_PART: u64 = 20;
/// What the latency of the shortest message may be, as a multiple of the bare one.
const TARGET: f64 = 2.0;
const SHORTEST: &str = "pingpong-8";

/// Measures both MPIs, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let beside = Beside::begin();
    let mut rows = Vec::new();
    println!(
        "{:<9} {:<18}{:>12}{:>12}{:>8}{:>12}{:>11}{:>11}{:>9}",
        "MPI",
        "kind",
        "bare ns",
        "observed",
        "ratio",
        "EZTrace",
        "bare GB/s",
        "observed",
        "dropped"
    );
    for mpi in MPIS {
        if effort.wants(mpi.title) {
            rows.extend(measure(&program(mpi)?, effort)?);
        }
    }
    let about = "Between two ranks on full cores, turn by turn: pingpong, one way of a message; \
                 window, each of 64 messages sent at once; allreduce, a sum of doubles. Nothing is \
                 computed in between. Dropped: the part of all calls of the run that no place \
                 could take.";
    write_table("latency", about, effort, &beside, &rows)
}

fn program(mpi: Mpi) -> Result<App> {
    let program = mpi.compile("latency.c", "latency", &[])?;
    let mut plan = mpi.launch(RANKS);
    let said = output(plan.arg(&program).args(["plan", LOOP_S]))?;
    let planned = said.split_once("plan ").context("no plan")?.1;
    let mut arguments = vec!["run".to_owned()];
    arguments.extend(planned.split_whitespace().map(str::to_owned));
    Ok(App {
        mpi,
        name: "latency".into(),
        about: "messages and sums".into(),
        ranks: RANKS,
        program,
        arguments,
        // Planned for the time that it takes.
        steps: None,
        folder: folder(),
        // It runs in the same turns, but for a shorter time.
        rival: false,
        read: of_kernel,
    })
}

/// The same with less of each kind.
fn for_rival(app: &App) -> Result<App> {
    let mut less = app.clone();
    for count in &mut less.arguments[1..] {
        // By hundreds: the program goes through all kinds in a hundred turns.
        *count = (count.parse::<u64>()? / RIVAL_PART / 100 * 100 + 100).to_string();
    }
    Ok(less)
}

/// The runs of one turn: what the program says of each kind, and the part of the calls that was
/// dropped.
struct Runs {
    bare: Ran,
    with: Ran,
    rival: Option<Ran>,
    dropped_percent: f64,
}

fn measure(app: &App, effort: &Effort) -> Result<Vec<Value>> {
    let less = for_rival(app)?;
    let has_rival = app.mpi.eztrace().is_some();
    let mut runs = Vec::new();
    for number in 0..effort.turns(TURNS) {
        let turn = turn(app, number)?;
        let report = turn.report()?;
        let dropped_percent = 100.0 * report.dropped()? as f64 / report.entered()? as f64;
        runs.push(Runs {
            rival: has_rival.then(|| less.run(Under::Eztrace)).transpose()?,
            bare: turn.bare,
            with: turn.with,
            dropped_percent,
        });
    }
    let kinds = &runs.first().context("no turn")?.bare.said.times;
    let kinds: Vec<String> = kinds.iter().map(|time| time.0.clone()).collect();

    let mut rows = Vec::new();
    for (at, kind) in kinds.iter().enumerate() {
        let ns = |ran: &Ran| ran.said.times[at].1;
        let over = |of: &dyn Fn(&Runs) -> Option<f64>| -> Result<Value> {
            let values: Vec<f64> = runs.iter().filter_map(of).collect();
            if values.is_empty() {
                return Ok(Value::Null);
            }
            Ok(Median::of(&values)?.json())
        };
        let bytes: f64 = kind.rsplit('-').next().context("bytes")?.parse()?;
        let row = json!({
            "mpi": app.mpi.title, "kind": kind, "bytes": bytes, "turns": runs.len(),
            "bare_ns": over(&|run| Some(ns(&run.bare)))?,
            "observed_ns": over(&|run| Some(ns(&run.with)))?,
            "rival_ns": over(&|run| Some(ns(run.rival.as_ref()?)))?,
            "ratio": over(&|run| Some(ns(&run.with) / ns(&run.bare)))?,
            // Bytes in a ns are GB in a second.
            "bare_gb_per_s": over(&|run| Some(bytes / ns(&run.bare)))?,
            "observed_gb_per_s": over(&|run| Some(bytes / ns(&run.with)))?,
            "dropped_percent": over(&|run| Some(run.dropped_percent))?,
            "target_ratio": (kind == SHORTEST).then_some(TARGET),
        });
        print(&row);
        rows.push(row);
    }
    Ok(rows)
}

fn print(row: &Value) {
    let of = |what: &str| row[what]["median"].as_f64().unwrap_or(0.0);
    println!(
        "{:<9} {:<18}{:>12.1}{:>12.1}{:>8.2}{:>12.1}{:>11.2}{:>11.2}{:>7.1} %",
        row["mpi"].as_str().unwrap_or(""),
        row["kind"].as_str().unwrap_or(""),
        of("bare_ns"),
        of("observed_ns"),
        of("ratio"),
        of("rival_ns"),
        of("bare_gb_per_s"),
        of("observed_gb_per_s"),
        of("dropped_percent"),
    );
}
