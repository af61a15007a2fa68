//! Benches how long each command takes until every rank has acknowledged it, while the ranks
//! compute and while they communicate.
//!
//! The baseline is the least that could reach the same number of computing processes: a signal and
//! a flag.

use super::programs::{compile, invivo, mpiexec};
use super::results::folder;
use super::statistics::quantile;
use crate::run::{output, python, root};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ranks; with two, they fit the cores of a small machine and the tools do not.
const RANKS: u32 = 2;
/// Commands of each kind, and bare round trips.
const ROUNDS: &str = "100";
/// Jobs for the commands that a job takes only once.
const ONCE: usize = 20;
/// The length of a window, in ns.
const WINDOW_NS: u64 = 20_000_000;
/// Seconds that the ranks go on at most: more than all rounds take.
const SECONDS: &str = "300";
/// The work of the ranks.
const WORK: [&str; 2] = ["compute", "communicate"];
/// From the launcher's start to a job that answers.
const START_MAX: Duration = Duration::from_secs(30);

/// Times in ms by verb.
type Times = BTreeMap<String, Vec<f64>>;

/// Measures, prints and writes one table.
pub fn run() -> Result<()> {
    let spin = compile("spin.c", "spin", &[])?;
    let signals = compile("signals.c", "signals", &[])?;
    let mut bare: Vec<f64> = output(Command::new(signals).args([&RANKS.to_string(), ROUNDS]))?
        .lines()
        .map(|line| Ok(line.parse::<f64>()? / 1e6))
        .collect::<Result<_>>()?;
    let baseline = (quantile(&mut bare, 0.5)?, quantile(&mut bare, 0.99)?);

    let mut rows = Vec::new();
    println!(
        "{:<14}{:<14}{:>10}{:>10}{:>9}{:>9}",
        "work", "verb", "p50 ms", "p99 ms", "p50 x", "p99 x"
    );
    println!(
        "{:<14}{:<14}{:>10.3}{:>10.3}",
        "-", "bare signal", baseline.0, baseline.1
    );

    for work in WORK {
        // Most commands are given many times to one job; hold, release and shutdown once to each of
        // several.
        let mut all = job(&spin, work, work, &[], ROUNDS)?;
        for number in 1..=ONCE {
            for (verb, times) in job(&spin, work, &format!("{work}-{number}"), &["--hold"], "0")? {
                all.entry(verb).or_default().extend(times);
            }
        }
        all.remove("start");
        for (verb, mut times) in all {
            let (p50, p99) = (quantile(&mut times, 0.5)?, quantile(&mut times, 0.99)?);
            let (r50, r99) = (p50 / baseline.0, p99 / baseline.1);
            println!("{work:<14}{verb:<14}{p50:>10.3}{p99:>10.3}{r50:>9.2}{r99:>9.2}");
            rows.push(json!({
                "work": work, "verb": verb, "commands": times.len(), "p50": p50, "p99": p99,
                "ratio_p50": r50, "ratio_p99": r99,
            }));
        }
    }

    let table = json!({
        "name": "steer", "unit": "ms", "ranks": RANKS, "baseline_p50": baseline.0,
        "baseline_p99": baseline.1, "rows": rows,
        "about": format!(
            "Commands to {RANKS} ranks (and a tool process) of Open MPI through one \
             gRPC client, the whole call as \
             the client sees it until every rank has acknowledged; of a window of {} ms what it \
             takes beyond its length. A cut \
             (of reset, record and window) is put 20 ms per layer ahead, so that every place hears \
             of it in time. Hold, \
             release and shutdown are given once to each of {ONCE} jobs. \
             Baseline: a signal to as many computing processes, and a flag back from each.",
            WINDOW_NS / 1_000_000
        ),
    });
    std::fs::write(
        folder().join("steer.json"),
        serde_json::to_string_pretty(&table)? + "\n",
    )?;
    Ok(())
}

