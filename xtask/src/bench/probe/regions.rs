//! Benches what a begin and an end of a region cost, recorded, not selected, and not recorded at
//! all; beside preloaded libraries that take two time stamps, or write with libotf2, and the
//! compiler's empty hooks.
//!
//! Of a recorded run the job is asked for each visit before it ends.

use super::ask::{answer, job};
use super::otf2;
use super::ratio::of_rival;
use crate::bench::mpi::{MPIS, Mpi, Report, behind_run_with};
use crate::bench::results::folder;
use crate::bench::statistics::{Median, differences, quantile};
use crate::run::output;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

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
    Otf2,
    Off,
    NotSelected,
    Recorded,
    Measured,
}

const TOOLS: [Tool; 7] = [
    Tool::Bare,
    Tool::Stamps,
    Tool::Otf2,
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
            Tool::Otf2 => "libotf2's writer",
            Tool::Off => "recording off",
            Tool::NotSelected => "not selected",
            Tool::Recorded => "recorded",
            Tool::Measured => "and measured",
        }
    }

    /// The options of a run under Invivo.
    fn options(self) -> Option<&'static [&'static str]> {
        match self {
            Tool::Bare | Tool::Stamps | Tool::Otf2 => None,
            Tool::Off => Some(&["--recording", "off"]),
            Tool::NotSelected => Some(&["--selection", "exclude *; exclude MPI_*"]),
            Tool::Recorded => Some(&[]),
            Tool::Measured => Some(&["--metrics", "usual"]),
        }
    }
}

/// ns per pair or call, on the wall and of the thread.
type Times = Vec<(f64, f64)>;

/// What a pair of probes costs on both MPIs.
pub fn rows(turns: usize) -> Result<Vec<Value>> {
    println!(
        "{:<10}{:<10}{:<18}{:>10}{:>12}",
        "MPI", "kind", "tool", "ns", "added ns"
    );
    let mut rows = Vec::new();
    for mpi in MPIS {
        rows.extend(measure(mpi, turns)?);
    }
    Ok(rows)
}

/// The programs of an MPI.
struct Programs {
    mpi: Mpi,
    probes: PathBuf,
    stamps: PathBuf,
    otf2: PathBuf,
}

impl Programs {
    fn new(mpi: Mpi) -> Result<Programs> {
        let shared = ["-shared", "-fPIC"];
        let with_otf2 = ["-shared", "-fPIC", "-lopen-trace-format2"];
        Ok(Programs {
            mpi,
            probes: mpi.compile("probes.c", "probes", &["-finstrument-functions", "-ldl"])?,
            stamps: mpi.compile("probe_stamps.c", "libprobestamps.so", &shared)?,
            otf2: mpi.compile("probe_otf2.c", "libprobeotf2.so", &with_otf2)?,
        })
    }
}

fn measure(mpi: Mpi, turns: usize) -> Result<Vec<Value>> {
    let programs = Programs::new(mpi)?;
    let mut all: BTreeMap<(&str, Tool), Times> = BTreeMap::new();
    for turn in 0..turns {
        // Each turn begins with another tool.
        for at in 0..TOOLS.len() {
            let tool = TOOLS[(at + turn) % TOOLS.len()];
            let said = one(&programs, tool)?;
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
            // It writes regions and nothing else.
            let writes = ["function", "marked"].contains(&kind);
            if tool == Tool::Otf2 && !writes {
                continue;
            }
            let with = &all[&(kind, tool)];
            let added = |with: &Times, of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
                let bare = bare.iter().map(of);
                differences(&bare.zip(with.iter().map(of)).collect::<Vec<_>>())
            };
            let wall: Vec<f64> = with.iter().map(|time| time.0).collect();
            let added_ns = added(with, |time| time.0);
            let mut row = json!({
                "mpi": mpi.title, "kind": kind, "about": about, "tool": tool.name(),
                "ns": Median::of(&wall)?.json(), "added_ns": Median::of(&added_ns)?.json(),
                "added_cpu_ns": Median::of(&added(with, |time| time.1))?.json(),
            });
            if tool == Tool::Recorded && writes {
                let rival = added(&all[&(kind, Tool::Otf2)], |time| time.0);
                row["of_otf2"] = of_rival(&added_ns, &rival);
            }
            println!(
                "{:<10}{kind:<10}{:<18}{:>10.1}{:>12.1}",
                mpi.title,
                tool.name(),
                Median::of(&wall)?.value,
                Median::of(&added_ns)?.value,
            );
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Runs the program under a tool, and checks what the tool has of it.
fn one(programs: &Programs, tool: Tool) -> Result<BTreeMap<&'static str, Times>> {
    let mpi = programs.mpi;
    let asked = folder().join("probes-asked");
    let _ = std::fs::remove_file(&asked);
    let mut launch = mpi.launch(RANKS);
    mpi.yielding(&mut launch, false);
    match tool {
        Tool::Stamps => mpi.preload(&mut launch, &programs.stamps),
        Tool::Otf2 => otf2::preload(mpi, &mut launch, &programs.otf2),
        _ => {}
    }
    launch.arg(&programs.probes).arg(BATCHES);
    let Some(options) = tool.options() else {
        let text = output(launch.arg("-"))?;
        if tool == Tool::Otf2 {
            otf2::has_written(&["function", "marked"], made()?)?;
        }
        return said(&text);
    };
    launch.arg(&asked);
    let report = folder().join("probe-report.json");
    let mut run = behind_run_with(options, &launch, &report);
    let (name, id) = job();
    run.env(name, id).stdout(Stdio::piped());
    let job = run.spawn().context("the job")?;
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
    let expected = made()?;
    let until = Instant::now() + ASK_MAX;
    loop {
        let (regions, functions) = (answer(&["regions"]), answer(&["functions"]));
        let of = |answer: &Result<Value>, field: &str, name: &str, value: &str| {
            let rows = answer
                .as_ref()
                .ok()
                .and_then(|answer| answer["rows"].as_array());
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
    let answer = answer(&words).ok()?;
    answer.pointer("/rows/0/total/sum").and_then(Value::as_u64)
}

/// Pairs or calls of each kind in a run.
fn made() -> Result<u64> {
    Ok(BATCHES.parse::<u64>()? * 20_000)
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
