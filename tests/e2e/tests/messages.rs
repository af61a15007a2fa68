//! Sends are matched with receives within and across places, and late senders with their times.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::Job;
use invivo_e2e::logs::call_log::{Call, CallLog};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use serde_json::Value;

const ROUNDS: usize = 10;
/// Between the program's reading of its clock and the begin of the call: a time slice where the
/// machine is busy.
const READING_NS: u64 = 1_000_000;

/// Messages from one rank to its partner: the send, and the call that completed the receive.
fn pairs<'a>(sender: &'a CallLog, receiver: &'a CallLog) -> Vec<(&'a Call, &'a Call)> {
    let sends = sender
        .calls
        .iter()
        .filter(|call| call.function == "MPI_Send");
    let completed = |call: &&Call| matches!(call.function.as_str(), "MPI_Recv" | "MPI_Wait");

    let mut receives: Vec<&Call> = receiver.calls.iter().filter(completed).collect();
    assert_eq!(receives.len(), 4 * ROUNDS);
    // In each round the receive that was posted last is waited for first.
    receives.chunks_mut(4).for_each(|round| round.swap(2, 3));
    sends.zip(receives).collect()
}

struct Expected {
    messages: u64,
    late: u64,
    late_ns: u64,
    transfer_ns: u64,
    /// Of what was late, waits while a message was there that was received later.
    wrong_order_ns: u64,
    /// From the begin of the send to that of the receive, or back.
    apart_ns: Vec<u64>,
}

impl Expected {
    /// Pairs whose send and receive begin within this time of each other.
    fn ties(&self, within_ns: u64) -> u64 {
        self.apart_ns
            .iter()
            .filter(|apart| **apart <= within_ns)
            .count() as u64
    }
}

fn expected(logs: &[CallLog]) -> Expected {
    let (senders, receivers) = logs.split_at(logs.len() / 2);

    let of_receivers: Vec<Vec<(&Call, &Call)>> = senders
        .iter()
        .zip(receivers)
        .map(|(s, r)| pairs(s, r))
        .collect();
    let mut sum = Expected {
        messages: 0,
        late: 0,
        late_ns: 0,
        transfer_ns: 0,
        wrong_order_ns: 0,
        apart_ns: Vec::new(),
    };

    for (pairs, &(send, receive)) in of_receivers
        .iter()
        .flat_map(|pairs| pairs.iter().map(move |pair| (pairs, pair)))
    {
        sum.messages += 1;
        // In either direction: near ties are looked for below.
        sum.apart_ns.push(send.begin_ns.abs_diff(receive.begin_ns));
        sum.late += u64::from(send.begin_ns > receive.begin_ns);
        sum.late_ns += send
            .begin_ns
            .min(receive.end_ns)
            .saturating_sub(receive.begin_ns);
        sum.transfer_ns += receive.end_ns - send.begin_ns;
        let was_there = |(sent, received): &(&Call, &Call)| {
            received.end_ns > receive.end_ns && sent.begin_ns < send.begin_ns
        };
        if pairs.iter().any(was_there) {
            let late_ns = send.begin_ns.saturating_sub(receive.begin_ns);
            sum.wrong_order_ns += late_ns;
        }
    }
    sum
}

/// Within a fifth: the program reads its clock a little before and after what is measured.
fn is_near(found: u64, expected: u64) -> bool {
    found.abs_diff(expected) <= expected / 5
}

