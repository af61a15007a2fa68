//! Benches what a begin and an end of a region cost, recorded, not selected, and not recorded at
//! all; beside a preloaded library that takes two time stamps, and the compiler's empty hooks.
//!
//! All run in turn, so that a busy moment of the machine meets all of them, and what a tool adds is
//! computed within one turn. Of a recorded run the job is asked for each visit before it ends.

use super::effort::Effort;
use super::machine::Beside;
use super::mpi::{MPIS, Mpi, Report, behind_run_with};
use super::programs::invivo;
use super::results::{folder, write_table};
use super::statistics::{Median, differences, quantile};
use crate::run::output;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Turns in a short and in a full bench.
const TURNS: (usize, usize) = (5, 15);
const BATCHES: &str = "8";
const RANKS: u32 = 2;
/// Until all visits have come.
const ASK_MAX: Duration = Duration::from_secs(60);
/// Kinds of probes, as xtask/bench/probes.c names them.
const KINDS: [(&str, &str); 4] = [
    ("function", "an instrumented function, entered and left"),
    ("marked", "a marked region, begun and ended"),
    ("iprobe", "MPI_Iprobe"),
    ("count", "a counter of the program, added to"),
];

/// What the program runs under.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tool {
    Bare,
    Stamps,
    Off,
    NotSelected,
    Recorded,
    Measured,
}

const TOOLS: [Tool; 6] = [
    Tool::Bare,
    Tool::Stamps,
    Tool::Off,
    Tool::NotSelected,
    Tool::Recorded,
    Tool::Measured,
];

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Bare => "empty hooks",
            Tool::Stamps => "two stamps",
            Tool::Off => "recording off",
            Tool::NotSelected => "not selected",
            Tool::Recorded => "recorded",
            Tool::Measured => "and measured",
        }
    }

    /// The options of a run under Invivo.
    fn options(self) -> Option<&'static [&'static str]> {
        match self {
            Tool::Bare | Tool::Stamps => None,
            Tool::Off => Some(&["--recording", "off"]),
            Tool::NotSelected => Some(&["--selection", "exclude *; exclude MPI_*"]),
            Tool::Recorded => Some(&[]),
            Tool::Measured => Some(&["--metrics", "usual"]),
        }
    }
}

/// ns per pair or call, on the wall and of the thread.
type Times = Vec<(f64, f64)>;

/// Measures, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let turns = effort.turns(TURNS);
    let beside = Beside::begin();
    let mut rows = Vec::new();
    println!(
        "{:<10}{:<10}{:<15}{:>10}{:>12}",
        "MPI", "kind", "tool", "ns", "added ns"
    );
    for mpi in MPIS {
        rows.extend(measure(mpi, turns)?);
    }
    let about = "ns of a pair of probes (a begin and an end), or of a call, and how many more than \
        in the run of the same turn with empty hooks: medians over turns of the medians of a run's \
        loops. Two ranks, of which one works. two stamps: a preloaded library that keeps a time \
        stamp at each; not selected: --selection 'exclude *; exclude MPI_*'; recorded: the usual \
        configuration, all visits and calls counted by the job; and measured: with --metrics \
        usual as well, all counts read.";
    write_table("probe", about, effort, &beside, &rows)
}

fn measure(mpi: Mpi, turns: usize) -> Result<Vec<Value>> {
    let program = mpi.compile("probes.c", "probes", &["-finstrument-functions", "-ldl"])?;
    let stamps = mpi.compile("probe_stamps.c", "libprobestamps.so", &["-shared", "-fPIC"])?;
    let mut all: BTreeMap<(&str, Tool), Times> = BTreeMap::new();
    for turn in 0..turns {
        // Each turn begins with another tool.
        for at in 0..TOOLS.len() {
            let tool = TOOLS[(at + turn) % TOOLS.len()];
            let said = one(mpi, tool, &program, &stamps)?;
            for (kind, times) in said {
                let of = |side: fn(&(f64, f64)) -> f64| {
                    quantile(&mut times.iter().map(side).collect::<Vec<_>>(), 0.5)
                };
                let median = (of(|time| time.0)?, of(|time| time.1)?);
                all.entry((kind, tool)).or_default().push(median);
            }
        }
    }
    let mut rows = Vec::new();
    for (kind, about) in KINDS {
        let bare = &all[&(kind, Tool::Bare)];
        for tool in TOOLS {
            let with = &all[&(kind, tool)];
            let pairs = |of: fn(&(f64, f64)) -> f64| -> Vec<(f64, f64)> {
                bare.iter().map(of).zip(with.iter().map(of)).collect()
            };
            let wall: Vec<f64> = with.iter().map(|time| time.0).collect();
            let (ns, added) = (
                Median::of(&wall)?,
                Median::of(&differences(&pairs(|time| time.0)))?,
            );
            println!(
                "{:<10}{kind:<10}{:<15}{:>10.1}{:>12.1}",
                mpi.title,
                tool.name(),
                ns.value,
                added.value
            );
            rows.push(json!({
                "mpi": mpi.title, "kind": kind, "about": about, "tool": tool.name(),
                "ns": ns.json(), "added_ns": added.json(),
                "added_cpu_ns": Median::of(&differences(&pairs(|time| time.1)))?.json(),
            }));
        }
    }
    Ok(rows)
}

