//! The Intel MPI Benchmarks on Intel MPI, as binaries that this project has not compiled.
//!
//! They print times, so that what is compared is which benchmarks ran on how many ranks, and how
//! many calls of each function were made: the report beside an independent counter.

use invivo_e2e::checks;
use invivo_e2e::job::Ended;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Counter, counter};
use invivo_e2e::remarks::remark;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// The longest takes two minutes on a quiet machine.
const LIMIT: Duration = Duration::from_secs(600);

/// The benchmarks of a run: their names with the processes that took part.
fn benchmarks(ended: &Ended) -> Vec<String> {
    let is_named =
        |line: &&str| line.starts_with("# Benchmarking ") || line.starts_with("# #processes = ");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    ended.stdout()[0]
        .lines()
        .filter(is_named)
        .map(words)
        .collect()
}

fn suite(name: &str, arguments: &[&str]) {
    if !Family::Impi.is_installed() {
        return;
    }
    let binary = Family::Impi.prefix().expect("pip's").join("bin").join(name);
    let mut command: Vec<OsString> = vec![binary.into()];
    command.extend(arguments.iter().map(OsString::from));
    let counter = counter(Family::Impi, Counter::Shallow);

    for ranks in [2, 4] {
        let run = |job: Job| {
            let begun = Instant::now();
            (job.limit(LIMIT).run(), begun.elapsed())
        };
        let (bare, bare_time) = run(Job::bare(Family::Impi, ranks, &command));
        let observed =
            Job::observed(Family::Impi, ranks, &command).env("LD_PRELOAD", counter.clone());
        let (observed, observed_time) = run(observed);
        assert_eq!(
            (bare.code(), observed.code()),
            (0, 0),
            "exit status of {name}"
        );

        let (expected, found) = (benchmarks(&bare), benchmarks(&observed));
        assert!(
            expected.len() > 4,
            "{name} runs few benchmarks: {expected:?}"
        );
        assert_eq!(expected, found, "benchmarks of {name} with {ranks} ranks");
        assert_eq!(bare.stderr(), observed.stderr(), "standard error outputs");

        let report = observed.report();
        let counted = observed.counter_counts().calls;
        checks::complete(&report, ranks);
        checks::same_calls(&report, &counted);
        remark(&format!(
            "{name} with {ranks} ranks: {} calls, {bare_time:.0?} bare and {observed_time:.0?} \
             observed",
            counted.values().sum::<u64>()
        ));
    }
}

/// Short: few repetitions, small messages.
const SHORT: [&str; 4] = ["-iter", "10", "-msglog", "0:12"];

#[test]
#[ignore = "Intel MPI is large"]
fn messages_and_collectives() {
    suite("IMB-MPI1", &SHORT);
}

#[test]
#[ignore = "Intel MPI is large"]
fn nonblocking_collectives() {
    suite("IMB-NBC", &SHORT);
}

#[test]
#[ignore = "Intel MPI is large"]
fn one_sided_communication() {
    suite("IMB-RMA", &SHORT);
}

/// Two threads of each rank in MPI at once.
#[test]
#[ignore = "Intel MPI is large"]
fn several_threads() {
    suite("IMB-MT", &["-repeat", "10", "-thread_level", "multiple"]);
}