fn matched(family: Family, ranks: u32, fan_in: &'static str) {
    let command = program(family, "late_sender", [&ROUNDS.to_string()]);
    // Held until all tool processes know the job's time: messages that begin before have no times.
    let job = Job::observed(family, ranks, &command).fan_in(fan_in);

    let mut running = job.options(["--hold", "--analyses", "all"]).start();
    running.wait_for_answers();
    running.client().resume(ranks);
    running.wait_for_notes("done");

    let expected = expected(&CallLog::read_all(&running.logs(), ranks));
    assert_eq!(expected.messages, u64::from(ranks / 2) * 4 * ROUNDS as u64);
    // Places answer one after the other: a message may be counted as sent and not matched yet.
    let all = |answer: &Value| {
        let is_all = |side| number(answer, &format!("/{side}/messages")) == expected.messages;
        ["sent", "received", "matched"].into_iter().all(is_all)
    };
    let answer = running.until("all messages to be matched", |job| {
        job.client().try_json(&["messages"]).filter(all)
    });

    for side in ["sent", "received", "matched"] {
        let sum = |what| number(&answer, &format!("/{side}/{what}"));
        assert_eq!(
            (sum("messages"), sum("bytes")),
            (expected.messages, 4 * expected.messages),
            "{answer}"
        );
    }

    for reason in ["unresolved", "limit", "cut", "missing"] {
        assert_eq!(
            number(&answer, &format!("/unmatched/{reason}")),
            0,
            "{answer}"
        );
    }

    let untimed = number(&answer, "/untimed");
    assert_eq!(
        number(&answer, "/transfer/count") + untimed,
        expected.messages,
        "{answer}"
    );
    assert!(untimed <= 4, "{answer}");

    let late = number(&answer, "/late_sender/count");
    // Which side was first is unknown where they are nearer together than the error of the clocks.
    let ties = expected.ties(2 * number(&answer, "/clock_error_ns") + READING_NS);
    assert!(
        late.abs_diff(expected.late) <= ties + untimed,
        "{} late, {ties} ties: {answer}",
        expected.late
    );

    let late_ns = number(&answer, "/late_sender/sum_ns");
    assert!(
        is_near(late_ns, expected.late_ns),
        "{} ns late: {answer}",
        expected.late_ns
    );

    let transfer_ns = number(&answer, "/transfer/sum_ns");
    assert!(
        is_near(transfer_ns, expected.transfer_ns),
        "{} ns: {answer}",
        expected.transfer_ns
    );

    assert!(
        number(&answer, "/late_sender/max_rank") >= u64::from(ranks / 2),
        "a receiver: {answer}"
    );

    let waits = running.client().json(&["waitstates"]);
    let rows = waits["rows"].as_array().expect("rows").iter();
    let wrong_order: Vec<&Value> = rows
        .filter(|row| row["wait_state"] == "Late Sender, Wrong Order")
        .collect();
    let [wrong_order] = wrong_order[..] else {
        panic!("in one function: {waits}");
    };
    assert_eq!(
        (&wrong_order["function"], &wrong_order["part_of"]),
        (&"MPI_Wait".into(), &"Late Sender".into()),
        "{waits}"
    );
    let rounds = u64::from(ranks / 2) * ROUNDS as u64;
    assert!(
        number(wrong_order, "/waits").abs_diff(rounds) <= untimed,
        "{waits}"
    );
    assert!(
        is_near(number(wrong_order, "/time_ns"), expected.wrong_order_ns),
        "{} ns: {waits}",
        expected.wrong_order_ns
    );

    // Behind a reset there is nothing, and nothing is matched across it.
    running.client().all_do(ranks, &["reset"]);
    let answer = running.client().json(&["messages"]);
    assert_eq!(
        (
            number(&answer, "/sent/messages"),
            number(&answer, "/matched/messages")
        ),
        (0, 0),
        "{answer}"
    );

    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), ranks);
    ended.assert_nothing_left();
}

#[test]
fn below_one_place() {
    matched(Family::Ompi, 4, "4");
}

#[test]
fn from_place_to_place() {
    matched(Family::Ompi, 4, "2");
    matched(Family::Mpich, 2, "1");
}

/// Eight ranks, four places, two nodes, one root: every message goes from a place below one node to
/// a place below the other.
#[test]
fn over_three_layers() {
    matched(Family::Ompi, 8, "2,2");
}
