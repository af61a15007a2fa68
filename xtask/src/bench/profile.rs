//! Benches where the time of the tool's processes goes in a real job: samples of `perf` on all of
//! them while two ranks on full cores exchange in lock-step, by function and in ns for each MPI
//! call, on both MPIs.

use super::effort::Effort;
use super::machine::Beside;
use super::mpi::{MPIS, Mpi, Report};
use super::pairs::App;
use super::processes::{Process, of_job};
use super::rates::exchange;
use super::results::{folder, write_table};
use crate::run::{check, output};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Calls a second and rank.
const RATES: [u32; 2] = [130_000, 1_000_000];
const RANKS: u32 = 2;
/// Samples a second: not a divisor of anything that happens periodically.
const SAMPLES_PER_S: u32 = 1999;
/// Seconds that are sampled, and those before, in which the job starts.
const SAMPLED_S: u64 = 5;
const SETTLED: Duration = Duration::from_secs(2);
/// Functions that have a row of their own, by job.
const ROWS: usize = 20;

/// Samples both MPIs, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let beside = Beside::begin();
    let mut rows = Vec::new();
    let about = if has_perf() {
        for mpi in MPIS {
            for rate in RATES {
                let name = format!("{} {rate}/s", mpi.title);
                if effort.wants(&name) {
                    println!("{name}: % of the tool's CPU time, ns for each call");
                    rows.extend(measure(mpi, rate)?);
                }
            }
        }
        "Samples of all tool processes by perf (cpu-clock) in the middle of a lock-stepped \
         exchange between two ranks on full cores: CPU time by function, for each call that the \
         ranks made meanwhile."
    } else {
        println!("perf is not there, or may not sample: nothing is measured (Debian: linux-perf)");
        "perf was not there, or might not sample: nothing was measured."
    };
    write_table("profile", about, effort, &beside, &rows)
}

/// Whether `perf` is there and may sample.
fn has_perf() -> bool {
    let file = folder().join("perf-trial.data");
    let mut trial = Command::new("perf");
    trial
        .args(["record", "-q", "-e", "cpu-clock", "-o"])
        .arg(&file);
    trial.args(["--", "true"]);
    trial.stdout(Stdio::null()).stderr(Stdio::null());
    trial.status().is_ok_and(|status| status.success())
}

/// Ends a job that is not waited for, when its bench fails.
struct Job(Child);

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure(mpi: Mpi, rate: u32) -> Result<Vec<Value>> {
    let app = exchange(mpi, format!("exchange {rate}/s"), RANKS, rate, false)?;
    let (report, data) = (
        folder().join("profile-report.json"),
        folder().join("profile.data"),
    );
    let mut line = app.under_invivo(&report);
    let text = folder().join("profile-output");
    line.stdout(std::fs::File::create(&text)?);
    let mut job = Job(line.spawn().context("the job")?);

    let processes = of_job(job.0.id())?;
    std::thread::sleep(SETTLED);
    let (before, begun) = (cpu(&processes), Instant::now());
    sample(&processes, &data)?;
    let (after, took) = (cpu(&processes), begun.elapsed());
    ensure!(job.0.wait()?.success(), "the job failed");

    // The ranks make calls all the time, as many a second in the middle as on average.
    let said = (app.read)(&std::fs::read_to_string(&text)?, &app.folder)?;
    let report = Report::read(&report)?;
    report.balances(RANKS)?;
    for (function, calls) in &said.made {
        report.has_called(function, *calls)?;
    }
    let per_s = report.entered()? as f64 / said.seconds.context("a time")?;
    let calls = per_s * took.as_secs_f64();
    let samples = samples(&data)?;
    Ok(rows(&app, &samples, (after - before) as f64 / calls))
}

fn cpu(processes: &[Process]) -> u64 {
    processes.iter().map(Process::cpu_ns).sum()
}

