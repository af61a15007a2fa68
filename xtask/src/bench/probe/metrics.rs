//! Benches what one reading of metrics takes a rank's supervisor, by what is read; beside
//! `perf stat`, which reads counters of the same process as often.

use super::ask::{answer, number};
use super::perf::{self, Perf};
use super::ratio::of_rival;
use super::worker::Worker;
use crate::bench::results::folder;
use crate::bench::statistics::Median;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time between two readings: the least that `perf stat` takes without a warning.
const EVERY_MS: u32 = 100;
/// Until the newest reading has come to whoever is asked.
const SETTLED: Duration = Duration::from_millis(150);
/// Batches of a round, for what is compared and for single metrics: a second and a half, and
/// half of that.
const BATCHES: (u32, u32) = (100, 50);
/// Calls between `main` and the work, which no metric looks at.
const DEPTH: u32 = 4;
/// What `perf stat` counts: of metrics what it has too, and needs no counters of the processor.
const EVENTS: &str = "task-clock,context-switches,cpu-migrations,page-faults,major-faults";
/// The part by which time on a processor may differ from what the program says of itself.
const APART_MAX: f64 = 0.15;

const USUAL: &str = "usual";
const ALL: &str = "all of them";
const PERF: &str = "perf stat -I 100";

/// What one reading takes, by what is read, in us of a processor.
pub fn rows(turns: usize, bare: &mut Worker, observed: &mut Worker) -> Result<Vec<Value>> {
    let sets = sets()?;
    let has_perf = perf::is_there();
    let mut all: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for turn in 0..turns {
        // Each turn begins with another set.
        for at in 0..sets.len() {
            let (name, metrics) = &sets[(at + turn) % sets.len()];
            all.entry(name).or_default().push(ours(observed, metrics)?);
            if name == USUAL && has_perf {
                all.entry(PERF).or_default().push(theirs(bare)?);
            }
        }
    }
    println!("{:<24}{:>22}", "what is read", "us of a processor");
    let rivals = all.get(PERF).cloned();
    let mut rows = Vec::new();
    let names = sets.iter().map(|(name, _)| name.as_str());
    for name in names.chain([PERF]) {
        let Some(readings) = all.get(name) else {
            continue;
        };
        let reading = Median::of(readings)?;
        println!("{name:<24}{:>22.1}", reading.value);
        let tool = if name == PERF { PERF } else { "Invivo" };
        let mut row = json!({
            "part": "metrics", "what": name, "tool": tool, "reading_us": reading.json(),
        });
        if let Some(rivals) = rivals.as_ref().filter(|_| name != PERF) {
            row["of_perf"] = of_rival(readings, rivals);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// What can be measured here: the usual, all, and each alone.
fn sets() -> Result<Vec<(String, String)>> {
    let list = answer(&["metrics", "list"])?;
    let metrics = list["metrics"].as_array().context("metrics")?;
    let can_be = |metric: &&Value| metric["without"].as_array().is_none_or(Vec::is_empty);
    let names = metrics.iter().filter(can_be).map(|metric| &metric["name"]);
    let mut names: Vec<&str> = names.filter_map(Value::as_str).collect();
    ensure!(names.contains(&"cpu-time"), "time is not measured");
    names.push("program");
    let mut sets = vec![
        (USUAL.to_owned(), USUAL.to_owned()),
        (ALL.to_owned(), names.join(",")),
    ];
    sets.extend(
        names
            .iter()
            .map(|name| ((*name).to_owned(), (*name).to_owned())),
    );
    Ok(sets)
}

/// A reading of these, as the job counts it.
fn ours(worker: &mut Worker, metrics: &str) -> Result<f64> {
    answer(&[
        "metrics",
        "set",
        metrics,
        "--every",
        &format!("{EVERY_MS}ms"),
    ])?;
    std::thread::sleep(SETTLED);
    let before = answer(&["metrics"])?;
    let is_compared = metrics == USUAL || metrics.contains(',');
    let batches = if is_compared { BATCHES.0 } else { BATCHES.1 };
    let worked = worker.work(DEPTH, batches)?;
    std::thread::sleep(SETTLED);
    let after = answer(&["metrics"])?;
    answer(&["metrics", "off"])?;

    if is_compared {
        let cpu_ns = cpu_time(&after) - cpu_time(&before);
        is_near(cpu_ns, worked.cpu_ns()).context("the metric cpu-time")?;
    }
    let of = |name| Ok::<_, anyhow::Error>(number(&after, name)? - number(&before, name)?);
    let (readings, cost_ns) = (of("readings")?, of("cost_ns")?);
    ensure!(readings > 3, "{readings} readings only were taken");
    Ok(cost_ns as f64 / readings as f64 / 1000.0)
}

/// Time on a processor that was measured so far.
fn cpu_time(metrics: &Value) -> f64 {
    let values = metrics["values"].as_array().into_iter().flatten();
    let mut values = values.filter(|value| value["name"] == "cpu-time");
    values
        .next()
        .and_then(|value| value["sum"].as_f64())
        .unwrap_or(0.0)
}

/// An interval of `perf stat`, by the kernel's account of its process.
fn theirs(worker: &mut Worker) -> Result<f64> {
    let file = folder().join("probe-perf-stat");
    let words = ["stat", "-I", &EVERY_MS.to_string(), "-x,", "-e", EVENTS];
    let perf = Perf::attach(&words, &file, worker.pid)?;
    let (begun, before) = (Instant::now(), perf.cpu_ns());
    let worked = worker.work(DEPTH, BATCHES.0)?;
    let (took, after) = (begun.elapsed(), perf.cpu_ns());
    perf.end()?;
    let text = std::fs::read_to_string(&file).context("what perf stat has written")?;
    let (intervals_per_s, counted_ns) = counted(&text);
    is_near(counted_ns, worked.cpu_ns()).context("the task-clock of perf stat")?;
    // On a busy machine its intervals are longer than they should be.
    let wanted_per_s = 1000.0 / f64::from(EVERY_MS);
    ensure!(
        intervals_per_s > wanted_per_s / 2.0,
        "{intervals_per_s:.1} intervals a second: too busy a machine to measure on"
    );
    let intervals = took.as_secs_f64() * intervals_per_s;
    Ok((after - before) as f64 / intervals / 1000.0)
}

/// Intervals a second, and time on a processor in ns, of lines `TIME,VALUE,UNIT,EVENT,...`.
fn counted(text: &str) -> (f64, f64) {
    let values = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.trim().split(',').collect();
        let is_clock = fields.get(3)?.starts_with("task-clock");
        let number = |at: usize| fields[at].parse::<f64>().ok();
        is_clock.then(|| Some((number(0)?, number(1)?)))?
    });
    let values: Vec<(f64, f64)> = values.collect();
    // The last one ends when perf does.
    let of_last_whole = values.len().saturating_sub(2);
    let at_s = values.get(of_last_whole).map_or(1.0, |value| value.0);
    let per_s = (of_last_whole + 1) as f64 / at_s;
    (per_s, values.iter().map(|value| value.1 * 1e6).sum())
}

fn is_near(measured: f64, said: f64) -> Result<()> {
    ensure!(
        (measured - said).abs() <= APART_MAX * said,
        "{measured:.0} ns were measured, and the program says {said:.0}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_lines_of_the_clock() {
        let text = "# started on a day\n\n\
            \x20    0.100198561,99.82,msec,task-clock,99820000,100.00,0.998,CPUs utilized\n\
            \x20    0.100198561,1,,context-switches,99820000,100.00,10.019,/sec\n\
            \x20    0.172809402,72.18,msec,task-clock,72180000,100.00,0.723,CPUs utilized\n";
        let (per_s, ns) = counted(text);
        assert!((per_s - 10.0).abs() < 0.1, "{per_s}");
        assert!((ns - 172e6).abs() < 1.0, "{ns}");
        assert!(is_near(100.0, 90.0).is_ok() && is_near(100.0, 80.0).is_err());
    }
}