/// Runs the program under a tool, and checks what the tool has of it.
fn one(
    mpi: Mpi,
    tool: Tool,
    program: &PathBuf,
    stamps: &std::path::Path,
) -> Result<BTreeMap<&'static str, Times>> {
    let asked = folder().join("probes-asked");
    let _ = std::fs::remove_file(&asked);
    let mut launch = mpi.launch(RANKS);
    mpi.yielding(&mut launch, false);
    if tool == Tool::Stamps {
        mpi.preload(&mut launch, stamps);
    }
    launch.arg(program).arg(BATCHES);
    let Some(options) = tool.options() else {
        return said(&output(launch.arg("-"))?);
    };
    launch.arg(&asked);
    let report = folder().join("probe-report.json");
    let mut run = behind_run_with(options, &launch, &report);
    let job = run.stdout(Stdio::piped()).spawn().context("the job")?;
    let is_checked = matches!(tool, Tool::Recorded | Tool::Measured);
    let checked = is_checked.then(|| all_is_there(tool)).transpose();
    std::fs::write(&asked, "")?;
    let output = job.wait_with_output()?;
    checked?;
    ensure!(output.status.success(), "the job failed: {}", output.status);
    let report = Report::read(&report)?;
    match tool {
        Tool::Off => report.is_off(RANKS)?,
        _ => report.is_complete(RANKS)?,
    }
    if tool == Tool::NotSelected {
        ensure!(report.calls("MPI_Iprobe") == 0, "calls were recorded");
    }
    said(&String::from_utf8(output.stdout)?)
}

/// Waits until the job has all visits and calls, and counts where they are measured.
fn all_is_there(tool: Tool) -> Result<()> {
    let expected = BATCHES.parse::<u64>()? * 20_000;
    let until = Instant::now() + ASK_MAX;
    loop {
        let (regions, functions) = (ask(&["regions"]), ask(&["functions"]));
        let of = |answer: &Option<Value>, field: &str, name: &str, value: &str| {
            let rows = answer.as_ref().and_then(|answer| answer["rows"].as_array());
            let mut rows = rows.into_iter().flatten();
            let row = rows.find(|row| row.pointer(name).and_then(Value::as_str) == Some(value));
            row.map_or(0, |row| row[field].as_u64().unwrap_or(0))
        };
        let there = [
            of(&regions, "visits", "/functions/0/function", "probed"),
            of(&regions, "visits", "/name", "probed mark"),
            of(&functions, "calls", "/function", "MPI_Iprobe"),
        ];
        let counted = match tool {
            Tool::Measured => counted().unwrap_or(0),
            _ => expected,
        };
        if there.iter().all(|there| *there == expected) && counted == expected {
            return Ok(());
        }
        ensure!(
            Instant::now() < until,
            "the job has {there:?} and {counted} of {expected} each"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What the program has counted, as far as it has been read.
fn counted() -> Option<u64> {
    let words = ["heatmap", "--metric", "counter:probed", "--rows", "1"];
    let answer = ask(&words)?;
    answer.pointer("/rows/0/total/sum").and_then(Value::as_u64)
}

/// A client's answer, where there is one.
fn ask(words: &[&str]) -> Option<Value> {
    let mut client = Command::new(invivo());
    let output = client.args(words).arg("--json").output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

fn said(text: &str) -> Result<BTreeMap<&'static str, Times>> {
    let mut all: BTreeMap<&'static str, Times> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["time", kind, wall, cpu] = words[..]
            && let Some((kind, _)) = KINDS.iter().find(|(known, _)| *known == kind)
        {
            let times = all.entry(kind).or_default();
            times.push((wall.parse()?, cpu.parse()?));
        }
    }
    ensure!(
        all.len() == KINDS.len(),
        "the program did not come to its end"
    );
    Ok(all)
}
