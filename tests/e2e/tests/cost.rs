//! The instructions that the shim executes per MPI call, compared with figures in this file.

use invivo_e2e::callgrind::{counted, in_object};
use invivo_e2e::checks;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::program;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// Instructions per call, by kind of call in `tests/apps/call_kinds.c`.
type Costs = BTreeMap<String, f64>;

/// Kinds of calls with their instructions, recorded and with recording off, as `cargo test -p
/// invivo-e2e --test cost -- --nocapture` prints them. A change that makes calls cheaper puts the
/// new figures here; one that makes them dearer says why.
const EXPECTED: [(&str, f64, f64); 6] = [
    ("probe", 315.0, 82.0),
    ("sendrecv", 545.0, 142.0),
    ("requests", 601.0, 241.0),
    ("many-requests", 835.0, 314.0),
    ("allreduce", 394.0, 139.0),
    ("rank", 16.0, 16.0),
];
/// By how much the sum of all kinds may differ: the encoder writes long durations in more bytes
/// than short ones, so that calls cost 2 % more on a busy machine than on a quiet one.
const TOLERANCE: f64 = 0.06;

/// Runs the program under callgrind, observed by this installation, and returns the instructions of
/// the shim per call.
fn costs(invivo: PathBuf, recording: &'static str) -> Costs {
    let folder = tempfile::tempdir().expect("a folder");
    let command = counted(&program(Family::Ompi, "call_kinds", []), folder.path());
    let ended = Job::observed(Family::Ompi, 1, &command)
        .by(invivo)
        .options(["--recording", recording])
        .run();
    assert_eq!(ended.code(), 0);

    let made: BTreeMap<String, f64> = ended.stdout()[0]
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(kind, calls)| (kind.to_owned(), calls.parse().expect("a number of calls")))
        .collect();

    let report = ended.report();
    checks::conserved(&report, 1);
    // Each kind is called as often before it is counted.
    let probes = report.calls().get(&(0, "MPI_Iprobe".into())).copied();
    let called = (recording == "on").then_some(2 * made["probe"] as u64);
    assert_eq!(probes, called, "recorded calls of MPI_Iprobe");

    let executed = in_object(folder.path(), "libinvivo_shim");
    assert_eq!(executed.len(), made.len(), "{executed:?} of {made:?}");
    executed
        .into_iter()
        .map(|(kind, instructions)| {
            let cost = instructions as f64 / made[&kind];
            (kind, cost)
        })
        .collect()
}

/// By how much calls cost more than expected, all kinds together: 0.1 is a tenth.
fn dearer(costs: &Costs, expected: impl Fn(&(&str, f64, f64)) -> f64) -> f64 {
    println!("{costs:.0?}");
    costs.values().sum::<f64>() / EXPECTED.iter().map(expected).sum::<f64>() - 1.0
}

#[test]
fn recorded_calls_cost_what_is_expected() {
    let dearer = dearer(&costs(paths::invivo(), "on"), |kind| kind.1);
    assert!(dearer.abs() < TOLERANCE, "{:+.1} %", dearer * 100.0);
}

#[test]
fn calls_cost_what_is_expected_while_recording_is_off() {
    let dearer = dearer(&costs(paths::invivo(), "off"), |kind| kind.2);
    assert!(dearer.abs() < TOLERANCE, "{:+.1} %", dearer * 100.0);
}

/// The tests above notice a tenth more: a shim that was built with so much ballast.
#[test]
#[ignore = "builds the shim once more"]
fn a_tenth_more_is_noticed() {
    let target = paths::root().join("target/ballast");
    let mut build = Command::new(env!("CARGO"));
    build
        .env("CARGO_TARGET_DIR", &target)
        .current_dir(paths::root());
    build.args(["build", "--profile", "shim", "-p", "invivo-app-shim"]);
    build.args(["--features", "family-ompi,ballast"]);
    assert!(build.status().expect("cargo").success());

    let tree = tempfile::tempdir().expect("a folder");
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(paths::dist().join(".")).arg(tree.path());
    assert!(copy.status().expect("cp").success());

    let shim = tree.path().join("lib/invivo/ompi/libinvivo_shim.so");
    std::fs::copy(target.join("shim/libinvivo_shim.so"), shim).expect("another shim in the tree");
    let dearer = dearer(&costs(tree.path().join("bin/invivo"), "on"), |kind| kind.1);
    assert!(
        (TOLERANCE..0.16).contains(&dearer),
        "{:+.1} %",
        dearer * 100.0
    );
}
