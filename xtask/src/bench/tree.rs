//! Benches what a question costs on its way through the tree.
//!
//! Real trees of several depths and widths over ranks that sleep answer a client. Simulated trees
//! of up to a million ranks, whose answers are compared with the closed form, give the bytes that
//! their roots receive.

use super::effort::Effort;
use super::machine::Beside;
use super::mpi::OPEN_MPI;
use super::programs::invivo;
use super::results::{folder, write_table};
use super::statistics::{Median, quantile};
use crate::run::{cargo, output, python, root};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ranks of the real trees.
const RANKS: u32 = 16;
/// Their fan-ins, with the tool processes that each makes.
const FAN_INS: [(&str, u32); 4] = [("16", 2), ("4", 5), ("4,2", 7), ("2,2", 15)];
/// The questions of the client.
const QUESTIONS: [&str; 3] = ["Status", "Functions", "Matrix"];
/// Rounds of questions in a short and in a full bench.
const ROUNDS: (usize, usize) = (60, 300);
/// Seconds that the ranks go on at most.
const SECONDS: &str = "300";
/// From the launcher's start to a job that answers.
const START_MAX: Duration = Duration::from_secs(30);
/// Time for ranks to return from MPI_Init, and for clocks to be synchronised.
const SETTLE: Duration = Duration::from_secs(3);

/// Measures, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let program = OPEN_MPI.compile("nothing.c", "nothing", &[])?;
    let beside = Beside::begin();
    let rounds = effort.turns(ROUNDS);
    let mut rows = Vec::new();
    println!(
        "{:<8}{:>7}{:>7}  {:<10}{:>9}  {:<16}{:>9}{:>10}",
        "fan-in", "layers", "tools", "question", "p50 ms", "bounds", "p99 ms", "bytes"
    );
    for (fan_in, tools) in FAN_INS {
        rows.extend(real(&program, fan_in, tools, rounds)?);
    }
    rows.extend(simulated()?);

    let about = "Of real trees the time from a client's question to its answer, on sleeping ranks \
        that leave the cores to the tools; \
                 of simulated ones the bytes that the root receives for one question and hands \
                 out.";
    write_table("tree", about, effort, &beside, &rows)
}

/// Runs one job, and asks it every question so many times.
fn real(program: &Path, fan_in: &str, tools: u32, rounds: usize) -> Result<Vec<Value>> {
    let state = root().join("target/bench/state");
    let name = format!("bench-tree-{}", fan_in.replace(',', "-"));
    let mut launch = OPEN_MPI.launch(RANKS + tools);
    OPEN_MPI.yielding(&mut launch, true);
    launch.arg(invivo());
    launch.args(["exec", "--no-config", "--quiet", "--fan-in", fan_in, "--"]);
    launch.arg(program).arg(SECONDS);
    launch
        .env("XDG_STATE_HOME", &state)
        .env("INVIVO_JOB", &name);

    launch.stdout(Stdio::null());
    let mut job = launch.spawn().context("starting the job")?;
    let answers = ask(
        &state.join("invivo/jobs").join(&name).join("connect.json"),
        &mut job,
        rounds,
    );
    // Ours, and of no more use: mpiexec ends its processes when it is asked to.
    let _ = Command::new("kill").arg(job.id().to_string()).status();
    let _ = job.wait();
    let answers = answers.with_context(|| format!("fan-in {fan_in}"))?;

    let mut rows = Vec::new();
    for question in QUESTIONS {
        let of: Vec<&Value> = answers
            .iter()
            .filter(|answer| answer["question"] == question)
            .collect();
        let mut ms: Vec<f64> = of
            .iter()
            .filter_map(|answer| Some(answer["client_ns"].as_f64()? / 1e6))
            .collect();
        let median = Median::of(&ms)?;
        let p99 = quantile(&mut ms, 0.99)?;
        let bytes = of.last().and_then(|answer| answer["bytes"].as_u64());

        let layers = layers(fan_in);
        println!(
            "{fan_in:<8}{layers:>7}{tools:>7}  {question:<10}{:>9.2}  {:<16}{p99:>9.2}{:>10}",
            median.value,
            format!("{:.2} .. {:.2}", median.low, median.high),
            bytes.unwrap_or(0)
        );
        rows.push(json!({
            "kind": "real", "fan_in": fan_in, "ranks": RANKS, "layers": layers, "tools": tools,
            "question": question,
            "ms": median.json(), "p99_ms": p99, "bytes": bytes,
        }));
    }
    Ok(rows)
}

