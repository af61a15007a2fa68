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

/// Recording on and off.
type OnOff = [f64; 2];

/// Kinds of calls with their instructions, by family, as `cargo test -p invivo-e2e --test cost --
/// --nocapture` prints them. A change that makes calls cheaper puts the new figures here; one that
/// makes them dearer says why.
const EXPECTED: [(&str, OnOff, OnOff); 6] = [
    // kind, Open MPI, MPICH
    ("probe", [174.0, 72.0], [176.0, 73.0]),
    ("sendrecv", [345.0, 109.0], [351.0, 115.0]),
    ("requests", [405.0, 224.0], [427.0, 226.0]),
    ("many-requests", [646.0, 275.0], [658.0, 282.0]),
    ("allreduce", [286.0, 121.0], [282.0, 123.0]),
    ("rank", [15.0, 15.0], [15.0, 15.0]),
];
/// By how much each kind may differ.
const TOLERANCE: f64 = 0.03;
/// By how many instructions more many requests may differ: handles that are addresses collide in
/// the table in other places in each run.
const VARYING: f64 = 8.0;
/// Files and functions whose instructions are as many as a call and the way to it take time:
/// numbers of more bytes where the machine is slow, and the packets that these fill.
const BY_TIME: [&str; 2] = ["proto/src/varint.rs", "crc32fast"];

/// Runs the program under callgrind, observed by this installation, and returns the instructions of
/// the shim per call.
fn costs(invivo: PathBuf, family: Family, recording: &'static str) -> Costs {
    let folder = tempfile::tempdir().expect("a folder");
    let command = counted(&program(family, "call_kinds", []), folder.path());
    let ended = Job::observed(family, 1, &command)
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

    let executed = in_object(folder.path(), "libinvivo_shim", &BY_TIME);
    assert_eq!(executed.len(), made.len(), "{executed:?} of {made:?}");
    executed
        .into_iter()
        .map(|(kind, instructions)| {
            let cost = instructions as f64 / made[&kind];
            (kind, cost)
        })
        .collect()
}

/// The kinds that cost another number of instructions than expected, beyond the tolerance, each
/// with what it costs more.
fn others(costs: &Costs, family: Family, recording: &str) -> Vec<(&'static str, f64)> {
    println!("{family:?}, recording {recording}: {costs:.0?}");
    let is_on = recording == "on";
    let more = EXPECTED.iter().map(|(kind, ompi, mpich)| {
        let expected = match family {
            Family::Ompi => ompi,
            _ => mpich,
        };
        let expected = expected[usize::from(!is_on)];
        let varying = if *kind == "many-requests" {
            VARYING
        } else {
            0.0
        };
        (
            *kind,
            costs[*kind] - expected,
            expected * TOLERANCE + varying,
        )
    });
    more.filter(|(_, more, allowed)| more.abs() > *allowed)
        .map(|(kind, more, _)| (kind, more))
        .collect()
}

/// How often a family is counted at most: what a busy machine adds to one run, it does not add to
/// all.
const RUNS: u32 = 3;

/// Checks every kind on a family, by its cheapest run.
fn check(family: Family, recording: &'static str) {
    let mut cheapest = costs(paths::invivo(), family, recording);
    for _ in 1..RUNS {
        if others(&cheapest, family, recording).is_empty() {
            return;
        }
        let again = costs(paths::invivo(), family, recording);
        for (kind, cost) in &mut cheapest {
            *cost = cost.min(again[kind]);
        }
    }
    let others = others(&cheapest, family, recording);
    assert!(
        others.is_empty(),
        "more instructions than expected: {others:.1?}"
    );
}

#[test]
fn recorded_calls_cost_what_is_expected() {
    check(Family::Ompi, "on");
}

#[test]
fn recorded_calls_cost_what_is_expected_on_mpich() {
    check(Family::Mpich, "on");
}

#[test]
fn unrecorded_calls_cost_what_is_expected() {
    check(Family::Ompi, "off");
}

#[test]
fn unrecorded_calls_cost_what_is_expected_on_mpich() {
    check(Family::Mpich, "off");
}

/// The tests above notice a shim that was built with so much ballast: a tenth of all kinds'
/// instructions, and of no kind less than a twentieth.
#[test]
#[ignore = "builds the shim once more"]
fn ballast_is_noticed() {
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
    let costs = costs(tree.path().join("bin/invivo"), Family::Ompi, "on");
    let others = others(&costs, Family::Ompi, "on");
    // Of all kinds but the one that is not recorded.
    assert_eq!(others.len(), EXPECTED.len() - 1, "{others:.1?}");
}
