//! Wait states beside those of Scalasca's trace analyser, which reads the exported OTF2 archive of
//! the same run: by wait state, function and rank within 1 % or 1 ms.
//!
//! `INVIVO_SCOUT` is the path of its `scout.mpi`, built for Open MPI and libotf2 3.0, and
//! `INVIVO_SCOUT_MPIEXEC` the launcher, if it is not `mpiexec.openmpi`. Scalasca is no package of
//! Debian's: the manual says where it comes from and how it is built.

use invivo_e2e::job::{Ended, Job};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::{Language, endless_melt, in_language, melt, program};
use invivo_e2e::remarks::{not_tested, remark};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const RANKS: u32 = 4;
/// Wait states by their names here and as metrics there.
const METRICS: [(&str, &str); 10] = [
    // With its form of wrong order, and that from one sender and from several.
    ("Late Sender", "mpi_latesender"),
    ("Late Sender, Wrong Order", "mpi_latesender_wo"),
    ("Late Receiver", "mpi_latereceiver"),
    ("Wait at N x N", "mpi_wait_nxn"),
    ("N x N Completion", "mpi_nxn_completion"),
    ("Wait at Barrier", "mpi_barrier_wait"),
    ("Barrier Completion", "mpi_barrier_completion"),
    ("Late Broadcast", "mpi_latebroadcast"),
    ("Early Reduce", "mpi_earlyreduce"),
    ("Early Scan", "mpi_earlyscan"),
];
/// 1 ms, or 1 %.
const NEAR_NS: f64 = 1e6;

/// The analyser and the run of the longest of these programs.
const LIMIT: Duration = Duration::from_secs(180);

/// Wait states in functions that are not compared.
type Apart<'a> = &'a [(&'a str, &'a str)];

/// Times in ns, by wait state, function and rank.
type Waits = BTreeMap<(String, String, u32), f64>;

fn scout() -> Option<PathBuf> {
    let scout = std::env::var_os("INVIVO_SCOUT").map(PathBuf::from);
    if scout.is_none() {
        not_tested("Scalasca's trace analyser is not here; INVIVO_SCOUT says where it is");
    }
    scout
}

fn output(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    let (out, wrong) = (&output.stdout, &output.stderr);
    let said = [out.as_slice(), wrong].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{command:?}: {said}");
    output
}

fn invivo(ended: &Ended) -> Command {
    let mut invivo = Command::new(paths::invivo());
    invivo.env("XDG_STATE_HOME", ended.directory().join("state"));
    invivo
}

/// What the analyser says of a saved observation, and whether it warns.
fn theirs(scout: &Path, ended: &Ended, saved: &Path) -> (Waits, String) {
    let archive = ended.directory().join("archive");
    output(
        invivo(ended)
            .arg("export")
            .arg(saved)
            .args(["--to", "otf2", "--matched"])
            .arg(&archive),
    );
    let mpiexec = std::env::var_os("INVIVO_SCOUT_MPIEXEC");
    let mut analysis = Command::new(mpiexec.unwrap_or_else(|| "mpiexec.openmpi".into()));
    let ranks = ended.ranks().to_string();
    analysis.args(["--oversubscribe", "-n", &ranks]).arg(scout);
    for allow in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        analysis.env(allow, "1");
    }
    let said = output(analysis.arg(archive.join("traces.otf2")));
    let said = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
    let reader = paths::root().join("tests/e2e/python/cubex.py");
    let profile = archive.join("scout.cubex");
    let told = output(Command::new("python3").arg(reader).arg(profile));
    let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    let mut waits = Waits::new();
    for (state, metric) in METRICS {
        let functions = told[metric].as_object().into_iter().flatten();
        for (function, of_ranks) in functions {
            let of_ranks = of_ranks.as_array().expect("a value of each rank");
            assert_eq!(of_ranks.len(), ended.ranks() as usize, "{metric}");
            for (rank, seconds) in (0..).zip(of_ranks) {
                let key = (state.to_owned(), function.clone(), rank);
                let ns = seconds.as_f64().expect("a number") * 1e9;
                *waits.entry(key).or_default() += ns;
            }
        }
    }
    (waits, said)
}

