//! The functions in which LAMMPS spends its time are those that `perf record` sees in the same run.

use invivo_e2e::clients::number;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::processes;
use invivo_e2e::programs::endless_melt;
use invivo_e2e::remarks::not_tested;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

const RANKS: u32 = 2;
/// Samples a second. Not as many of both: samplers in step see each other's interrupts.
const OF_PERF: &str = "10000";
const OF_INVIVO: &str = "7013";
/// For so long, in seconds: shares are known to a tenth of a point then.
const SECONDS: &str = "10";
/// The functions that are compared, those with the most time.
const TOP: usize = 20;
/// What the kernel does is one function to us.
const KERNEL: &str = "[kernel]";

/// Whether this machine lets perf sample a process; where it does not, that is said.
fn perf_is_possible(folder: &Path) -> bool {
    let mut perf = perf_record(&folder.join("try.data"));
    let tried = perf.args(["--", "true"]).output();
    let why = match tried {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    not_tested(&format!("samples of perf record: {why}"));
    false
}

/// By the event by which samples are taken where there are no hardware counters.
fn perf_record(into: &Path) -> Command {
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-F", OF_PERF, "-e", "cpu-clock", "-o"])
        .arg(into)
        .stdin(Stdio::null());
    perf
}

/// Own samples of each function, as perf has recorded them.
fn of_perf(data: &Path) -> BTreeMap<String, u64> {
    let script = Command::new("perf")
        .args(["script", "-F", "ip,sym,dso", "-i"])
        .arg(data)
        .output()
        .expect("perf script");
    assert!(script.status.success(), "{script:?}");
    let mut samples = BTreeMap::new();
    for line in String::from_utf8_lossy(&script.stdout).lines() {
        // "  7f0c1d2e3f40 name of it (/usr/lib/liblammps.so)"
        let Some((_, behind)) = line.trim().split_once(' ') else {
            continue;
        };
        let Some((name, file)) = behind.rsplit_once(" (") else {
            continue;
        };
        let file = file.trim_end_matches(')');
        let name = match (file, name) {
            ("[vdso]", _) => file,
            _ if file.starts_with('[') => KERNEL,
            // What has no name is told by its file.
            (_, "[unknown]") => file.rsplit('/').next().unwrap_or(file),
            _ => plain(name),
        };
        *samples.entry(name.to_owned()).or_default() += 1;
    }
    samples
}

/// Own time of each function, as we have seen it.
fn of_invivo(profile: &Value) -> BTreeMap<String, u64> {
    let mut own = BTreeMap::new();
    for of in profile["functions"].as_array().expect("functions") {
        let name = of["function"].as_str().unwrap_or_default();
        *own.entry(plain(name).to_owned()).or_default() += number(of, "/own_ns");
    }
    own
}

/// A function without its parameters and template arguments: demanglers write these differently.
fn plain(name: &str) -> &str {
    let name = name.trim();
    let name = name.split('(').next().unwrap_or(name);
    let name = name.split('<').next().unwrap_or(name);
    // A template's type stands in front.
    name.rsplit(' ').next().unwrap_or(name)
}

fn shares(of: &BTreeMap<String, u64>) -> BTreeMap<&str, f64> {
    let all: u64 = of.values().sum();
    let share = |part: &u64| 100.0 * *part as f64 / all.max(1) as f64;
    of.iter()
        .map(|(name, part)| (name.as_str(), share(part)))
        .collect()
}

/// The twenty functions with the most time, each within a point.
#[test]
#[ignore = "long"]
fn the_top_of_lammps_is_that_of_perf() {
    let folder = tempfile::tempdir().expect("a directory");
    if !perf_is_possible(folder.path()) {
        return;
    }
    let command = endless_melt(folder.path());
    let mut job = Job::observed(Family::Ompi, RANKS, &command).start();
    job.wait_for_answers();
    let rank = job.named("lmp").into_iter().next().expect("a rank");
    let number = processes::variable(&rank, Family::Ompi.number_variable()).expect("its number");
    let data = folder.path().join("perf.data");

    job.client().json(&["sampling", OF_INVIVO]);
    let recorded = perf_record(&data)
        .args(["-p", &rank.pid.to_string(), "--", "sleep", SECONDS])
        .output()
        .expect("perf record");
    job.client().json(&["sampling", "off"]);
    assert!(recorded.status.success(), "{recorded:?}");
    let profile = job.until("all names", |job| {
        let of_rank = ["profile", "--inside", "--rank", &number];
        let profile = job.client().try_json(&of_rank)?;
        (profile["samples_unnamed"] == 0).then_some(profile)
    });

    let (theirs, ours) = (of_perf(&data), of_invivo(&profile));
    let (theirs, ours) = (shares(&theirs), shares(&ours));
    let mut top: Vec<(&str, f64)> = theirs.into_iter().collect();
    top.sort_by(|a, b| b.1.total_cmp(&a.1));
    top.truncate(TOP);
    assert!(top.len() == TOP && top[0].1 > 10.0, "{top:?}");
    let mut apart = Vec::new();
    for (name, perf) in &top {
        let invivo = ours.get(name).copied().unwrap_or(0.0);
        let line = format!("{name}: {invivo:.2} %, by perf {perf:.2} %");
        println!("{line}");
        apart.extend(((invivo - perf).abs() >= 1.0).then_some(line));
    }
    assert!(apart.is_empty(), "{apart:?}; ours: {ours:?}");
}