fn sample(processes: &[Process], data: &std::path::Path) -> Result<()> {
    let ids: Vec<String> = processes.iter().map(|one| one.id.to_string()).collect();
    let mut perf = Command::new("perf");
    perf.args([
        "record",
        "-q",
        "-e",
        "cpu-clock",
        "-F",
        &SAMPLES_PER_S.to_string(),
    ]);
    perf.args(["-p", &ids.join(","), "-o"]).arg(data);
    perf.args(["--", "sleep", &SAMPLED_S.to_string()]);
    check(perf.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Samples by process and function.
type Samples = BTreeMap<(String, String), u64>;

fn samples(data: &std::path::Path) -> Result<Samples> {
    let mut perf = Command::new("perf");
    perf.args(["report", "--stdio", "--no-children", "-n", "-t", "|"]);
    perf.args(["-F", "sample,comm,dso,sym", "--percent-limit", "0", "-i"]);
    Ok(read(&output(perf.arg(data).stdin(Stdio::null()))?))
}

/// Of lines `SAMPLES|PROCESS|LIBRARY|[.] FUNCTION`, with `[k]` in the kernel. What has no name is
/// known by its library.
fn read(text: &str) -> Samples {
    let mut all = Samples::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.splitn(4, '|').map(str::trim).collect();
        let [samples, process, library, function] = fields[..] else {
            continue;
        };
        let Ok(samples) = samples.parse::<u64>() else {
            continue;
        };
        let name = match function.split_once("] ") {
            Some((_, name)) if name.starts_with("0x") => library.to_owned(),
            Some(("[k", name)) => format!("kernel: {name}"),
            Some((_, name)) => name.to_owned(),
            None => library.to_owned(),
        };
        *all.entry((process.to_owned(), name)).or_default() += samples;
    }
    all
}

/// The largest shares, and the rest. The samples say which part of the time a function has, the
/// kernel's count how long that is: of a process that runs for moments only, samples miss some.
fn rows(app: &App, samples: &Samples, ns_per_call: f64) -> Vec<Value> {
    let all: u64 = samples.values().sum();
    let mut largest: Vec<_> = samples.iter().collect();
    largest.sort_by_key(|(_, samples)| std::cmp::Reverse(**samples));
    let row = |process: &str, function: &str, samples: u64| {
        let share = samples as f64 / all.max(1) as f64;
        json!({
            "mpi": app.mpi.title, "program": app.name, "process": process, "function": function,
            "share_percent": 100.0 * share, "ns_per_call": ns_per_call * share,
            "samples": samples,
        })
    };
    let mut rows: Vec<Value> = largest
        .iter()
        .take(ROWS)
        .map(|((process, function), samples)| row(process, function, **samples))
        .collect();
    let rest = largest.iter().skip(ROWS);
    rows.push(row(
        "all",
        "the rest",
        rest.map(|(_, samples)| **samples).sum(),
    ));
    rows.push(row("all", "all", all));
    for row in &rows {
        println!(
            "  {:>6.1} %{:>9.1} ns  {:<14} {}",
            row["share_percent"].as_f64().unwrap_or(0.0),
            row["ns_per_call"].as_f64().unwrap_or(0.0),
            row["process"].as_str().unwrap_or(""),
            row["function"].as_str().unwrap_or("")
        );
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_summed_by_process_and_function() {
        let text = "# Samples: 3K\n#\n     1204|tool-place|tool-place|[.] decode::call\n\
                    12|tool-place|[kernel.kallsyms]|[k] 0xffffffff81\n\
                    3|tool-place|[kernel.kallsyms]|[k] schedule\n\n";
        let samples = read(text);
        let of = |name: &str| samples[&("tool-place".to_owned(), name.to_owned())];
        assert_eq!((of("decode::call"), of("[kernel.kallsyms]")), (1204, 12));
        assert_eq!(of("kernel: schedule"), 3);
        assert_eq!(samples.len(), 3);
    }
}