fn rows<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().map_or(&[], Vec::as_slice)
}

/// What an answer of `invivo waitstates` says.
fn ours(answer: &Value) -> Waits {
    let mut waits = Waits::new();
    for of_rank in rows(answer, "ranks") {
        let rank = of_rank["rank"].as_u64().expect("a number") as u32;
        for row in rows(of_rank, "rows") {
            let text = |name: &str| row[name].as_str().expect("a name").to_owned();
            let key = (text("wait_state"), text("function"), rank);
            waits.insert(key, row["time_ns"].as_f64().expect("a number"));
        }
    }
    waits
}

/// What that of the saved observation says.
fn saved_ours(ended: &Ended, saved: &Path) -> Waits {
    let answer = output(
        invivo(ended)
            .args(["open".as_ref(), saved.as_os_str()])
            .args(["--", "waitstates", "--json", "--ranks", "64"]),
    );
    ours(&serde_json::from_slice(&answer.stdout).expect("JSON"))
}

/// What the analyser does not look at, or sees otherwise: non-blocking collectives, which stand
/// here with the call that completes them; for how long another message was there; and the end of
/// the program.
fn is_comparable((state, function, _): &(String, String, u32)) -> bool {
    let completes = function.starts_with("MPI_Wait") || function.starts_with("MPI_Test");
    let is_of_messages = state.starts_with("Late Sender") || state == "Late Receiver";
    let is_theirs = METRICS.iter().any(|(name, _)| name == state);
    is_theirs && (is_of_messages || !completes) && function != "MPI_Finalize"
}

/// Where they differ, but for `apart`.
fn compare(what: &str, ours: &Waits, theirs: &Waits, apart: Apart) {
    let keys: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
    let is_apart = |(state, function, _): &&&(String, String, u32)| {
        !apart.contains(&(state.as_str(), function.as_str()))
    };
    let mut differences = Vec::new();
    let (mut compared, mut largest) = (0, 0.0f64);
    for key in keys
        .iter()
        .filter(|key| is_comparable(key))
        .filter(is_apart)
    {
        let of = |waits: &Waits| waits.get(key).copied().unwrap_or(0.0);
        let (here, there) = (of(ours), of(theirs));
        let off = (here - there).abs();
        compared += usize::from(there >= NEAR_NS);
        largest = largest.max(off);
        if off > NEAR_NS.max(here.max(there) / 100.0) {
            differences.push(format!("{key:?}: {here} ns here, {there} there"));
        }
    }
    assert!(differences.is_empty(), "{what}: {differences:#?}");
    remark(&format!(
        "{what}: {compared} times of 1 ms and more, by wait state, function and rank, are those of \
         Scalasca; the largest difference is {largest:.0} ns"
    ));
    assert!(compared > 0, "{what}: nobody waits: {theirs:?}");
}

/// How a program is led to its end.
enum Course {
    /// It leaves a note when it is done, so that the running job can be asked as well.
    Done,
    /// It runs one kind of rounds after the other, each for a while.
    Kinds(&'static [&'static str]),
    /// It comes to its end.
    Ends,
}

fn like_scalasca(family: Family, what: &str, command: &[OsString], course: &Course, apart: Apart) {
    let Some(scout) = scout() else { return };
    let job = Job::observed(family, RANKS, command);
    // Held until all tool processes know the job's time: calls that begin before have no place.
    let options = ["--hold", "--analyses", "all", "--save", "run.obs"];
    let mut running = job.options(options).limit(LIMIT).start();
    running.wait_for_answers();
    running.client().resume(RANKS);
    let mut live = None;
    match course {
        Course::Done => {
            running.wait_for_notes("done");
            // The newest calls come to the tool processes within the latency of records.
            std::thread::sleep(Duration::from_secs(2));
            let answer = running.client().json(&["waitstates", "--ranks", "64"]);
            live = Some(ours(&answer));
        }
        Course::Kinds(kinds) => {
            for kind in *kinds {
                running.tell(kind);
                let runs = format!("running.{kind}");
                running.until(kind, |job| job.logs().join(&runs).exists().then_some(()));
                std::thread::sleep(Duration::from_millis(700));
            }
        }
        Course::Ends => {}
    }
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0, "{what}");
    let saved = ended.files(".obs").swap_remove(0);
    let (theirs, said) = theirs(&scout, &ended, &saved);
    assert!(!said.to_lowercase().contains("warning"), "{what}: {said}");
    compare(what, &saved_ours(&ended, &saved), &theirs, apart);
    if let Some(live) = live {
        compare(&format!("{what}, while it ran"), &live, &theirs, apart);
    }
}

