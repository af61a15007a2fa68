//! A program that starts a thread for each of its tasks: locations go from thread to thread.

use invivo_e2e::checks;
use invivo_e2e::clients::{Client, number};
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::resident_bytes;
use invivo_e2e::programs::program;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const THREADS: usize = 10_000;
/// Threads that live at one time.
const AT_ONCE: usize = 8;
const CALLS_OF_THREAD: usize = 10;
/// What a process may grow by while four fifths of the threads come and go. A location takes more
/// than 4 KiB in the rank, and much more in the place.
const GROWTH_MAX: u64 = 4 << 20;

/// How much the rank and its place grow between the first fifth of the threads and the last.
fn growth(running: &mut Running) -> Vec<u64> {
    running.wait_for_notes("warm");
    // Each has a buffer, whose memory is all there from the start.
    running.until("every location", |job| {
        let buffers = job.client().json(&["buffers"]);
        (number(&buffers, "/locations") == 1 + AT_ONCE as u64).then_some(())
    });
    let processes = [running.program_name(), "tool-place"].map(|name| running.only(name));
    let before = processes.each_ref().map(resident_bytes);
    running.tell("go");
    running.wait_for_notes("done");
    let grown = processes.iter().zip(before);
    grown
        .map(|(process, before)| resident_bytes(process).saturating_sub(before))
        .collect()
}

/// What one thread of the job has called: how many calls, and the tags of its messages.
#[derive(Default)]
struct Called {
    calls: usize,
    tags: BTreeSet<i64>,
}

/// The calls by location and occupant, of all threads but the first.
fn called(client: &Client) -> BTreeMap<(u64, u64), Called> {
    let pages = client.json_stream(&["timeline", "--seconds", "3600", "--calls", "2000000"]);
    let mut threads: BTreeMap<(u64, u64), Called> = BTreeMap::new();
    let pieces = pages.iter().filter_map(|page| page["pieces"].as_array());
    for piece in pieces.flatten() {
        let thread = piece["location"]["thread"].as_u64().unwrap_or(0);
        let calls = piece["calls"].as_array().into_iter().flatten();
        for call in calls.filter(|_| thread != 0) {
            let occupant = call["occupant"].as_u64().unwrap_or(0);
            let called = threads.entry((thread, occupant)).or_default();
            called.calls += 1;
            // Tags mean something where messages are sent or received.
            let facts = &call["facts"];
            let is_message = facts["kind"] != "call";
            called
                .tags
                .extend(facts["tag"].as_i64().filter(|_| is_message));
        }
    }
    threads
}

/// Ten thousand threads, eight at a time: no call is lost, memory stays as it is, and the calls of
/// one thread are told from those of the next.
#[test]
#[ignore = "long: twenty seconds"]
fn a_thread_per_task_loses_neither_calls_nor_memory() {
    for family in Family::ALL {
        let words = [THREADS, AT_ONCE].map(|number| number.to_string());
        let command = program(family, "thread_per_task", [&words[0], &words[1]]);
        let mut running = Job::observed(family, 1, &command)
            .limit(Duration::from_secs(180))
            .start();
        running.wait_for_answers();
        let grown = growth(&mut running);
        assert!(
            grown.iter().all(|bytes| *bytes < GROWTH_MAX),
            "{family:?}: rank and place have grown by {grown:?}"
        );

        // What is younger than the latency bound may not have been read yet.
        let threads = running.until("every call", |job| {
            let threads = called(&job.client());
            let calls: usize = threads.values().map(|called| called.calls).sum();
            (calls == THREADS * CALLS_OF_THREAD).then_some(threads)
        });
        assert_eq!(threads.len(), THREADS, "{family:?}: threads told apart");
        let mut tags = BTreeSet::new();
        for (thread, called) in &threads {
            assert_eq!(called.calls, CALLS_OF_THREAD, "{family:?}: {thread:?}");
            let own: Vec<i64> = called.tags.iter().copied().collect();
            assert_eq!(own.len(), 1, "{family:?}: {thread:?} has tags {own:?}");
            tags.extend(own);
        }
        assert_eq!(tags.len(), THREADS, "{family:?}: each thread has its tag");
        let locations: BTreeSet<u64> = threads.keys().map(|(thread, _)| *thread).collect();
        assert!(locations.len() == AT_ONCE, "{family:?}: {locations:?}");

        running.tell("end");
        let ended = running.end();
        let right = format!(
            "rank 0: {THREADS} threads, {} messages right\n",
            4 * THREADS
        );
        assert_eq!(ended.code(), 0, "{family:?}");
        assert_eq!(ended.stdout(), [right], "{family:?}");
        ended.assert_nothing_left();
        let report = ended.report();
        checks::complete(&report, 1);
        checks::same_calls(&report, &ended.own_counts().calls);
        checks::same_traffic(&report, &ended.own_counts());
    }
}
