//! A tool process that is killed, and with it everything that it held: the newest calls of its
//! ranks lie in their shared memory, and are in the report.

use invivo_e2e::checks;
use invivo_e2e::cluster::control_group::ControlGroup;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::kills::marks::Marks;
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::{Process, kill};
use invivo_e2e::programs::{Language, in_language, program};
use invivo_e2e::results::report::Report;
use invivo_e2e::results::timeline::{self, LastCalls};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const RANKS: u32 = 2;
/// Messages of the program that stays.
const MESSAGES: u64 = 40;
/// Rounds of the busy program, more than it comes to, and calls that each begins with.
const BUSY: [&str; 2] = ["30000", "1000"];
/// How long it calls before the death: within the first packets of each rank, and when its pool has
/// been in use more than once.
const MOMENTS: [Duration; 2] = [Duration::from_millis(30), Duration::from_millis(1500)];
/// Memory that a tool process may take beside what it has: less than the answer to a question.
const LITTLE_BYTES: u64 = 256 << 10;
/// The longest until the kernel has killed a process for want of memory.
const KILLED_WITHIN: Duration = Duration::from_secs(60);
/// The longest from the death to the report.
const REPORTED_WITHIN: Duration = Duration::from_secs(20);

/// The job's only tool process.
fn tool_process(running: &Running) -> Process {
    running.only("tool-process")
}

/// The report of a job that goes on behind the death of its tool process, with the last calls of
/// its ranks.
fn what_is_left(running: &mut Running) -> (Report, BTreeMap<u32, LastCalls>) {
    let [report, last] =
        ["report.json", "report.pftrace"].map(|name| running.directory().join(name));
    let begun = Instant::now();
    while !report.exists() {
        let took = begun.elapsed();
        assert!(running.runs(), "the job goes on: {:?}", running.our_lines());
        assert!(took < REPORTED_WITHIN, "{:?}", running.our_lines());
        std::thread::sleep(Duration::from_millis(20));
    }
    let report = Report::read(&report);
    checks::conserved(&report, RANKS);
    assert!(report.ended.is_empty(), "{:?}", report.ended);
    let words = "the tool process was killed by signal 9 (SIGKILL): what it held is lost";
    let says = |line: &String| line.contains(words);
    assert!(report.notes.iter().any(says), "{:?}", report.notes);
    running.until("the job's line", |job| {
        let lines = job.our_lines();
        let line = lines.iter().find(|line| line.starts_with("invivo: job "))?;
        assert!(says(line) && line.contains("; last seconds of all ranks: "));
        Some(())
    });
    (report, timeline::read(&last))
}

/// A job that has recorded little loses nothing: all of it lies in the first packet of each rank.
#[test]
fn every_rank_leaves_the_last_calls_that_it_noted() {
    for family in Family::ALL {
        for language in [Language::C, Language::Fortran] {
            let what = format!("{family:?}, {language:?}");
            let command = in_language(family, "ends", language, &["stay"]);
            let job = Job::observed(family, RANKS, &command).fan_in("node");
            let mut running = job.start();
            running.wait_for_answers();
            running.wait_for_notes("ready");
            // Rank 0 may still be on its way into the call that it stays in.
            std::thread::sleep(Duration::from_millis(500));
            kill(&tool_process(&running));

            let (report, last) = what_is_left(&mut running);
            let calls = report.calls();
            let of = |rank: u32, name: &str| calls.get(&(rank, name.to_owned())).copied();
            assert_eq!(of(0, "MPI_Send"), Some(MESSAGES), "{what}: {calls:?}");
            assert_eq!(of(1, "MPI_Recv"), Some(MESSAGES), "{what}: {calls:?}");
            let ledger = &report.coverage.ledger;
            assert_eq!(ledger.dropped_by_place, 0, "{what}: {ledger:?}");
            assert_eq!(last.len(), RANKS as usize, "{what}: {last:?}");
            for (rank, last) in &last {
                let (done, open) = timeline::own_notes(&running.logs(), *rank);
                assert_eq!(last.done.as_ref(), Some(&done), "{what}, rank {rank}");
                assert_eq!(last.open, open, "{what}, rank {rank}: {last:?}");
            }
            // Who sent what to whom is known as well: the definitions are in the memory, too.
            let sent: u64 = report.matrix.sent.iter().map(|cell| cell.messages).sum();
            assert_eq!(sent, MESSAGES, "{what}: {:?}", report.matrix);
        }
    }
}

/// A busy job, and the death of its tool process by `end`.
fn busy(family: Family, before: Duration, end: impl FnOnce(&mut Running, &Process)) {
    let what = format!("{family:?}, after {before:?}");
    let command = program(family, "marked_calls", BUSY);
    let job = Job::observed(family, RANKS, &command).fan_in("node");
    let mut running = job.limit(Duration::from_secs(240)).start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    std::thread::sleep(before);
    let tool = tool_process(&running);
    let ended = Marks::read(&running.logs());
    end(&mut running, &tool);

    let (report, last) = what_is_left(&mut running);
    let begun = Marks::read(&running.logs());
    let ledger = &report.coverage.ledger;
    let between = Marks {
        begun: begun.begun.clone(),
        ended: ended.ended.clone(),
    };
    assert!(
        between.allow(ledger.entered),
        "{what}: {ledger:?}, {between:?}"
    );
    let rows: u64 = report.functions.iter().map(|row| row.calls).sum();
    assert_eq!(ledger.kept + ledger.reduced, rows, "{what}: {ledger:?}");
    assert!(rows > 0, "{what}: {ledger:?}");
    for rank in 0..RANKS {
        // A message's tag is the number of its round.
        let newest = last[&rank].newest.get("MPI_Isend").copied();
        let done = ended.ended_by(rank, "MPI_Isend");
        assert!(
            newest.is_some_and(|round| round + 1 >= done),
            "{what}, rank {rank}: round {newest:?}, and {done} were done: {:?}",
            last[&rank]
        );
    }
    println!(
        "{what}: {} calls entered, {rows} of them saved, {} lost",
        ledger.entered, ledger.dropped_by_place
    );
    // The ranks work on.
    let waited = Instant::now();
    while Marks::read(&running.logs()).ended_by(0, "MPI_Isend") <= begun.ended_by(0, "MPI_Isend") {
        assert!(waited.elapsed() < REPORTED_WITHIN, "{what}: they stand");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whatever the rank is doing, and whichever packets are full, on their way or free: the newest
/// calls are there, and every other one is counted.
#[test]
fn the_newest_calls_of_busy_ranks_are_saved() {
    for family in Family::ALL {
        for before in MOMENTS {
            busy(family, before, |_, tool| kill(tool));
        }
    }
}

#[test]
#[ignore = "a control group, which not every machine allows"]
fn the_newest_calls_are_saved_when_memory_runs_out() {
    for family in Family::ALL {
        let Some(group) = ControlGroup::with_memory(LITTLE_BYTES) else {
            return;
        };
        busy(family, MOMENTS[0], |running, tool| {
            group.take_in(tool);
            let begun = Instant::now();
            // It takes memory to answer.
            while !running.named("tool-process").is_empty() {
                running
                    .client()
                    .run(&["timeline", "--seconds", "5", "--json"]);
                assert!(begun.elapsed() < KILLED_WITHIN, "the kernel kills it");
            }
        });
    }
}
