//! Benches what the processes of the tool take of a core while the ranks are quiet and nobody is
//! connected: with one tool process, and with place and root in a process each, in turns.

use super::effort::{Effort, Turns};
use super::machine::Beside;
use super::mpi::{APART, MPIS, Mpi, behind_run_with};
use super::processes::of_job;
use super::results::{folder, write_table};
use super::statistics::Median;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const RANKS: u32 = 2;
/// Turns in a short and in a full bench.
const TURNS: Turns = (2, 3);
/// Seconds that are measured of a job, in a short and in a full bench.
const MEASURED_S: (u64, u64) = (20, 60);
/// Seconds for the start and the end of the job.
const AROUND_S: u64 = 5;
/// What a tool process may take of a core, in percent.
const TARGET_PERCENT: f64 = 0.1;
/// What the rows with the sum of all processes are called.
pub const ALL: &str = "all of them";
/// Which tool processes a job has, and the options that make them.
pub const KINDS: [(&str, &[&str]); 2] = [("one", &[]), ("place, root", APART)];

/// By the name of the processes, [`ALL`] included: what each took of a core, in percent.
type Taken = BTreeMap<String, Vec<f64>>;

/// Measures both MPIs, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let seconds = if effort.full {
        MEASURED_S.1
    } else {
        MEASURED_S.0
    };
    let turns = effort.turns(TURNS);
    let beside = Beside::begin();
    let mut rows = Vec::new();
    println!(
        "{:<10}{:<13}{:<16}{:>7}{:>14}{:>14}{:>10}",
        "MPI", "tools", "process", "of them", "sum, % core", "most, % core", "target"
    );
    for mpi in MPIS {
        if !effort.wants(mpi.title) {
            continue;
        }
        let mut of_kinds: [Vec<Taken>; KINDS.len()] = Default::default();
        for turn in 0..turns {
            // The order changes, as in all benches of turns.
            for place in 0..KINDS.len() {
                let kind = (turn + place) % KINDS.len();
                of_kinds[kind].push(measure(mpi, seconds, KINDS[kind].1)?);
            }
        }
        for ((tools, _), taken) in KINDS.iter().zip(&of_kinds) {
            rows.extend(rows_of(mpi.title, tools, seconds, taken)?);
        }
    }
    let about = "CPU time of the processes of the tool, as a part of a core: of all of a name \
                 together and of the one that took most, and of all together, with one tool \
                 process and with place and root in a process each, in turns, while two ranks \
                 sleep and look for a message five times a second, and nobody is connected.";
    write_table("idle", about, effort, &beside, &rows)
}

/// One job with these options.
fn measure(mpi: Mpi, seconds: u64, options: &[&str]) -> Result<Taken> {
    let mut bare = mpi.launch(RANKS);
    bare.arg(mpi.compile("nothing.c", "nothing", &[])?);
    bare.arg((seconds + 2 * AROUND_S).to_string());
    let mut job = behind_run_with(options, &bare, &folder().join("idle-report.json"))
        .spawn()
        .context("the job")?;
    of_job(job.id())?;
    std::thread::sleep(Duration::from_secs(AROUND_S));
    // Not before: a supervisor may not have started its tool process yet.
    let processes = of_job(job.id())?;

    let before: Vec<u64> = processes.iter().map(|one| one.cpu_ns()).collect();
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(seconds));
    let took = begun.elapsed().as_nanos() as f64;
    let after: Vec<u64> = processes.iter().map(|one| one.cpu_ns()).collect();
    ensure!(job.wait()?.success(), "the job failed");

    let mut taken = Taken::new();
    for (process, (before, after)) in processes.iter().zip(before.iter().zip(&after)) {
        ensure!(after >= before, "{} ended too early", process.name);
        let percent = 100.0 * (after - before) as f64 / took;
        for name in [process.name.as_str(), ALL] {
            taken.entry(name.to_owned()).or_default().push(percent);
        }
    }
    Ok(taken)
}

/// The rows of the jobs with the same tool processes, the sum of all last.
fn rows_of(mpi: &str, tools: &str, seconds: u64, jobs: &[Taken]) -> Result<Vec<Value>> {
    let first = jobs.first().context("no turn")?;
    let mut names: Vec<&String> = first.keys().collect();
    names.sort_by_key(|name| *name == ALL);
    let mut rows = Vec::new();
    for name in names {
        let each: Vec<&Vec<f64>> = jobs.iter().filter_map(|job| job.get(name)).collect();
        let number = first[name].len();
        // A process that was not there all the time would be missing from the sum.
        let is_same = each.len() == jobs.len() && each.iter().all(|job| job.len() == number);
        ensure!(
            is_same,
            "{mpi}, {tools}: another number of {name} in each turn"
        );
        let sums: Vec<f64> = each.iter().map(|job| job.iter().sum()).collect();
        let sum = Median::of(&sums)?;
        let most = each.into_iter().flatten().copied().fold(0.0, f64::max);
        println!(
            "{mpi:<10}{tools:<13}{name:<16}{number:>7}{:>14.3}{most:>14.3}{TARGET_PERCENT:>10.1}",
            sum.value
        );
        rows.push(json!({
            "mpi": mpi, "tools": tools, "process": name, "processes": number,
            "sum_percent": sum.json(), "percent": most, "seconds": seconds,
            "target_percent": TARGET_PERCENT,
        }));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_of_all_and_the_most_of_one() {
        let job = |place: f64, root: f64| {
            let gateway = 0.01;
            Taken::from([
                (ALL.to_owned(), vec![place, root, gateway]),
                ("tool-process".to_owned(), vec![place, root]),
                ("ui-gateway".to_owned(), vec![gateway]),
            ])
        };
        let rows = rows_of(
            "MPI",
            "place, root",
            20,
            &[job(0.05, 0.04), job(0.06, 0.05)],
        )
        .unwrap();
        let names: Vec<_> = rows.iter().map(|row| row["process"].clone()).collect();
        assert_eq!(names, ["tool-process", "ui-gateway", ALL]);
        let near = |found: &Value, expected: f64| {
            let found = found.as_f64().unwrap();
            assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        };
        near(&rows[0]["sum_percent"]["median"], 0.1);
        near(&rows[0]["percent"], 0.06);
        near(&rows[2]["sum_percent"]["median"], 0.11);
        assert_eq!(rows[2]["processes"], 3);

        let other = Taken::from([(ALL.to_owned(), vec![0.1])]);
        assert!(rows_of("MPI", "one", 20, &[job(0.05, 0.04), other]).is_err());
    }
}
