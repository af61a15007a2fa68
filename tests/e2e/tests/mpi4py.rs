//! mpi4py's own test suite: what it finds of an MPI it finds under Invivo, test by test, and of every call that it makes
//! the report says what an independent counter says.

use invivo_e2e::apps::{Counter, counter};
use invivo_e2e::checks;
use invivo_e2e::ended::Ended;
use invivo_e2e::family::Family;
use invivo_e2e::job::Job;
use invivo_e2e::python;
use invivo_e2e::seen;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

/// The longest suite takes two minutes on a quiet machine.
const LIMIT: Duration = Duration::from_secs(600);
/// Names of modules that are left out: spawned processes and other jobs are other tests' matter, `main` is no module.
const LEFT_OUT: [&str; 3] = ["spawn", "dynproc", "main"];

/// The outcome of each test on one rank: `ok`, `skipped ...`, `FAIL` or `ERROR`.
type Outcomes = BTreeMap<String, String>;

/// The suite, or those of its modules whose name matches, or (`-k NAME`) of its tests.
fn command(only: &[&str]) -> Vec<OsString> {
    let main = python::tests_of_mpi4py().join("test/main.py");
    let mut command: Vec<OsString> = vec![python::interpreter().into(), main.into(), "-v".into()];
    for name in LEFT_OUT {
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

/// What each rank says of each test.
fn outcomes(ended: &Ended) -> Vec<Outcomes> {
    ended.stderr().iter().map(|text| read(text)).collect()
}

/// `NAME (MODULE.CLASS.NAME) ... OUTCOME`; a test's own words may stand in between, and a description between name and
/// outcome.
fn read(text: &str) -> Outcomes {
    let mut outcomes = Outcomes::new();
    let mut name: Option<String> = None;
    for line in text.lines() {
        let named = line.split_once(" (").and_then(|(short, rest)| {
            let long = rest.split_once(')')?.0;
            (short.starts_with("test") && long.ends_with(short)).then(|| long.to_owned())
        });
        name = named.or(name);
        let said = line.rsplit_once("... ").map_or(line, |(_, said)| said);
        let outcome = ["ok", "FAIL", "ERROR", "skipped", "expected failure"]
            .iter()
            .find(|word| said == **word || (said.starts_with(**word) && said.starts_with("skipped")));
        if let (Some(_), Some(name)) = (outcome, name.clone()) {
            outcomes.insert(name, said.to_owned());
        }
    }
    outcomes
}

/// Runs the suite bare and observed, and compares: the tests' outcomes, and the calls.
fn suite(family: Family, ranks: u32, only: &[&str]) {
    let command = command(only);
    let job = |job: Job| job.limit(LIMIT).env("MPI4PY_TEST_SPAWN", "0");
    let bare = job(Job::bare(family, ranks, &command)).run();
    let observed = job(Job::observed(family, ranks, &command))
        .env("LD_PRELOAD", counter(family, Counter::Shallow))
        .run();
    for (rank, (bare, observed)) in outcomes(&bare).iter().zip(outcomes(&observed)).enumerate() {
        assert!(bare.len() > 4, "rank {rank} ran {} tests", bare.len());
        checks::same(&format!("{family:?}: tests on rank {rank}"), bare, &observed);
    }
    assert_eq!(bare.code(), observed.code(), "exit status");
    let report = observed.report();
    checks::complete(&report, ranks);
    let counted = observed.counter_counts();
    checks::same_calls(&report, &counted.calls);
    seen::note(family, &counted.calls);
}

/// Some of the suite on each MPI: what asks for attributes, requests of all kinds, and functions that not every library
/// has. Seconds each.
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
    (of_a_launcher_that_loses_output: $($test:ident: $ranks:literal on $family:ident, $only:expr;)*) => {$(
        #[test]
        #[ignore = "Open MPI 5's mpiexec loses output"]
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
}

// The launcher of Open MPI 5 loses what ranks print now and then, in bare runs too, and outcomes are read from that.
suites! { of_a_launcher_that_loses_output:
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
fn outcomes_are_read_from_what_unittest_prints() {
    let text = "testA (test_x.TestX.testA) ... ok\n\
                testB (test_x.TestX.testB)\nWhat it is about ... skipped 'mpi'\n\
                testC (test_x.TestX.testC) ... a word of its own\nok\n\
                testD (test_x.TestX.testD) ... FAIL\nRan 4 tests\n\nFAILED (failures=1)\n";
    let expected = [
        ("testA", "ok"),
        ("testB", "skipped 'mpi'"),
        ("testC", "ok"),
        ("testD", "FAIL"),
    ];
    let expected: Outcomes = expected
        .iter()
        .map(|(name, outcome)| (format!("test_x.TestX.{name}"), (*outcome).to_owned()))
        .collect();
    assert_eq!(read(text), expected);
}
