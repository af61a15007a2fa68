//! How long a pause takes until every rank has acknowledged, beside the least that could reach the same number of
//! computing processes: a signal and a flag.

use super::{Figure, compile, invivo, mpiexec, quantile};
use crate::run::{output, python, root};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ranks; with two, they fit the cores of a small machine and the tools do not.
const RANKS: u32 = 2;
/// Pauses, and bare round trips.
const ROUNDS: &str = "200";
/// Seconds that the ranks compute: more than all rounds take, pauses apart.
const SECONDS: &str = "60";

/// Measures and writes two figures.
pub fn run() -> Result<()> {
    let spin = compile("spin.c", "spin", &[])?;
    let signals = compile("signals.c", "signals", &[])?;
    let mut bare: Vec<f64> = output(Command::new(signals).args([&RANKS.to_string(), ROUNDS]))?
        .lines()
        .map(|line| Ok(line.parse::<f64>()? / 1e6))
        .collect::<Result<_>>()?;

    let state = root().join("target/bench/state");
    let mut launch = mpiexec(RANKS + 2);
    launch
        .arg(invivo())
        .args(["exec", "--quiet", "--"])
        .arg(spin)
        .arg(SECONDS);
    launch
        .env("XDG_STATE_HOME", &state)
        .env("INVIVO_JOB", "bench-pause")
        .stdin(Stdio::null());
    let mut job = launch.spawn().context("starting the job")?;
    let measured = measure(&state.join("invivo/jobs/bench-pause/connect.json"), &mut job);
    // Ours, and of no more use: mpiexec ends its processes when it is asked to.
    let _ = Command::new("kill").arg(job.id().to_string()).status();
    let _ = job.wait();
    let mut measured = measured?;
    for (name, part) in [("pause-p50", 0.5), ("pause-p99", 0.99)] {
        Figure {
            name,
            value: quantile(&mut measured, part)?,
            unit: "ms",
            baseline: quantile(&mut bare, part)?,
            about: format!(
                "{} pauses of {RANKS} computing ranks (and a tool place and the root) through one gRPC client, the whole call as \
                 the client sees it. Baseline: a signal to as many computing processes, and a flag back from each.",
                measured.len()
            ),
        }
        .write()?;
    }
    Ok(())
}

/// Times of complete pauses in ms.
fn measure(connect: &PathBuf, job: &mut Child) -> Result<Vec<f64>> {
    let begun = Instant::now();
    while !connect.exists() {
        if let Some(status) = job.try_wait()? {
            bail!("the job ended with {status}");
        }
        ensure!(
            begun.elapsed() < Duration::from_secs(30),
            "the job did not publish itself"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    // Until every rank has initialised MPI a pause is none.
    std::thread::sleep(Duration::from_secs(3));
    let script = root().join("xtask/bench/pause.py");
    let lines = output(
        Command::new(python().join("bin/python"))
            .arg(script)
            .arg(connect)
            .arg(ROUNDS),
    )?;
    lines
        .lines()
        .map(|line| {
            let pause: serde_json::Value = serde_json::from_str(line)?;
            ensure!(
                pause["done"] == u64::from(RANKS) && pause["targets"] == u64::from(RANKS),
                "an incomplete pause: {line}"
            );
            Ok(pause["client_ns"].as_f64().context("client_ns")? / 1e6)
        })
        .collect()
}
