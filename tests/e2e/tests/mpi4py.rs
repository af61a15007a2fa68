//! mpi4py's own test suite: every test has the outcome of the bare run, and every call is counted.

use invivo_e2e::checks;
use invivo_e2e::job::Ended;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::python;
use invivo_e2e::programs::{Counter, counter};
use invivo_e2e::remarks::remark;
use invivo_e2e::tested_functions;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// The longest suite takes two minutes on a quiet machine, and ten times that on one with ten other
/// jobs; the parts take a tenth.
const LIMIT: Duration = Duration::from_secs(1500);
/// Modules that are left out: spawned processes are tested elsewhere.
const LEFT_OUT: [&str; 2] = ["spawn", "dynproc"];
/// The module that is left out with several ranks on MPICH 4.0: locks made of atomic updates of a
/// window, of which that library loses one now and then. Then a rank waits for ever, without
/// Invivo, too.
const LEFT_OUT_ON_MPICH_4: &str = "util_sync";

/// The outcome of each test on one rank, with the reason of a skipped one.
type Outcomes = BTreeMap<String, String>;

/// The modules that are left out on this MPI.
fn left_out(family: Family, ranks: u32) -> Vec<&'static str> {
    let loses_updates = family == Family::Mpich && ranks > 1;
    LEFT_OUT
        .into_iter()
        .chain(loses_updates.then_some(LEFT_OUT_ON_MPICH_4))
        .collect()
}

/// The suite, or those of its modules whose name matches, or (`-k NAME`) of its tests.
fn command(family: Family, ranks: u32, only: &[&str]) -> Vec<OsString> {
    let program = paths::sources().join("mpi4py/outcomes.py");
    let tests = python::tests_of_mpi4py().join("test");
    let mut command: Vec<OsString> =
        vec![python::interpreter().into(), program.into(), tests.into()];
    for name in left_out(family, ranks) {
        command.extend(["-e".into(), name.into()]);
    }

    for name in only {
        match name.strip_prefix("-k ") {
            Some(test) => command.extend(["-k".into(), test.into()]),
            None => command.extend(["-i".into(), name.into()]),
        }
    }
    command
}

/// The outcomes that each rank has written.
fn outcomes(ended: &Ended, ranks: u32) -> Vec<Outcomes> {
    let file = |rank| ended.logs().join(format!("{rank}.outcomes"));
    (0..ranks)
        .map(|rank| read(&std::fs::read_to_string(file(rank)).unwrap_or_default()))
        .collect()
}

/// Lines of `[test, outcome, reason or traceback]`; the last one of a test counts.
fn read(text: &str) -> Outcomes {
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<(String, String, String)>(line).expect("an outcome"));
    lines
        .map(|(test, outcome, detail)| match outcome.as_str() {
            // Tracebacks hold addresses.
            "failed" => (test, outcome),
            _ => (test, format!("{outcome} {detail}")),
        })
        .collect()
}

/// How many tests failed.
fn failures(outcomes: &[Outcomes]) -> usize {
    let all = outcomes.iter().flat_map(BTreeMap::values);
    all.filter(|outcome| *outcome == "failed").count()
}

/// How many tests of a rank left themselves out: for another number of ranks, or an MPI that can do
/// more.
fn skipped(outcomes: &Outcomes) -> usize {
    let is_skipped = |outcome: &&String| outcome.starts_with("skipped");
    outcomes.values().filter(is_skipped).count()
}

