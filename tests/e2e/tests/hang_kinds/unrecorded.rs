//! Hangs while recording is off.

use super::{RANKS, kind_is, lacks_rank_2_alone, ranks_of, says};
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language, marked_line, program};

const OFF: [&str; 2] = ["--recording", "off"];

fn hangs(family: Family, language: Language, way: &str) -> Running {
    let command = in_language(family, "hang", language, &[way]);
    let mut running = Job::observed(family, RANKS, &command).options(OFF).start();
    running.wait_for_answers();
    running
}

fn head_to_head(family: Family, language: Language) {
    let mut running = hangs(family, language, "ssend");
    let hang = says(&mut running, |hang| kind_is(hang, "deadlock", "cycle"));
    let finding = &hang["findings"][0];
    assert_eq!(ranks_of(finding), [0, 1], "{family:?}: {hang}");
    for rank in finding["ranks"].as_array().expect("ranks") {
        assert_eq!(rank["function"], "MPI_Ssend", "{hang}");
        assert_eq!(rank["site"], marked_line("hang", language, "ssend 0 1"));
        assert!(number(rank, "/since_ns") >= 1_000_000_000, "{hang}");
    }
}

fn missing(family: Family) {
    let mut running = hangs(family, Language::C, "missing");
    let hang = says(&mut running, lacks_rank_2_alone);
    let called = &hang["findings"][0]["collectives"][0];
    assert_eq!(called["function"], "MPI_Barrier", "{hang}");
}

fn missing_in_a_wait(family: Family) {
    let command = in_language(family, "hang_kinds", Language::C, &["icoll"]);
    let mut running = Job::observed(family, RANKS, &command).options(OFF).start();
    running.wait_for_answers();
    let hang = says(&mut running, lacks_rank_2_alone);
    let called = &hang["findings"][0]["collectives"][0];
    assert_eq!(called["function"], "MPI_Iallreduce", "{family:?}: {hang}");
}

fn is_seen_by_the_watchdog(family: Family) {
    let command = in_language(family, "hang", Language::C, &["ssend"]);
    let mut running = Job::observed(family, RANKS, &command)
        .options(["--recording", "off", "--watchdog=1s"])
        .start();
    running.until("the watchdog's line", |job| {
        let lines = job.our_lines();
        lines
            .into_iter()
            .find(|line| line.contains("deadlock: rank 0 waits in MPI_Ssend"))
    });
}

fn goes_on(family: Family) {
    let command = program(family, "message_loop", []);
    let mut running = Job::observed(family, RANKS, &command)
        .options(["--recording", "off", "--watchdog=1s"])
        .start();
    running.wait_for_answers();
    for _ in 0..2 {
        let hang = running.client().json(&["hang"]);
        let verdict = hang["verdict"].as_str().unwrap_or_default();
        assert!(!matches!(verdict, "deadlock" | "waiting"), "{hang}");
    }
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    let lines = ended.our_lines();
    assert!(
        !lines.iter().any(|line| line.contains("no progress")),
        "{lines:?}"
    );
}

#[test]
fn two_sends_that_are_not_recorded() {
    head_to_head(Family::Ompi, Language::C);
    head_to_head(Family::Ompi, Language::Fortran);
}

#[test]
fn a_wait_that_is_not_recorded() {
    missing_in_a_wait(Family::Ompi);
}

#[test]
fn the_watchdog_sees_calls_that_are_not_recorded() {
    is_seen_by_the_watchdog(Family::Ompi);
}

#[test]
fn a_job_that_goes_on_unrecorded_is_healthy() {
    goes_on(Family::Ompi);
}

#[test]
#[ignore = "long: the same with MPICH, and the like"]
fn the_same_with_mpich_and_the_like() {
    head_to_head(Family::Mpich, Language::C);
    head_to_head(Family::Mpich, Language::Fortran);
    missing(Family::Ompi);
    missing(Family::Mpich);
    missing_in_a_wait(Family::Mpich);
    is_seen_by_the_watchdog(Family::Mpich);
    goes_on(Family::Mpich);
}
