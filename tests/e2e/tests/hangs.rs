//! A job that stands still: it is said, soon after the watchdog's time, which of the ways it is,
//! with the right ranks and lines; of a job that only computes nothing is said.

use invivo_e2e::apps::{Conversation, Language, in_language, program};
use invivo_e2e::client::number;
use invivo_e2e::family::Family;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::places::sources;
use serde_json::Value;
use std::ffi::OsString;
use std::time::{Duration, Instant};

const RANKS: u32 = 4;
/// The watchdog's time: ranks stand still for longer.
const AFTER: Duration = Duration::from_secs(1);
/// What is said is said no later than this after the watchdog's time.
const SOON: Duration = Duration::from_secs(5);

/// The line of the program that is marked so, as a call site is told.
fn line(language: Language, mark: &str) -> String {
    let (file, mark) = match language {
        Language::C => ("hang.c", format!("/* at {mark} */")),
        Language::Fortran => ("hang.f90", format!("! at {mark}")),
    };
    let source =
        std::fs::read_to_string(sources().join("hang").join(file)).expect("the program's source");
    let at = source
        .lines()
        .position(|line| line.ends_with(&mark))
        .expect("a marked line");
    format!("{file}:{}", at + 1)
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

/// Waits for the watchdog's line, which comes soon; then what `invivo hang` says.
fn told(family: Family, language: Language, way: &str) -> (Running, String, Value) {
    let command = in_language(family, "hang", language, &[way]);
    let mut running = watched(family, &command, AFTER).start();
    running.wait_for_answers();
    let stands_since = running.until("a rank that stands still", |job| {
        let waits = job.client().try_json(&["hang", "--older", "500ms"])?;
        (waits["verdict"] != "computing").then(Instant::now)
    });
    let said = |job: &Running| {
        let lines = job.our_lines();
        lines.into_iter().find(|line| line.contains("no progress"))
    };
    let first = running.until("the watchdog's line", said);
    let took = stands_since.elapsed();
    assert!(took < AFTER + SOON, "{family:?} {way}: it took {took:?}");
    let waits = running.client().json(&["hang"]);
    (running, first, waits)
}

fn ranks_of(finding: &Value) -> Vec<u64> {
    let ranks = finding["ranks"].as_array().cloned().unwrap_or_default();
    ranks.iter().map(|rank| number(rank, "/rank")).collect()
}

/// Two sends that wait for each other.
fn head_to_head(family: Family) {
    let (mut running, line_said, waits) = told(family, Language::C, "ssend");
    let finding = &waits["findings"][0];
    assert_eq!(
        (&waits["verdict"], &finding["kind"]),
        (&"deadlock".into(), &"cycle".into()),
        "{waits}"
    );
    assert_eq!(ranks_of(finding), [0, 1], "{waits}");
    for rank in 0..2 {
        let one = &finding["ranks"][rank];
        assert_eq!(one["site"], line(Language::C, "ssend 0 1"), "{waits}");
        assert_eq!(
            (number(one, "/waits_for"), number(one, "/message/tag")),
            (1 - rank as u64, 7)
        );
    }
    assert!(
        line_said.contains("deadlock: rank 0 waits in MPI_Ssend"),
        "{line_said}"
    );
    // It is told once, and nothing is done about it.
    std::thread::sleep(AFTER);
    let lines = running.our_lines();
    assert_eq!(alarms(&lines), 1, "{family:?}: {lines:?}");
    assert!(running.runs());
}

/// A barrier to which one never comes.
fn missing(family: Family) {
    let (_job, line_said, waits) = told(family, Language::C, "missing");
    let finding = &waits["findings"][0];
    assert_eq!(
        (&waits["verdict"], &finding["kind"]),
        (&"waiting".into(), &"missing".into()),
        "{waits}"
    );
    assert_eq!(ranks_of(finding), [2], "{waits}");
    assert_eq!(finding["collectives"][0]["function"], "MPI_Barrier");
    assert_eq!(
        finding["collectives"][0]["site"],
        line(Language::C, "the end"),
        "{waits}"
    );
    assert!(
        line_said.contains("3 of 4 ranks wait in MPI_Barrier")
            && line_said.contains("for rank 2, which computes"),
        "{line_said}"
    );
}

/// Halves of a collective with different roots.
fn other_roots(family: Family) {
    let (_job, line_said, waits) = told(family, Language::C, "root");
    let finding = &waits["findings"][0];
    assert_eq!(
        (&waits["verdict"], &finding["kind"]),
        (&"deadlock".into(), &"mismatch".into()),
        "{waits}"
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
    calls.sort_unstable_by_key(|(root, ..)| *root);
    let site = Value::from(line(Language::C, "root 0 1"));
    assert_eq!(calls, [(0, 0, &site), (1, 1, &site)], "{waits}");
    assert!(line_said.contains("do not fit together"), "{line_said}");
}

/// A receive of what nobody sends.
fn never_sent(family: Family) {
    let (_job, line_said, waits) = told(family, Language::C, "recv");
    let finding = &waits["findings"][0];
    assert_eq!(waits["verdict"], "deadlock", "{waits}");
    let first = &finding["ranks"][0];
    assert_eq!(
        (
            number(first, "/rank"),
            number(first, "/waits_for"),
            number(first, "/message/tag")
        ),
        (0, 1, 9),
        "{waits}"
    );
    assert_eq!(first["site"], line(Language::C, "recv 0"), "{waits}");
    assert!(
        line_said.contains("for a message of rank 1 with tag 9"),
        "{line_said}"
    );
}

/// Collectives on two communicators in different orders.
fn other_order(family: Family) {
    let (_job, _, waits) = told(family, Language::C, "order");
    let finding = &waits["findings"][0];
    assert_eq!(
        (&waits["verdict"], &finding["kind"]),
        (&"deadlock".into(), &"cycle".into()),
        "{waits}"
    );
    assert!(ranks_of(finding).contains(&0), "{waits}");
    assert_eq!(
        finding["ranks"][0]["site"],
        line(Language::C, "order 0 1 2 3"),
        "{waits}"
    );
}

#[test]
fn two_sends_that_wait_for_each_other() {
    Family::ALL.into_iter().for_each(head_to_head);
}

#[test]
fn a_barrier_to_which_one_never_comes() {
    Family::ALL.into_iter().for_each(missing);
}

#[test]
fn a_collective_with_different_roots() {
    Family::ALL.into_iter().for_each(other_roots);
}

#[test]
fn a_receive_of_what_nobody_sends() {
    Family::ALL.into_iter().for_each(never_sent);
}

#[test]
fn collectives_in_different_orders() {
    other_order(Family::Ompi);
}

#[test]
#[ignore = "the rest: --all"]
fn collectives_in_different_orders_on_mpich() {
    other_order(Family::Mpich);
}

/// Below the lines of Fortran stands the library's Fortran layer.
fn in_fortran(family: Family, way: &str, mark: &str) {
    let (_job, line_said, waits) = told(family, Language::Fortran, way);
    assert_eq!(waits["verdict"], "deadlock", "{waits}");
    let first = &waits["findings"][0]["ranks"][0];
    let site = line(Language::Fortran, mark);
    assert_eq!(
        (number(first, "/rank"), &first["site"]),
        (0, &site.clone().into()),
        "{waits}"
    );
    assert!(line_said.contains(&site), "{line_said}");
}

#[test]
fn lines_of_fortran_are_told() {
    in_fortran(Family::Ompi, "ssend", "ssend 0 1");
}

#[test]
#[ignore = "the rest: --all"]
fn more_lines_of_fortran_are_told() {
    in_fortran(Family::Ompi, "recv", "recv 0");
    in_fortran(Family::Mpich, "ssend", "ssend 0 1");
    in_fortran(Family::Mpich, "recv", "recv 0");
}

#[test]
fn a_job_that_computes_for_long_is_healthy() {
    for family in Family::ALL {
        let command = in_language(family, "hang", Language::C, &["compute", "4"]);
        let mut running = watched(family, &command, AFTER).start();
        running.wait_for_answers();
        let waits = running.until("ranks that compute", |job| {
            let waits = job.client().try_json(&["hang"])?;
            (number(&waits, "/quiet_ns") > 2 * AFTER.as_nanos() as u64).then_some(waits)
        });
        assert_eq!(waits["verdict"], "computing", "{waits}");
        let ended = running.end();
        assert_eq!(ended.code(), 0);
        let lines = ended.our_lines();
        assert_eq!(alarms(&lines), 0, "{family:?}: {lines:?}");
    }
}

/// A job that communicates as fast as it can is asked as often as can be, also about calls that are
/// young.
fn is_healthy_however_often_asked(family: Family) {
    let mut running = watched(family, &program(family, "chatter", []), AFTER).start();
    running.wait_for_answers();
    let since = Instant::now();
    while since.elapsed() < 2 * AFTER {
        let waits = running.client().json(&["hang", "--older", "1ms"]);
        let verdict = waits["verdict"].as_str().unwrap_or_default();
        assert!(
            !matches!(verdict, "deadlock" | "waiting"),
            "{family:?}: {waits}"
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
    Family::ALL
        .into_iter()
        .for_each(is_healthy_however_often_asked);
}

#[test]
#[ignore = "twenty runs: --all"]
fn twenty_healthy_runs_without_an_alarm() {
    let late = |family| program(family, "late_sender", ["3"]);
    for family in Family::ALL {
        for _ in 0..3 {
            is_healthy_however_often_asked(family);
        }
        let more = Conversation::ALL
            .into_iter()
            .map(|conversation| conversation.command(family))
            .chain([late(family)]);
        for command in more {
            let running = watched(family, &command, AFTER).start();
            // One of them waits to be told.
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