/// Layers above the ranks: members become fewer by the fan-in, the last number of which repeats,
/// until one is left.
fn layers(fan_in: &str) -> u32 {
    let numbers: Vec<u32> = fan_in
        .split(',')
        .filter_map(|number| number.parse().ok())
        .collect();

    let (mut members, mut layers) = (RANKS, 0);
    while members > 1 || layers < 2 {
        // Analysis nodes take sixteen members where the fan-in gives none for them.
        let by = match numbers[..] {
            [ranks] if layers == 0 => ranks,
            [_] => 16,
            _ => numbers[(layers as usize).min(numbers.len() - 1)],
        };
        members = members.div_ceil(by.max(2));
        layers += 1;
    }
    layers
}

/// Asks all questions; fails where an answer is not about all ranks.
fn ask(connect: &Path, job: &mut Child, rounds: usize) -> Result<Vec<Value>> {
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

    std::thread::sleep(SETTLE);
    let mut client = Command::new(python().join("bin/python"));
    client
        .arg(root().join("xtask/bench/ask.py"))
        .arg(connect)
        .arg(rounds.to_string());
    let lines = output(client.args(QUESTIONS).current_dir(folder()))?;

    let mut answers = Vec::new();
    for line in lines.lines() {
        let answer: Value = serde_json::from_str(line)?;
        ensure!(
            answer["ranks"] == RANKS && answer["ranks_reporting"] == RANKS,
            "an answer that is not about all ranks: {line}"
        );
        // Each rank has at least begun.
        ensure!(
            answer["entered"].as_u64() >= Some(u64::from(RANKS)),
            "nothing was recorded: {line}"
        );
        answers.push(answer);
    }
    Ok(answers)
}

/// The table of `sim scale`, which fails where an answer is not that of the closed form.
fn simulated() -> Result<Vec<Value>> {
    let mut sim = cargo();
    sim.args(["run", "--release", "-p", "invivo-sim", "--", "scale"]);
    let text = output(&mut sim)?;
    print!("{text}");
    let rows = text.lines().filter_map(simulated_row);
    let rows: Vec<Value> = rows.collect();
    ensure!(rows.len() > 1, "no table: {text}");
    Ok(rows)
}

/// `ranks  places > ... > 1  tools  fed  calls fed  functions  matrix  status  messages  grid
/// waits  root bytes  received  six times ms  error ns  took s`
fn simulated_row(line: &str) -> Option<Value> {
    let mut words = line.split_whitespace().filter(|word| *word != ">");
    let ranks: u64 = words.next()?.parse().ok()?;
    let rest: Vec<&str> = words.collect();

    // Behind the layers stand nineteen numbers and three units.
    let layers = rest.len().checked_sub(22)?;

    let number = |at: usize| rest.get(layers + at)?.parse::<u64>().ok();
    let ms = |at: usize| rest.get(layers + at)?.parse::<f64>().ok();
    Some(json!({
        "kind": "simulated", "ranks": ranks, "layers": layers, "tools": number(0)?,
        "functions_bytes": number(3)?, "matrix_bytes": number(4)?, "status_bytes": number(5)?,
        "messages_bytes": number(6)?, "grid_bytes": number(7)?, "waits_bytes": number(8)?,
        "root_bytes": number(9)?, "received": number(10)?,
        "grid_ms": ms(15)?, "waits_ms": ms(16)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_simulated_trees_are_read() {
        let line = "  1048576  16384 > 256 > 16 > 1       16657   65536   19922944      79964   \
            396884   22963      6456     97908    146451      753873        65  \
            20.1 11.8 1.0 8.7 9.5 31.0 ms  440544 ns    15.2 s";
        let row = simulated_row(line).unwrap();
        assert_eq!(
            (row["ranks"].as_u64(), row["layers"].as_u64()),
            (Some(1_048_576), Some(4))
        );
        assert_eq!(
            (row["tools"].as_u64(), row["root_bytes"].as_u64()),
            (Some(16_657), Some(753_873))
        );
        assert_eq!(row["received"], 65);
        assert_eq!(
            (&row["grid_ms"], &row["waits_ms"]),
            (&json!(9.5), &json!(31.0))
        );
        assert!(simulated_row("    ranks  layers  tools").is_none());
    }

    #[test]
    fn layers_follow_from_the_fan_in() {
        assert_eq!(["16", "4", "4,2", "2,2"].map(layers), [2, 2, 3, 4]);
    }
}