/// Runs a job, gives it commands, and ends it.
fn job(spin: &Path, work: &str, name: &str, options: &[&str], rounds: &str) -> Result<Times> {
    let state = root().join("target/bench/state");
    let name = format!("bench-steer-{name}");
    let mut launch = mpiexec(RANKS + 1);
    launch
        .arg(invivo())
        .args(["exec", "--no-config", "--quiet"])
        .args(options)
        .arg("--")
        .arg(spin)
        .args([SECONDS, work]);
    launch
        .env("XDG_STATE_HOME", &state)
        .env("INVIVO_JOB", &name)
        .stdin(Stdio::null());

    let mut job = launch.spawn().context("starting the job")?;
    let steered = steer(
        &state.join("invivo/jobs").join(&name).join("connect.json"),
        &mut job,
        rounds,
    );
    // Ours, and of no more use: mpiexec ends its processes when it is asked to.
    let _ = Command::new("kill").arg(job.id().to_string()).status();
    let _ = job.wait();
    steered
}

/// Gives commands; returns the times of those that every rank has acknowledged.
fn steer(connect: &Path, job: &mut Child, rounds: &str) -> Result<Times> {
    let begun = Instant::now();
    while !connect.exists() {
        if let Some(status) = job.try_wait()? {
            bail!("the job ended with {status}");
        }
        ensure!(
            begun.elapsed() < START_MAX,
            "the job did not publish itself"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    // Until every rank has initialised MPI a pause is none; a hold waits for them.
    if rounds != "0" {
        std::thread::sleep(Duration::from_secs(3));
    }

    let mut client = Command::new(python().join("bin/python"));
    client.arg(root().join("xtask/bench/steer.py")).arg(connect);
    let lines = output(client.args([rounds, &WINDOW_NS.to_string()]))?;

    let mut times = Times::new();
    for line in lines.lines() {
        let command: Value = serde_json::from_str(line)?;
        // A time counts only with a complete answer.
        check(&command).with_context(|| line.to_owned())?;
        let verb = command["verb"].as_str().context("verb")?.to_owned();
        let ns = command["client_ns"].as_f64().context("client_ns")?;
        times.entry(verb).or_default().push(ns / 1e6);
    }
    Ok(times)
}

/// Fails unless every rank has acknowledged, and cuts lie where they were ordered.
fn check(command: &Value) -> Result<()> {
    let reply = &command["reply"];
    // 64-bit numbers are text in the JSON of protobuf.
    let number =
        |value: &Value| -> Option<u64> { value.as_u64().or_else(|| value.as_str()?.parse().ok()) };

    let ranks = Some(u64::from(RANKS));
    ensure!(
        number(&reply["done"]) == ranks && number(&reply["targets"]) == ranks,
        "an incomplete command"
    );

    let cuts = matches!(
        command["verb"].as_str(),
        Some("reset" | "record off" | "record on" | "window")
    );
    ensure!(
        reply.get("from").is_some() == cuts,
        "a command without its cut, or with one too many"
    );

    if command["verb"] == "window" {
        let at = |edge: &str| number(&reply[edge]["latest_ns"]).context("an edge");
        // A place that hears of it late begins late; where it began is what the answer says.
        let length = at("to")?.saturating_sub(at("from")?);
        ensure!(
            length > 0 && length <= WINDOW_NS,
            "a window of another length"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_answers_count() {
        let reset = json!({ "verb": "reset", "reply": { "done": 2, "targets": 2, "from": {} } });
        assert!(check(&reset).is_ok());
        let pause = json!({ "verb": "pause", "reply": { "done": 1, "targets": 2 } });
        assert!(check(&pause).is_err());
        let uncut = json!({ "verb": "reset", "reply": { "done": 2, "targets": 2 } });
        assert!(check(&uncut).is_err());
        let window = |to: &str| {
            json!({ "verb": "window", "reply": {
                "done": 2, "targets": 2, "from": { "latest_ns": "5" }, "to": { "latest_ns": to },
            }})
        };
        assert!(check(&window("20000005")).is_ok());
        assert!(check(&window("20000006")).is_err());
        assert!(check(&window("5")).is_err());
    }
}