/// Runs the suite bare and observed, and compares: the tests' outcomes, and the calls.
fn suite(family: Family, ranks: u32, only: &[&str]) {
    let command = command(family, ranks, only);

    let limit = if only.is_empty() { LIMIT } else { LIMIT / 10 };
    let run = |job: Job| {
        let begun = Instant::now();
        let ended = job.limit(limit).env("MPI4PY_TEST_SPAWN", "0").run();
        (outcomes(&ended, ranks), ended, begun.elapsed())
    };

    let (expected, bare, bare_time) = run(Job::bare(family, ranks, &command));
    let counter = counter(family, Counter::Shallow);
    let (found, observed, observed_time) =
        run(Job::observed(family, ranks, &command).env("LD_PRELOAD", counter));

    remark(&format!(
        "{} of mpi4py's tests with {ranks} on {}, of which {} skip themselves; failed on all \
         ranks: {} bare, {} observed; {bare_time:.0?} bare, {observed_time:.0?} observed; left \
         out: {}",
        expected[0].len(),
        family.title(),
        skipped(&expected[0]),
        failures(&expected),
        failures(&found),
        left_out(family, ranks).join(", "),
    ));
    for (rank, (expected, found)) in expected.iter().zip(&found).enumerate() {
        assert!(
            expected.len() > 4,
            "rank {rank} ran {} tests",
            expected.len()
        );
        checks::same(
            &format!("{family:?}: tests on rank {rank}"),
            expected,
            found,
        );
    }

    assert_eq!(bare.code(), observed.code(), "exit status");
    let report = observed.report();
    checks::complete(&report, ranks);
    let counted = observed.counter_counts();
    checks::same_calls(&report, &counted.calls);
    tested_functions::note(family, &counted.calls);
}

/// A part of the suite for each MPI: attributes, requests of all kinds, and functions that not
/// every library has. Seconds each.
const SOME: [&str; 6] = [
    "test_comm\\.",
    "test_attributes",
    "test_p2p_buf\\.",
    "test_request",
    "test_status",
    "test_win",
];
/// Open MPI 5 needs all processes of the world for these.
const PARTITIONED: [&str; 2] = ["test_p2p_buf_part", "-k BufPartSelf"];

macro_rules! suites {
    ($($test:ident: $ranks:literal on $family:ident, $only:expr;)*) => {$(
        #[test]
        fn $test() {
            suite(Family::$family, $ranks, $only);
        }
    )*};
    (all: $($test:ident: $ranks:literal on $family:ident;)*) => {$(
        #[test]
        #[ignore = "minutes"]
        fn $test() {
            suite(Family::$family, $ranks, &[]);
        }
    )*};
}

suites! {
    some_of_it_on_open_mpi_4: 2 on Ompi, &SOME;
    some_of_it_on_mpich_4: 2 on Mpich, &SOME;
    some_of_it_on_mpich_5: 2 on Mpich5, &SOME;
    some_of_it_on_open_mpi_5: 2 on Ompi5, &SOME;
    partitioned_messages_on_open_mpi_5: 2 on Ompi5, &PARTITIONED;
}

suites! { all:
    all_of_it_on_open_mpi_4_with_1: 1 on Ompi;
    all_of_it_on_open_mpi_4_with_2: 2 on Ompi;
    all_of_it_on_open_mpi_4_with_4: 4 on Ompi;
    all_of_it_on_open_mpi_5_with_1: 1 on Ompi5;
    all_of_it_on_open_mpi_5_with_2: 2 on Ompi5;
    all_of_it_on_open_mpi_5_with_4: 4 on Ompi5;
    all_of_it_on_mpich_4_with_1: 1 on Mpich;
    all_of_it_on_mpich_4_with_2: 2 on Mpich;
    all_of_it_on_mpich_4_with_4: 4 on Mpich;
    all_of_it_on_mpich_5_with_1: 1 on Mpich5;
    all_of_it_on_mpich_5_with_2: 2 on Mpich5;
    all_of_it_on_mpich_5_with_4: 4 on Mpich5;
}

#[test]
fn the_last_outcome_of_a_test_counts() {
    let text = r#"["x.testA", "begun", ""]
["x.testA", "ok", ""]
["x.testB", "begun", ""]
["x.testB", "skipped", "mpi"]
["x.testC", "begun", ""]
["x.testC", "failed", "at 0x7f00"]
["x.testD", "begun", ""]
"#;
    let expected = [
        ("x.testA", "ok "),
        ("x.testB", "skipped mpi"),
        ("x.testC", "failed"),
        ("x.testD", "begun "),
    ];
    let expected: Outcomes = expected
        .map(|(test, outcome)| (test.to_owned(), outcome.to_owned()))
        .into();
    assert_eq!(read(text), expected);
    assert_eq!(skipped(&expected), 1);
    assert_eq!(failures(&[expected.clone(), expected]), 2);
}
