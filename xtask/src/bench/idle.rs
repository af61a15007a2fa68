//! Benches what each process of the tool takes of a core while the ranks are quiet and nobody is
//! connected, on both MPIs.

use super::effort::Effort;
use super::machine::Beside;
use super::mpi::{APART, MPIS, Mpi, behind_run_with};
use super::processes::of_job;
use super::results::{folder, write_table};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const RANKS: u32 = 2;
/// Seconds that are measured, in a short and in a full bench.
const MEASURED_S: (u64, u64) = (20, 60);
/// Seconds for the start and the end of the job.
const AROUND_S: u64 = 5;
/// What a tool process may take of a core, in percent.
const TARGET_PERCENT: f64 = 0.1;

/// Measures both MPIs, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let seconds = if effort.full {
        MEASURED_S.1
    } else {
        MEASURED_S.0
    };
    let beside = Beside::begin();
    let mut rows = Vec::new();
    println!(
        "{:<10}{:<13}{:<16}{:>7}{:>14}{:>10}",
        "MPI", "tools", "process", "of them", "most, % core", "target"
    );
    for mpi in MPIS {
        if effort.wants(mpi.title) {
            for (tools, options) in [("one", &[][..]), ("place, root", APART)] {
                rows.extend(measure(mpi, seconds, tools, options)?);
            }
        }
    }
    let about = "CPU time of each process of the tool, as a part of a core (the most of those of \
                 a name), with one tool process and with place and root in a process each, while \
                 two ranks sleep and look for a message five times a second, and nobody is \
                 connected.";
    write_table("idle", about, effort, &beside, &rows)
}

/// One job; `tools` says which tool processes the options make.
fn measure(mpi: Mpi, seconds: u64, tools: &str, options: &[&str]) -> Result<Vec<Value>> {
    let mut bare = mpi.launch(RANKS);
    bare.arg(mpi.compile("nothing.c", "nothing", &[])?);
    bare.arg((seconds + 2 * AROUND_S).to_string());
    let mut job = behind_run_with(options, &bare, &folder().join("idle-report.json"))
        .spawn()
        .context("the job")?;
    let processes = of_job(job.id())?;
    std::thread::sleep(Duration::from_secs(AROUND_S));

    let before: Vec<u64> = processes.iter().map(|one| one.cpu_ns()).collect();
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(seconds));
    let took = begun.elapsed().as_nanos() as f64;
    let after: Vec<u64> = processes.iter().map(|one| one.cpu_ns()).collect();
    ensure!(job.wait()?.success(), "the job failed");

    let mut by_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (process, (before, after)) in processes.iter().zip(before.iter().zip(&after)) {
        ensure!(after >= before, "{} ended too early", process.name);
        let percent = 100.0 * (after - before) as f64 / took;
        by_name.entry(&process.name).or_default().push(percent);
    }
    let mut rows = Vec::new();
    for (name, each) in by_name {
        let most = each.iter().copied().fold(0.0, f64::max);
        println!(
            "{:<10}{tools:<13}{name:<16}{:>7}{most:>14.3}{TARGET_PERCENT:>10.1}",
            mpi.title,
            each.len()
        );
        rows.push(json!({
            "mpi": mpi.title, "tools": tools, "process": name, "processes": each.len(),
            "percent": most, "seconds": seconds, "target_percent": TARGET_PERCENT,
        }));
    }
    Ok(rows)
}
