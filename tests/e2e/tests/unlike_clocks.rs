//! Two hosts whose clocks run unlike: by seconds, by rate, by drift, and with a step in the middle.
//! Only binaries with the feature `test-hooks` can be given such clocks.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::cluster::hosts;
use invivo_e2e::cluster::skews::Skews;
use invivo_e2e::interval::{Edge, Interval, Straddling, table};
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::call_log::{Call, CallLog};
use invivo_e2e::logs::clock_log::now_ns;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::program;
use serde_json::Value;
use std::time::Duration;

/// Ranks of the jobs: two on each host.
const RANKS: u32 = 4;
/// The host of the root, whose clock is job time: the last.
const ROOT: u32 = hosts::HOSTS - 1;
/// The largest error that may be stated, on a busy machine.
const ERROR_NS_MAX: u64 = 20_000_000;
/// Between the program's reading of the clock and the shim's of the counter: a machine's clock is
/// disciplined while we look.
const READING_NS: u64 = 20_000;
const SECOND: u64 = 1_000_000_000;
/// By how much, in parts per million, the clocks of a pause and a window run apart at most: 190
/// from the start, and 1 more with every second.
const APART_PPM: u64 = 250;
/// Rounds of `late_sender`: four messages each, from each of two ranks.
const ROUNDS: usize = 10;

/// Five seconds apart, and further by 200 us with every second.
fn apart() -> Skews {
    Skews::new(|_| ["offset=3500000000,ppm=100", "offset=-1500000000,ppm=-100"].map(String::from))
}

/// Checks a window of recording on both hosts against the programs' logs, by the root's clock.
fn window_is_one_time(running: &mut Running) -> (Interval, Value) {
    let reply = running.client().all_do(RANKS, &["record", "--for", "1s"]);
    let error_ns = number(&reply, "/from/error_ns");
    // Not 0: that would mean that the hosts were taken to have one clock.
    assert!(error_ns > 0 && error_ns < ERROR_NS_MAX, "{reply}");
    let answer = running.until("the window to be taken", |job| {
        let answer = job.client().try_json(&["functions", "--per-rank"])?;
        let open = number(&answer, "/coverage/ledger/open")
            + number(&answer, "/coverage/ledger/in_flight");
        (open == 0).then_some(answer)
    });
    let interval = Interval {
        from: Edge::of(&reply, "/from", Straddling::Clipped),
        to: Some(Edge::of(&reply, "/to", Straddling::Clipped)),
    };
    (interval, answer)
}

/// A pause holds on both hosts, and a window lies at one job time, before a step and after it.
fn pause_and_record(family: Family) {
    if !hosts::possible() {
        return;
    }
    let mut step_ns = 0;
    let skews = Skews::new(|now_ns| {
        step_ns = now_ns + 20 * SECOND;
        let step = format!("offset=3500000000,ppm=100,step=8000000@{step_ns}");
        [step, "offset=-1500000000,ppm=-90,drift=-1".to_owned()]
    });
    let job = Job::run_by_invivo(family, RANKS, &program(family, "logged_rounds", []));
    let mut running = skews.of_job(job.fan_in("node")).start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    let client = running.client();

    let paused_ns = now_ns();
    client.pause(RANKS, "1m");
    let all_paused_ns = now_ns();
    std::thread::sleep(Duration::from_millis(700));
    let resumed_ns = now_ns();
    client.resume(RANKS);

    let mut windows = vec![window_is_one_time(&mut running)];
    // Seen with the next measurement, at most a little more than a second later.
    running.until("the step to be seen", |job| {
        let status = job.client().try_json(&["status"])?;
        (now_ns() > step_ns && status.to_string().contains("run apart")).then_some(())
    });
    windows.push(window_is_one_time(&mut running));

    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);

    let logs = CallLog::read_all(&ended.logs(), RANKS);
    for (rank, log) in logs.iter().enumerate() {
        let began = |from_ns, to_ns| {
            let lies_in = |call: &&Call| call.begin_ns > from_ns && call.begin_ns < to_ns;
            log.calls.iter().filter(lies_in).count()
        };
        let during = began(all_paused_ns, resumed_ns);
        assert_eq!(during, 0, "{family:?}: rank {rank} went on in the pause");
        assert!(began(paused_ns, u64::MAX) > 0, "{family:?}: and went on");
    }
    let logs = skews.log_shown(ROOT, logs);
    for (interval, answer) in windows {
        let mut table = table(&answer);
        // How long a call took is measured by its own node's clock.
        for row in table.values_mut() {
            row.time_ns -= row.time_ns * APART_PPM / 1_000_000;
        }
        interval.assert_matches(&table, &logs);
    }
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}

