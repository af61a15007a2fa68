//! Runs whole programs bare and under Invivo, in turns with the rival, with the same answers; and
//! computes what a run takes more than the bare one of its turn.

mod app;
mod job;
mod lammps;
mod read;

use super::effort::{Effort, Turns};
use super::mpi::Report;
use super::statistics::{Median, differences};
use anyhow::{Context, Result, ensure};
pub use app::{App, RANKS, Said};
pub use job::{Ran, Under};
pub use lammps::lammps;
pub use read::of_kernel;
use serde_json::{Value, json};

/// The runs of one turn.
pub struct Turn {
    pub bare: Ran,
    pub with: Ran,
    pub rival: Option<Ran>,
}

impl Turn {
    /// The report of the run under Invivo.
    pub fn report(&self) -> Result<&Report> {
        self.with.report.as_ref().context("a report")
    }

    /// CPU time of everything that the bare run does not have, ranks in their loop apart, in
    /// seconds.
    fn tools_s(&self) -> Option<f64> {
        Some(self.with.beside_s()? - self.bare.beside_s()?)
    }
}

/// Runs a program so many times under each; answers must be the same.
fn turns(app: &App, count: usize) -> Result<Vec<Turn>> {
    (0..count).map(|number| turn(app, number)).collect()
}

/// Runs a program once under each; answers must be the same.
pub fn turn(app: &App, number: usize) -> Result<Turn> {
    let has_rival = app.rival && app.mpi.eztrace().is_some();
    let mut tools = vec![Under::Nothing, Under::Invivo];
    tools.extend(has_rival.then_some(Under::Eztrace));
    let (mut bare, mut with, mut rival) = (None, None, None);
    // Each turn begins with another one: what warms up in the first run must not always favour the
    // same.
    for at in 0..tools.len() {
        let under = tools[(at + number) % tools.len()];
        let ran = app.run(under)?;
        match under {
            Under::Nothing => bare = Some(ran),
            Under::Invivo => with = Some(ran),
            Under::Eztrace => rival = Some(ran),
        }
    }
    let (bare, with) = (bare.context("a bare run")?, with.context("a run")?);
    for other in [Some(&with), rival.as_ref()].into_iter().flatten() {
        ensure!(
            bare.said.answer == other.said.answer,
            "{}: {} bare, and {} with a tool",
            app.name,
            bare.said.answer,
            other.said.answer
        );
    }
    Ok(Turn { bare, with, rival })
}

/// Measures one program, prints its line, and gives it as a row of a table.
pub fn measure(app: App, effort: &Effort, own: Turns) -> Result<Value> {
    let app = app.long_enough()?;
    let turns = turns(&app, effort.turns(own))?;
    let row = row(&app, &turns)?;
    print(&row);
    Ok(row)
}

/// A median over all turns, of what can be had of each.
fn over(turns: &[Turn], of: impl Fn(&Turn) -> Option<f64>) -> Result<Value> {
    let values: Vec<f64> = turns.iter().filter_map(of).collect();
    // What no turn has, such as a rival, has no median.
    if values.is_empty() {
        return Ok(Value::Null);
    }
    Ok(Median::of(&values)?.json())
}

fn row(app: &App, turns: &[Turn]) -> Result<Value> {
    let entered = |turn: &Turn| Some(turn.report().ok()?.entered().ok()? as f64);
    let dropped = |turn: &Turn| Some(turn.report().ok()?.dropped().ok()? as f64);
    let payload = |turn: &Turn| Some(turn.report().ok()?.payload_bytes().ok()? as f64);
    let slower = |with: &Ran, bare: &Ran| 100.0 * (with.seconds / bare.seconds - 1.0);
    let seconds: Vec<(f64, f64)> = turns
        .iter()
        .map(|turn| (turn.bare.seconds, turn.with.seconds))
        .collect();
    let ranks = f64::from(app.ranks);

    Ok(json!({
        "mpi": app.mpi.title, "program": app.name, "about": app.about, "ranks": app.ranks,
        "pairs": turns.len(),
        "calls": over(turns, entered)?["median"],
        "calls_per_second_and_rank":
            over(turns, |turn| Some(entered(turn)? / turn.bare.seconds / ranks))?,
        "bytes_per_second_and_rank":
            over(turns, |turn| Some(payload(turn)? / turn.with.seconds / ranks))?,
        "bytes_per_call": over(turns, |turn| Some(payload(turn)? / entered(turn)?))?,
        "bare_seconds": over(turns, |turn| Some(turn.bare.seconds))?,
        "added_seconds": Median::of(&differences(&seconds))?.json(),
        "slower_percent": over(turns, |turn| Some(slower(&turn.with, &turn.bare)))?,
        "rival_slower_percent":
            over(turns, |turn| Some(slower(turn.rival.as_ref()?, &turn.bare)))?,
        "tool_cpu_seconds": over(turns, Turn::tools_s)?,
        "tool_cpu_ns_per_call":
            over(turns, |turn| Some(1e9 * turn.tools_s()? / entered(turn)?))?,
        "place_cpu_ns_per_call": over(turns, |turn| {
            Some(turn.report().ok()?.tool_cpu_ns().ok()? as f64 / entered(turn)?)
        })?,
        "dropped_percent":
            over(turns, |turn| Some(100.0 * dropped(turn)? / entered(turn)?))?,
    }))
}

/// The head of the lines that are printed.
pub fn print_head() {
    println!(
        "{:<9} {:<22}{:>5}{:>11}{:>8}{:>10}  {:<17}{:>9}{:>9}{:>9}{:>9}",
        "MPI",
        "program",
        "ranks",
        "calls/s/rk",
        "bare s",
        "slower",
        "bounds",
        "EZTrace",
        "tool s",
        "ns/call",
        "dropped"
    );
}

fn print(row: &Value) {
    let of = |what: &str, name: &str| row[what][name].as_f64();
    let shown = |what: &str, digits: usize| {
        of(what, "median").map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let bound = |name: &str| of("slower_percent", name).unwrap_or(0.0);
    let bounds = format!("{:+.1} .. {:+.1} %", bound("low"), bound("high"));
    println!(
        "{:<9} {:<22}{:>5}{:>11}{:>8}{:>8} %  {bounds:<17}{:>7} %{:>9}{:>9}{:>7} %",
        row["mpi"].as_str().unwrap_or(""),
        row["program"].as_str().unwrap_or(""),
        row["ranks"].as_u64().unwrap_or(0),
        shown("calls_per_second_and_rank", 0),
        shown("bare_seconds", 2),
        shown("slower_percent", 2),
        shown("rival_slower_percent", 1),
        shown("tool_cpu_seconds", 2),
        shown("tool_cpu_ns_per_call", 0),
        shown("dropped_percent", 2),
    );
}
