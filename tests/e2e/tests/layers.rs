//! Trees of three layers: what comes out of the merges is what the program counted itself, and a tool place that stands
//! still is named and left out.

use invivo_e2e::apps::{Conversation, program};
use invivo_e2e::checks;
use invivo_e2e::client::number;
use invivo_e2e::family::Family;
use invivo_e2e::job::Job;
use invivo_e2e::processes::signal;
use rustix::process::Signal;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Eight ranks, four places, two nodes, one root: everybody's calls and messages, on world and on other communicators
/// whose members report to different places.
#[test]
fn three_layers_give_what_the_program_counted() {
    for family in Family::ALL {
        let ranks = 8;
        let command = Conversation::C.command(family);
        let job = Job::observed(family, ranks, &command).fan_in("2,2").start();
        assert_eq!(job.processes(), 8 + 4 + 2 + 1);
        let ended = job.end();
        assert_eq!(ended.code(), 0);
        let (report, own) = (ended.report(), ended.own_counts());
        assert_eq!((report.job.places, report.job.nodes), (4, 3), "{family:?}");
        checks::complete(&report, ranks);
        checks::same_calls(&report, &own.calls);
        checks::same_traffic(&report, &own);
        assert!(report.notes.is_empty(), "{family:?}: {:?}", report.notes);
        ended.assert_nothing_left();
    }
}

fn missing(answer: &Value) -> Vec<u64> {
    let named = answer["coverage"]["missing"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    named.iter().filter_map(Value::as_u64).collect()
}

/// A tool place that is stopped is waited for once, then named at once; when it goes on it is back.
#[test]
fn a_stalled_place_is_named_and_left_out_until_it_is_back() {
    let family = Family::Ompi;
    let ranks = 4;
    let mut running = Job::observed(family, ranks, &program(family, "ticker", []))
        .fan_in("2")
        .start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    let client = running.client();
    let places = running.named("tool-place");
    assert_eq!(places.len(), 2);
    let stalled = &places[1];
    let whole = |answer: &Value| {
        number(answer, "/coverage/ranks_reporting") == u64::from(ranks) && missing(answer).is_empty()
    };
    assert!(whole(&client.json(&["status"])));

    signal(stalled, Signal::STOP);
    let named = running.until("the stalled place to be named", |job| {
        let answer = job.client().try_json(&["status"])?;
        (!missing(&answer).is_empty()).then_some(answer)
    });
    // The places are processes 4 and 5.
    let process = missing(&named);
    assert!(process == [4] || process == [5], "{named}");
    assert_eq!(number(&named, "/coverage/members_missing"), 1, "{named}");
    assert_eq!(number(&named, "/coverage/ranks_reporting"), 2, "{named}");
    for _ in 0..3 {
        let begun = Instant::now();
        let answer = client.json(&["functions"]);
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "the rest is answered at once: {:?}",
            begun.elapsed()
        );
        assert_eq!(missing(&answer), process, "{answer}");
        let rows = answer["rows"].as_array().expect("rows");
        assert!(!rows.is_empty(), "the other place answers: {answer}");
    }

    signal(stalled, Signal::CONT);
    running.until("the place to be back", |job| {
        let answer = job.client().try_json(&["status"])?;
        whole(&answer).then_some(())
    });
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    let expected: Vec<String> = (0..ranks)
        .map(|rank| format!("rank {rank}: 0 wrong, computed\n"))
        .collect();
    assert_eq!(ended.stdout(), expected);
    // While nobody took its ranks' packets some calls may have been dropped; each is counted.
    checks::same_but_for_drops(&ended.report(), ranks, &ended.own_counts());
}
