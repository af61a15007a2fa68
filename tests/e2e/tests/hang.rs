//! Hangs: `invivo hang` and the watchdog name kind, ranks and lines, without false alarms.

use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Conversation, Language, in_language, marked_line, program};
use serde_json::Value;
use std::ffi::OsString;
use std::time::{Duration, Instant};

const RANKS: u32 = 4;
/// The watchdog's time, shorter than the hangs of the tests.
const AFTER: Duration = Duration::from_secs(1);
/// The watchdog's line comes within this time after the watchdog's time.
const SOON: Duration = Duration::from_secs(20);

fn line(language: Language, mark: &str) -> String {
    marked_line("hang", language, mark)
}

fn watched(family: Family, program: &[OsString], after: Duration) -> Job {
    let after = format!("--watchdog={}s", after.as_secs());
    Job::observed(family, RANKS, program).options([&after])
}

fn alarms(lines: &[String]) -> usize {
    lines
        .iter()
        .filter(|line| line.contains("no progress"))
        .count()
}

/// Waits for the watchdog's line; returns it with the answer of `invivo hang`.
fn hung(family: Family, language: Language, way: &str) -> (Running, String, Value) {
    let command = in_language(family, "hang", language, &[way]);
    let mut running = watched(family, &command, AFTER).start();
    running.wait_for_answers();
    let hangs_since = running.until("a rank that hangs", |job| {
        let hang = job.client().try_json(&["hang", "--older", "500ms"])?;
        (hang["verdict"] != "computing").then(Instant::now)
    });

    let alarm = |job: &Running| {
        let lines = job.our_lines();
        lines.into_iter().find(|line| line.contains("no progress"))
    };
    let first = running.until("the watchdog's line", alarm);

    let took = hangs_since.elapsed();
    assert!(took < AFTER + SOON, "{family:?} {way}: it took {took:?}");
    // Some ranks' supervisors may have had no processor when it was asked.
    let hang = running.until("the same to be answered", |job| {
        let hang = job.client().try_json(&["hang"])?;
        let is_same = hang["sentence"]
            .as_str()
            .is_some_and(|told| first.contains(told));
        is_same.then_some(hang)
    });
    (running, first, hang)
}

fn ranks_of(finding: &Value) -> Vec<u64> {
    let ranks = finding["ranks"].as_array().cloned().unwrap_or_default();
    ranks.iter().map(|rank| number(rank, "/rank")).collect()
}

/// Two sends that wait for each other.
fn head_to_head(family: Family) {
    let (mut running, alarm_line, hang) = hung(family, Language::C, "ssend");

    let finding = &hang["findings"][0];
    assert_eq!(
        (&hang["verdict"], &finding["kind"]),
        (&"deadlock".into(), &"cycle".into()),
        "{hang}"
    );
    assert_eq!(ranks_of(finding), [0, 1], "{hang}");

    for rank in 0..2 {
        let one = &finding["ranks"][rank];
        assert_eq!(one["site"], line(Language::C, "ssend 0 1"), "{hang}");
        assert_eq!(
            (number(one, "/waits_for"), number(one, "/message/tag")),
            (1 - rank as u64, 7)
        );
    }

    assert!(
        alarm_line.contains("deadlock: rank 0 waits in MPI_Ssend"),
        "{alarm_line}"
    );
    // The line comes once, and the job is left alone.
    std::thread::sleep(AFTER);
    let lines = running.our_lines();
    assert_eq!(alarms(&lines), 1, "{family:?}: {lines:?}");
    assert!(running.runs());
}

/// A barrier that one rank never enters.
fn missing_participant(family: Family) {
    let (_job, alarm_line, hang) = hung(family, Language::C, "missing");
    let finding = &hang["findings"][0];
    assert_eq!(
        (&hang["verdict"], &finding["kind"]),
        (&"waiting".into(), &"missing".into()),
        "{hang}"
    );
    assert_eq!(ranks_of(finding), [2], "{hang}");
    assert_eq!(finding["collectives"][0]["function"], "MPI_Barrier");
    assert_eq!(
        finding["collectives"][0]["site"],
        line(Language::C, "the end"),
        "{hang}"
    );
    assert!(
        alarm_line.contains("3 of 4 ranks wait in MPI_Barrier")
            && alarm_line.contains("for rank 2, which computes"),
        "{alarm_line}"
    );
}

/// A collective with different roots.
fn different_roots(family: Family) {
    let (_job, alarm_line, hang) = hung(family, Language::C, "root");
    let finding = &hang["findings"][0];
    assert_eq!(
        (&hang["verdict"], &finding["kind"]),
        (&"deadlock".into(), &"mismatch".into()),
        "{hang}"
    );
    let mut calls: Vec<(u64, u64, &Value)> = finding["collectives"]
        .as_array()
        .expect("collectives")
        .iter()
        .map(|call| {
            (
                number(call, "/root"),
                number(call, "/named/0"),
                &call["site"],
            )
        })
        .collect();
    // The order of the calls in a finding is not fixed.
    calls.sort_unstable_by_key(|(root, ..)| *root);
    let site = Value::from(line(Language::C, "root 0 1"));
    assert_eq!(calls, [(0, 0, &site), (1, 1, &site)], "{hang}");
    assert!(alarm_line.contains("do not fit together"), "{alarm_line}");
}

