//! Late receivers beside what a program has written down of its calls: for how long senders waited,
//! at which lines, and for whom; and where nobody waited.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::Job;
use invivo_e2e::logs::call_log::{Call, CallLog};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths::sources;
use invivo_e2e::programs::program;
use serde_json::Value;

const RANKS: u32 = 4;
const ROUNDS: u64 = 12;
/// Between the program's reading of its clock and the begin or end of a call, and what a rank may
/// lose its processor for now and then.
const READING_NS: u64 = 100_000;

/// The line of the program that calls a function for the first time, logged.
fn line(function: &str) -> String {
    let source = std::fs::read_to_string(sources().join("late_receiver.c")).expect("a source");
    let call = format!("LOGGED({function},");
    let at = source.lines().position(|line| line.contains(&call));
    format!("late_receiver.c:{}", at.expect("a call") + 1)
}

fn calls<'a>(log: &'a CallLog, function: &str) -> Vec<&'a Call> {
    let calls = log.calls.iter();
    calls.filter(|call| call.function == function).collect()
}

/// Where a sender waits, and the calls that post the receives: of several of one round which.
const WAITS: [(&str, (&str, usize, usize)); 4] = [
    ("MPI_Send", ("MPI_Recv", 0, 3)),
    ("MPI_Ssend", ("MPI_Irecv", 0, 1)),
    ("MPI_Wait", ("MPI_Recv", 1, 3)),
    // Until the second of its receives is posted.
    ("MPI_Waitall", ("MPI_Recv", 2, 3)),
];

/// From the begin of each call that waits to the begin of the posting of its receive: of a sender
/// in all.
fn waited(
    logs: &[CallLog],
    sender: usize,
    send: &str,
    (post, which, of): (&str, usize, usize),
) -> u64 {
    let receiver = sender + logs.len() / 2;
    let posts = calls(&logs[receiver], post);
    let posts: Vec<&Call> = posts.into_iter().skip(which).step_by(of).collect();
    let sends = calls(&logs[sender], send);
    assert_eq!(
        (sends.len(), posts.len()),
        (ROUNDS as usize, ROUNDS as usize)
    );
    let pairs = sends.iter().zip(posts);
    pairs
        .map(|(send, post)| post.begin_ns.min(send.end_ns).saturating_sub(send.begin_ns))
        .sum()
}

fn rows<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().map_or(&[], Vec::as_slice)
}

fn known(family: Family, fan_in: &'static str) {
    let command = program(family, "late_receiver", [&ROUNDS.to_string()]);
    // Held until all tool processes know the job's time: calls that begin before have no place.
    let job = Job::observed(family, RANKS, &command).fan_in(fan_in);
    let mut running = job.options(["--hold", "--analyses", "all"]).start();
    running.wait_for_answers();
    running.client().resume(RANKS);
    running.wait_for_notes("done");
    let logs = CallLog::read_all(&running.logs(), RANKS);
    let messages = 6 * ROUNDS * u64::from(RANKS / 2);
    running.until("all messages to be matched", |job| {
        let answer = job.client().try_json(&["messages"])?;
        (number(&answer, "/matched/messages") == messages).then_some(())
    });
    // What is told from place to place is there a moment later: four functions, each sender's
    // calls.
    let is_late = |row: &&Value| row["wait_state"] == "Late Receiver";
    let calls = 4 * ROUNDS * u64::from(RANKS / 2);
    let answer = running.until("all waits to be told", |job| {
        let answer = job.client().try_json(&["waitstates"])?;
        let late = rows(&answer, "rows").iter().filter(is_late);
        let waits: u64 = late.map(|row| number(row, "/waits")).sum();
        (waits == calls && number(&answer, "/unblamed_ns") == 0).then_some(answer)
    });
    let by_site = running.until("names at call sites", |job| {
        let answer = job.client().try_json(&["waitstates", "--by", "site"])?;
        (number(&answer, "/rows_unnamed") == 0).then_some(answer)
    });
    let text = running.client().run(&["waitstates", "--by", "site"]).stdout;
    println!("{}", String::from_utf8_lossy(&text));
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();

    let senders = 0..RANKS as usize / 2;
    for (send, post) in WAITS {
        let expected: u64 = senders
            .clone()
            .map(|rank| waited(&logs, rank, send, post))
            .sum();
        let tolerance = expected / 100 + ROUNDS * u64::from(RANKS) * READING_NS;
        let near = |told: u64, what: &str| {
            assert!(
                told.abs_diff(expected) <= tolerance,
                "{what} {send}: {told} ns instead of {expected}: {answer}"
            );
        };
        let of = rows(&answer, "rows").iter().filter(is_late);
        let row = of.clone().find(|row| row["function"] == send);
        near(row.map_or(0, |row| number(row, "/time_ns")), "waits in");
        // At its one line: that the other calls of the function do not wait is known as well.
        let sites = rows(&by_site, "rows").iter();
        let sites = sites.filter(|site| site["calls"]["function"] == send);
        let at: Vec<(&Value, &Value)> = sites
            .flat_map(|site| rows(site, "waits").iter().map(move |waits| (site, waits)))
            .filter(|(_, waits)| waits["wait_state"] == "Late Receiver")
            .collect();
        let [(site, waits)] = at[..] else {
            panic!("{send} waits at one line: {by_site}");
        };
        assert_eq!(site.pointer("/functions/0/line"), Some(&line(send).into()));
        near(number(waits, "/time_ns"), "waits at the line of");
        let causers: Vec<u64> = rows(waits, "causers")
            .iter()
            .map(|of| number(of, "/rank"))
            .collect();
        let mut ranks = causers.clone();
        ranks.sort_unstable();
        assert_eq!(ranks, [2, 3], "the two receivers: {waits}");
    }
    // Whoever is waited for is told so by rank: each receiver by its sender alone.
    for receiver in RANKS / 2..RANKS {
        let ranks = rows(&answer, "ranks").iter();
        let of = ranks
            .clone()
            .find(|row| number(row, "/rank") == u64::from(receiver));
        let of = of.map_or(&[][..], |of| rows(of, "rows")).iter();
        let caused: u64 = of
            .filter(is_late)
            .map(|row| number(row, "/caused_waits"))
            .sum();
        // Each of the two receives that MPI_Waitall waits for has its part of that.
        assert_eq!(caused, 5 * ROUNDS, "rank {receiver}: {answer}");
    }
}

#[test]
fn below_one_place() {
    known(Family::Ompi, "4");
}

#[test]
fn from_place_to_place() {
    known(Family::Ompi, "2");
    known(Family::Mpich, "1");
}
