//! Analyses are switched while a job runs: what they count from then on is known by the program's
//! own log, and every answer says what it misses.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::Job;
use invivo_e2e::logs::call_log::{Call, CallLog};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::thread::sleep;
use std::time::Duration;

const RANKS: u32 = 4;
/// Rounds of some 60 ms, with four messages from each sender.
const ROUNDS: usize = 120;
/// Some rounds.
const A_WHILE: Duration = Duration::from_millis(700);
/// Between the program's reading of its clock and the begin or end of the call: a time slice where
/// the machine is busy.
const READING_NS: u64 = 20_000_000;

/// Sends of the log with the calls that completed their receives. In each round the receive that
/// was posted last is waited for first.
fn pairs(logs: &[CallLog]) -> Vec<(Call, Call)> {
    let (senders, receivers) = logs.split_at(logs.len() / 2);
    let mut pairs = Vec::new();
    for (sender, receiver) in senders.iter().zip(receivers) {
        let of = |log: &CallLog, names: &[&str]| -> Vec<Call> {
            let calls = log.calls.iter();
            calls
                .filter(|call| names.contains(&call.function.as_str()))
                .cloned()
                .collect()
        };
        let mut receives = of(receiver, &["MPI_Recv", "MPI_Wait"]);
        receives.chunks_mut(4).for_each(|round| round.swap(2, 3));
        pairs.extend(of(sender, &["MPI_Send"]).into_iter().zip(receives));
    }
    pairs
}

/// Where a switch lay, in job time: that of the root's node, which is this one. The same on all
/// places, but for those that heard of it too late.
fn cut(reply: &Value) -> RangeInclusive<u64> {
    number(reply, "/from/earliest_ns")..=number(reply, "/from/latest_ns")
}

fn matched(answer: &Value) -> u64 {
    number(answer, "/matched/messages")
}

/// Matching is off, on for a while, and off again; the matrix is switched off with the first.
fn switched(family: Family, fan_in: &'static str) {
    let command = program(family, "late_sender", [&ROUNDS.to_string()]);
    let mut running = Job::observed(family, RANKS, &command)
        .fan_in(fan_in)
        .start();
    running.wait_for_answers();
    let client = running.client();
    let off = client.json(&["messages"]);
    assert_eq!(
        (
            number(&off, "/sent/messages"),
            number(&off, "/analysis/off")
        ),
        (0, u64::from(RANKS)),
        "{off}"
    );
    let text = client.run(&["messages"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("to switch it on: invivo analyses on messages"),
        "{text}"
    );

    sleep(A_WHILE);
    let on = cut(&client.all_do(RANKS, &["analyses", "on", "messages"]));
    let matrix_off = cut(&client.all_do(RANKS, &["analyses", "off", "matrix"]));
    sleep(A_WHILE);
    let off = cut(&client.all_do(RANKS, &["analyses", "off", "messages"]));
    running.wait_for_notes("done");

    let all = pairs(&CallLog::read_all(&running.logs(), RANKS));
    assert_eq!(all.len(), RANKS as usize / 2 * 4 * ROUNDS);
    let between = |from_ns: u64, to_ns: u64| {
        let inside = |(send, receive): &&(Call, Call)| {
            send.begin_ns > from_ns && send.end_ns.max(receive.end_ns) < to_ns
        };
        all.iter().filter(inside).count() as u64
    };
    // A receive that is complete may wait for one that was posted before it and is not.
    let held = u64::from(RANKS / 2);
    let least = between(on.end() + READING_NS, off.start() - READING_NS).saturating_sub(held);
    let most = between(on.start() - READING_NS, off.end() + READING_NS);
    assert!(least >= 16 && most < all.len() as u64, "{least} to {most}");
    let answer = running.until("the messages to be matched", |job| {
        let answer = job.client().try_json(&["messages"])?;
        (matched(&answer) >= least).then_some(answer)
    });
    assert!(
        matched(&answer) <= most,
        "{least} to {most} are to match: {answer}"
    );
    let is_in = |pointer: &str, cut: &RangeInclusive<u64>| {
        let told = number(&answer, &format!("/analysis/off_intervals/{pointer}"));
        assert!(cut.contains(&told), "{cut:?}: {answer}");
    };
    is_in("0/to_ns", &on);
    is_in("1/from_ns", &off);
    let intervals = &answer["analysis"]["off_intervals"];
    assert_eq!(intervals.as_array().map(Vec::len), Some(2), "{answer}");

    let matrix = client.json(&["matrix"]);
    let cells = matrix["cells"].as_array().expect("cells").iter();
    let sent: u64 = cells.map(|cell| number(cell, "/sent/messages")).sum();
    let until = |at_ns: u64| all.iter().filter(|(send, _)| send.end_ns < at_ns).count() as u64;
    let (least, most) = (
        until(matrix_off.start() - READING_NS),
        until(matrix_off.end() + READING_NS),
    );
    assert!(0 < least && most < all.len() as u64, "{least} to {most}");
    assert!(
        (least..=most).contains(&sent),
        "{least} to {most}: {matrix}"
    );

    let refused = client.run(&["analyses", "on", "message"]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success()
            && why.contains("functions, matrix, messages, heatmap, sites, waitstates, regions"),
        "{why}"
    );

    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    let report = ended.report();
    checks::conserved(&report, RANKS);
    let of = |name: &str| {
        let mut all = report.analyses.iter();
        all.find(|one| one["name"] == name)
            .expect("it is named")
            .clone()
    };
    assert_eq!(&of("messages")["off_intervals"], intervals);
    assert_eq!(number(&of("matrix"), "/off"), u64::from(RANKS));
    assert_eq!(of("functions")["off_intervals"], json!([]));
    ended.assert_nothing_left();
}

#[test]
fn messages_are_counted_from_the_switch_on() {
    switched(Family::Mpich, "4");
}

#[test]
fn places_switch_at_the_same_time() {
    switched(Family::Ompi, "2");
}

/// Without analyses the buffers keep every call all the same, and nobody is told zeros.
#[test]
fn a_job_without_analyses_says_so() {
    for family in Family::ALL {
        let command = program(family, "late_sender", ["3"]);
        let mut running = Job::observed(family, RANKS, &command)
            .options(["--analyses", "none"])
            .start();
        running.wait_for_answers();
        running.wait_for_notes("done");
        let client = running.client();
        for analysis in ["functions", "matrix", "messages"] {
            let answer = client.run(&[analysis]);
            let text = String::from_utf8_lossy(&answer.stdout).into_owned();
            let command = format!("invivo analyses on {analysis}");
            assert!(text.contains(&command), "{text}");
        }
        assert!(
            !client
                .json_stream(&["timeline", "--seconds", "60"])
                .is_empty()
        );

        running.tell("stop");
        let ended = running.end();
        assert_eq!(ended.code(), 0);
        let report = ended.report();
        assert!(report.functions.is_empty() && report.matrix.sent.is_empty());
        let ledger = report.coverage.ledger;
        assert_eq!(
            (ledger.kept, ledger.placed()),
            (ledger.entered, ledger.entered)
        );
        let lines = ended.our_lines();
        assert!(
            lines
                .iter()
                .any(|line| line.contains("time in MPI not known")),
            "{lines:?}"
        );
        ended.assert_nothing_left();
    }
}