/// A receive of a message that no rank sends.
fn never_sent(family: Family) {
    let (_job, alarm_line, hang) = hung(family, Language::C, "recv");
    let finding = &hang["findings"][0];
    assert_eq!(hang["verdict"], "deadlock", "{hang}");
    let first = &finding["ranks"][0];
    assert_eq!(
        (
            number(first, "/rank"),
            number(first, "/waits_for"),
            number(first, "/message/tag")
        ),
        (0, 1, 9),
        "{hang}"
    );
    assert_eq!(first["site"], line(Language::C, "recv 0"), "{hang}");
    assert!(
        alarm_line.contains("for a message of rank 1 with tag 9"),
        "{alarm_line}"
    );
}

/// Collectives on two communicators in different orders.
fn different_order(family: Family) {
    let (_job, _, hang) = hung(family, Language::C, "order");
    let finding = &hang["findings"][0];
    assert_eq!(
        (&hang["verdict"], &finding["kind"]),
        (&"deadlock".into(), &"cycle".into()),
        "{hang}"
    );
    assert!(ranks_of(finding).contains(&0), "{hang}");
    assert_eq!(
        finding["ranks"][0]["site"],
        line(Language::C, "order 0 1 2 3"),
        "{hang}"
    );
}

#[test]
fn two_sends_that_wait_for_each_other() {
    Family::ALL.into_iter().for_each(head_to_head);
}

#[test]
fn a_barrier_that_one_rank_never_enters() {
    Family::ALL.into_iter().for_each(missing_participant);
}

#[test]
fn a_collective_with_different_roots() {
    Family::ALL.into_iter().for_each(different_roots);
}

#[test]
fn a_receive_of_a_message_never_sent() {
    Family::ALL.into_iter().for_each(never_sent);
}

#[test]
fn collectives_in_different_orders() {
    different_order(Family::Ompi);
}

#[test]
#[ignore = "the rest: --all"]
fn collectives_in_different_orders_on_mpich() {
    different_order(Family::Mpich);
}

/// Between the lines of Fortran and MPI stands the library's Fortran layer.
fn in_fortran(family: Family, way: &str, mark: &str) {
    let (_job, alarm_line, hang) = hung(family, Language::Fortran, way);
    assert_eq!(hang["verdict"], "deadlock", "{hang}");
    let first = &hang["findings"][0]["ranks"][0];
    let site = line(Language::Fortran, mark);
    assert_eq!(
        (number(first, "/rank"), &first["site"]),
        (0, &site.clone().into()),
        "{hang}"
    );
    assert!(alarm_line.contains(&site), "{alarm_line}");
}

#[test]
fn fortran_lines_are_named() {
    in_fortran(Family::Ompi, "ssend", "ssend 0 1");
}

#[test]
#[ignore = "the rest: --all"]
fn more_fortran_lines_are_named() {
    in_fortran(Family::Ompi, "recv", "recv 0");
    in_fortran(Family::Mpich, "ssend", "ssend 0 1");
    in_fortran(Family::Mpich, "recv", "recv 0");
}

#[test]
fn a_job_that_computes_for_long_is_healthy() {
    for family in Family::ALL {
        let command = in_language(family, "hang", Language::C, &["compute", "8"]);
        let mut running = watched(family, &command, AFTER).start();
        running.wait_for_answers();
        // Quiet for longer than the watchdog's time, and yet no hang: the ranks compute.
        let hang = running.until("ranks that compute", |job| {
            let hang = job.client().try_json(&["hang"])?;
            (number(&hang, "/quiet_ns") > 2 * AFTER.as_nanos() as u64).then_some(hang)
        });
        assert_eq!(hang["verdict"], "computing", "{hang}");

        let ended = running.end();
        assert_eq!(ended.code(), 0);
        let lines = ended.our_lines();
        assert_eq!(alarms(&lines), 0, "{family:?}: {lines:?}");
    }
}

/// Asks a job that communicates as fast as it can, as often as possible, also about young calls.
fn is_healthy_at_any_moment(family: Family) {
    let mut running = watched(family, &program(family, "message_loop", []), AFTER).start();
    running.wait_for_answers();
    let since = Instant::now();
    while since.elapsed() < 2 * AFTER {
        let hang = running.client().json(&["hang", "--older", "1ms"]);
        let verdict = hang["verdict"].as_str().unwrap_or_default();
        assert!(
            !matches!(verdict, "deadlock" | "waiting"),
            "{family:?}: {hang}"
        );
    }
    running.tell("stop");
    let ended = running.end();

    assert_eq!(ended.code(), 0);
    let lines = ended.our_lines();
    assert_eq!(alarms(&lines), 0, "{family:?}: {lines:?}");
}

#[test]
fn a_job_that_communicates_is_healthy() {
    Family::ALL.into_iter().for_each(is_healthy_at_any_moment);
}

#[test]
#[ignore = "twenty runs: --all"]
fn twenty_healthy_runs_without_an_alarm() {
    let late = |family| program(family, "late_sender", ["3"]);
    for family in Family::ALL {
        for _ in 0..3 {
            is_healthy_at_any_moment(family);
        }
        let more = Conversation::ALL
            .into_iter()
            .map(|conversation| conversation.command(family))
            .chain([late(family)]);
        for command in more {
            let running = watched(family, &command, AFTER).start();
            // One of them waits for this file.
            running.tell("stop");
            let ended = running.end();
            let lines = ended.our_lines();
            assert_eq!(
                (ended.code(), alarms(&lines)),
                (0, 0),
                "{family:?} {command:?}: {lines:?}"
            );
        }
    }
}