#[test]
fn pauses_and_windows_hold_on_unlike_clocks() {
    pause_and_record(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn pauses_and_windows_hold_on_unlike_clocks_of_mpich() {
    pause_and_record(Family::Mpich);
}

/// The messages of `late_sender`: a send, and the call that completed its receive.
fn pairs(logs: &[CallLog]) -> Vec<(&Call, &Call)> {
    fn named<'a>(log: &'a CallLog, names: &[&str]) -> Vec<&'a Call> {
        let is_one = |call: &&Call| names.contains(&call.function.as_str());
        log.calls.iter().filter(is_one).collect()
    }
    let (senders, receivers) = logs.split_at(logs.len() / 2);
    let mut pairs = Vec::new();
    for (sender, receiver) in senders.iter().zip(receivers) {
        let sends = named(sender, &["MPI_Send"]);
        let mut receives = named(receiver, &["MPI_Recv", "MPI_Wait"]);
        assert_eq!((sends.len(), receives.len()), (4 * ROUNDS, 4 * ROUNDS));
        // In each round the receive that was posted last is waited for first.
        receives.chunks_mut(4).for_each(|round| round.swap(2, 3));
        pairs.extend(sends.into_iter().zip(receives));
    }
    pairs
}

/// Runs `late_sender` up to its end, where all of its messages are sent and received.
fn all_sent(family: Family, skews: &Skews) -> Running {
    let command = program(family, "late_sender", [&ROUNDS.to_string()]);
    let job = Job::observed(family, RANKS, &command).options(["--hold", "--analyses", "all"]);
    let mut running = skews.of_job(job).start();
    // Held until all tool processes know the job's time.
    running.wait_for_answers();
    running.client().resume(RANKS);
    running.wait_for_notes("done");
    running
}

/// Every message between the hosts finds its other end, and takes as long as it truly did.
fn match_messages(family: Family) {
    if !hosts::possible() {
        return;
    }
    let mut running = all_sent(family, &apart());
    let logs = CallLog::read_all(&running.logs(), RANKS);
    let pairs = pairs(&logs);
    let messages = pairs.len() as u64;
    let all = |answer: &Value| {
        let is_all = |side| number(answer, &format!("/{side}/messages")) == messages;
        ["sent", "received", "matched"].into_iter().all(is_all)
    };
    let answer = running.until("all messages to be matched", |job| {
        job.client().try_json(&["messages"]).filter(all)
    });
    for reason in ["unresolved", "limit", "cut", "missing"] {
        let unmatched = number(&answer, &format!("/unmatched/{reason}"));
        assert_eq!(unmatched, 0, "{family:?}: {answer}");
    }

    let error_ns = number(&answer, "/clock_error_ns");
    assert!(error_ns > 0 && error_ns < ERROR_NS_MAX, "{answer}");
    let took = pairs
        .iter()
        .map(|(send, receive)| receive.end_ns - send.begin_ns);
    let (true_ns, told_ns) = (took.sum::<u64>(), number(&answer, "/transfer/sum_ns"));
    // The program reads its clock a little before and after what is measured.
    let off_ns = told_ns.abs_diff(true_ns);
    assert!(
        off_ns <= true_ns / 5 + 2 * messages * error_ns,
        "{family:?}: {true_ns} ns in truth: {answer}"
    );

    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}