const FAULTS: [&str; 22] = [
    "balanced",
    "halo",
    "two_phases",
    "imbalance",
    "stall",
    "serial_section",
    "late_root",
    "late_sender",
    "late_neighbour",
    "late_in_half",
    "late_to_alltoall",
    "late_to_reduce",
    "late_to_scan",
    "late_post",
    "busy_master",
    "short_turns",
    "long_turns",
    "moving",
    "contention",
    "shared_processor",
    "io_stall",
    "wrong_order",
];

#[test]
#[ignore = "needs Scalasca: INVIVO_SCOUT"]
fn collectives_and_communicators_in_c() {
    for family in Family::ALL {
        let command = in_language(family, "wait_states", Language::C, &["late", "12"]);
        let what = format!("wait_states.c on {}", family.title());
        like_scalasca(family, &what, &command, &Course::Done, &[]);
    }
}

#[test]
#[ignore = "needs Scalasca: INVIVO_SCOUT"]
fn collectives_in_fortran() {
    let command = in_language(Family::Ompi, "wait_states", Language::Fortran, &["10"]);
    like_scalasca(
        Family::Ompi,
        "wait_states.f90",
        &command,
        &Course::Ends,
        &[],
    );
}

#[test]
#[ignore = "needs Scalasca: INVIVO_SCOUT"]
fn late_senders() {
    for family in Family::ALL {
        let command = program(family, "late_sender", ["12"]);
        // Two receives are completed here in another order than they were posted in. Scalasca takes
        // them for posted in that order, and so the sends for each other.
        let states = ["Late Sender", "Late Sender, Wrong Order", "Late Receiver"];
        let apart = states.map(|state| (state, "MPI_Wait"));
        let what = format!("late_sender.c on {}", family.title());
        like_scalasca(family, &what, &command, &Course::Done, &apart);
    }
}

#[test]
#[ignore = "needs Scalasca: INVIVO_SCOUT"]
fn late_receivers() {
    for family in Family::ALL {
        let command = program(family, "late_receiver", ["12"]);
        let what = format!("late_receiver.c on {}", family.title());
        like_scalasca(family, &what, &command, &Course::Done, &[]);
    }
}

#[test]
#[ignore = "needs Scalasca: INVIVO_SCOUT"]
fn planted_faults() {
    let command = program(Family::Ompi, "planted_faults", []);
    like_scalasca(
        Family::Ompi,
        "planted_faults.c",
        &command,
        &Course::Kinds(&FAULTS),
        &[],
    );
}

/// It begins with the run, and ends where some messages are under way.
#[test]
#[ignore = "needs Scalasca: INVIVO_SCOUT"]
fn lammps_saved_while_it_runs() {
    let Some(scout) = scout() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = Job::observed(Family::Ompi, RANKS, &endless_melt(folder.path())).start();
    running.wait_for_answers();
    std::thread::sleep(Duration::from_secs(4));
    let saved = running.directory().join("while.obs");
    running
        .client()
        .json(&["save", saved.to_str().expect("letters")]);
    running.signal_launcher(Signal::TERM);
    let ended = running.end();
    let (theirs, said) = theirs(&scout, &ended, &saved);
    assert!(!said.to_lowercase().contains("warning"), "{said}");
    let what = "LAMMPS, saved while it ran";
    compare(what, &saved_ours(&ended, &saved), &theirs, &[]);
}

#[test]
#[ignore = "needs Scalasca: INVIVO_SCOUT"]
fn lammps() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = melt(folder.path(), 2000);
    like_scalasca(
        Family::Ompi,
        "LAMMPS, 2,000 steps of melt",
        &command,
        &Course::Ends,
        &[],
    );
}
