//! `--save`: what the buffers hold is there when the job has ended, and the job is as without it.

use invivo_e2e::checks;
use invivo_e2e::cluster::hosts;
use invivo_e2e::job::{Ended, Job};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::program;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const RANKS: u32 = 4;

/// A program that communicates until it is told to end.
fn rounds(family: Family) -> Job {
    Job::observed(family, RANKS, &program(family, "told_rounds", []))
}

/// It runs for a while, and ends.
fn ended(job: Job) -> Ended {
    let mut running = job.start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    running.tell("enough");
    running.tell("stop");
    running.end()
}

/// Calls by rank and function, of the observation in `dir`, which is opened.
fn calls(ended: &Ended, dir: &Path) -> BTreeMap<(u32, String), u64> {
    let output = Command::new(paths::invivo())
        .args(["open".as_ref(), dir.as_os_str()])
        .args(["--", "functions", "--per-rank", "--json"])
        .env("XDG_STATE_HOME", ended.directory().join("state"))
        .output()
        .expect("invivo");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = answer["rank_rows"].as_array().expect("rows");
    let row = |row: &Value| {
        let function = row["function"].as_str().expect("a name").to_owned();
        let number = |name: &str| row[name].as_u64().expect("a number");
        ((number("rank") as u32, function), number("calls"))
    };
    rows.iter().map(row).collect()
}

fn is_said(ended: &Ended, what: &str) {
    let lines = ended.our_lines();
    assert!(lines.iter().any(|line| line.contains(what)), "{lines:?}");
}

/// All calls of the report, of each rank, are in what was saved.
fn every_call_is_there(job: Job) {
    let family = job.family();
    let ended = ended(job.options(["--save", "all-%j.obs"]));
    assert_eq!(ended.code(), 0, "{family:?}");
    let report = ended.report();
    checks::conserved(&report, RANKS);
    let dirs = ended.files(".obs");
    assert_eq!(dirs.len(), 1, "{family:?}: {dirs:?}");
    let in_report: BTreeMap<(u32, String), u64> = report.calls().into_iter().collect();
    assert_eq!(calls(&ended, &dirs[0]), in_report, "{family:?}");
    is_said(&ended, "saved to");
    is_said(&ended, "invivo open");
    ended.assert_nothing_left();
}

#[test]
fn every_call_is_there_at_the_end() {
    for family in Family::ALL {
        every_call_is_there(rounds(family));
    }
}

#[test]
fn every_call_of_two_hosts_is_there() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        let job = Job::run_by_invivo(family, RANKS, &program(family, "told_rounds", []));
        every_call_is_there(job.fan_in("1,2").on_hosts());
    }
}

/// What cannot be saved is said, and is not the job's trouble.
#[test]
fn a_save_that_fails_is_not_the_jobs_trouble() {
    for family in Family::ALL {
        let ended = ended(rounds(family).options(["--save", "/proc/self/none/obs"]));
        assert_eq!(ended.code(), 0, "{family:?}");
        checks::conserved(&ended.report(), RANKS);
        is_said(&ended, "cannot save to /proc/self/none/obs");
        ended.assert_nothing_left();
    }
}

/// A directory that exists stays as it is, and the observation lies beside it.
#[test]
fn what_exists_is_not_touched() {
    let there = tempfile::tempdir().expect("a directory");
    let dir = there.path().join("obs");
    std::fs::create_dir(&dir).expect("made");
    let name = dir.to_str().expect("letters");
    let ended = ended(rounds(Family::Ompi).options(["--save", name]));
    assert_eq!(ended.code(), 0);
    is_said(&ended, "exists already");
    let entries = std::fs::read_dir(there.path()).expect("read");
    let mut names: Vec<_> = entries.map(|one| one.expect("an entry").path()).collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(std::fs::read_dir(&dir).expect("read").next().is_none());
    assert!(!calls(&ended, &names[1]).is_empty());
}

/// Of a rank that dies all is there that it did, where the launcher leaves the time.
#[test]
fn a_dead_ranks_calls_are_saved() {
    let command = program(Family::Ompi, "killed_rank", ["50", "11"]);
    let bare = Job::bare(Family::Ompi, 2, &command).run();
    let job = Job::observed(Family::Ompi, 2, &command).options(["--save", "dead.obs"]);
    // Between its SIGTERM and SIGKILL, in seconds.
    let job = job.env("OMPI_MCA_odls_base_sigkill_timeout", "10");
    let ended = job.run();
    assert_eq!(bare.code(), ended.code(), "exit status");
    let dirs = ended.files("dead.obs");
    assert_eq!(dirs.len(), 1, "{:?}", ended.our_lines());
    let calls = calls(&ended, &dirs[0]);
    let of = |rank: u32, function: &str| calls.get(&(rank, function.to_owned())).copied();
    assert_eq!(
        (of(0, "MPI_Send"), of(1, "MPI_Recv")),
        (Some(50), Some(50)),
        "{calls:?}"
    );
}

/// A measurement that is shut down is saved then, and the job goes on.
#[test]
fn a_shutdown_saves() {
    let mut running = rounds(Family::Ompi).options(["--save", "shut.obs"]).start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    running.client().all_do(RANKS, &["shutdown"]);
    let dir = running.directory().join("shut.obs");
    running.until("what was saved", |_| dir.exists().then_some(()));
    running.tell("enough");
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    assert!(!calls(&ended, &dir).is_empty());
}