#[test]
fn messages_are_matched_across_unlike_clocks() {
    match_messages(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn messages_are_matched_across_unlike_clocks_of_mpich() {
    match_messages(Family::Mpich);
}

/// A call of the timeline: its begin and its end in job time, and their error.
struct Told {
    function: String,
    begin_ns: u64,
    end_ns: u64,
    error_ns: u64,
}

/// The calls of each rank by the timeline of the last minute that have these names.
fn timeline(running: &Running, names: &[&str]) -> Vec<Vec<Told>> {
    let mut told: Vec<Vec<Told>> = (0..RANKS).map(|_| Vec::new()).collect();
    for page in running
        .client()
        .json_stream(&["timeline", "--seconds", "60"])
    {
        let error_ns = number(&page, "/clock_error_ns");
        assert!(error_ns < ERROR_NS_MAX, "{error_ns} ns");
        for piece in page["pieces"].as_array().into_iter().flatten() {
            let rank = number(piece, "/location/rank") as usize;
            for call in piece["calls"].as_array().into_iter().flatten() {
                let function = call["function"].as_str().unwrap_or_default();
                if names.contains(&function) {
                    let end_ns = number(call, "/end_ns");
                    told[rank].push(Told {
                        function: function.to_owned(),
                        begin_ns: end_ns - number(call, "/duration_ns"),
                        end_ns,
                        error_ns,
                    });
                }
            }
        }
    }
    told
}

/// Calls of a while ago have the job time that they had, within the error that is told, although
/// the clocks have run apart since.
fn show_old_calls(family: Family) {
    if !hosts::possible() {
        return;
    }
    const NAMES: [&str; 3] = ["MPI_Send", "MPI_Recv", "MPI_Wait"];
    // 460 us more with every second: several milliseconds until the timeline is asked for.
    let skews = Skews::new(|_| ["offset=2000000000,ppm=230", "ppm=-230"].map(String::from));
    let mut running = all_sent(family, &skews);
    let sent_ns = now_ns();
    running.until("the clocks to run apart", |_| {
        (now_ns() > sent_ns + 15 * SECOND).then_some(())
    });
    let told = timeline(&running, &NAMES);
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);

    let logs = skews.log_shown(ROOT, CallLog::read_all(&ended.logs(), RANKS));
    for (rank, (told, log)) in told.iter().zip(&logs).enumerate() {
        let named = |call: &&Call| NAMES.contains(&call.function.as_str());
        let log: Vec<&Call> = log.calls.iter().filter(named).collect();
        assert_eq!(told.len(), log.len(), "{family:?}: rank {rank}");
        for (told, call) in told.iter().zip(log) {
            assert_eq!(told.function, call.function);
            // The program's readings enclose the call.
            let slack_ns = told.error_ns + READING_NS;
            assert!(
                told.begin_ns + slack_ns >= call.begin_ns && told.end_ns <= call.end_ns + slack_ns,
                "{family:?}: rank {rank} said {call:?}, told were {} to {}, off by up to {}",
                told.begin_ns,
                told.end_ns,
                told.error_ns
            );
        }
    }
    // Of the root's host job time is exact; the other one is asked once a second.
    let errors = told.iter().flatten().map(|told| told.error_ns);
    assert!(
        errors.max().unwrap_or(0) > 0,
        "they were taken for one clock"
    );
    ended.assert_nothing_left();
}

#[test]
#[ignore = "long"]
fn old_calls_keep_their_time_on_unlike_clocks() {
    show_old_calls(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn old_calls_keep_their_time_on_unlike_clocks_of_mpich() {
    show_old_calls(Family::Mpich);
}

/// What users have reads no such variable.
#[test]
fn released_programs_have_no_skew() {
    let lib = |family: &str, name: &str| paths::dist().join("lib/invivo").join(family).join(name);
    let programs = [
        paths::invivo(),
        lib("ompi", "libinvivo_shim.so"),
        lib("ompi", "tool-process"),
        lib("mpich", "libinvivo_shim.so"),
    ];
    let variable = invivo_proto::clock::skew::VARIABLE.as_bytes();
    let has = |bytes: &[u8]| bytes.windows(variable.len()).any(|word| word == variable);
    for program in programs {
        let bytes = std::fs::read(&program).expect("a program of the tree");
        assert!(!has(&bytes), "{}", program.display());
    }
    assert!(has(
        &std::fs::read(paths::invivo_with_hooks()).expect("a program with hooks")
    ));
}
