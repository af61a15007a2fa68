//! Processes with more threads than can be measured.

use super::*;
use crate::metrics::threads::Threads;
use std::fs::{self, File};

/// Switches of the thread that rests, for each time that it is let, at least: of its 500 sleeps one
/// that is over before the thread has left the processor is none. Where the processor is virtual
/// and shared, setting the timer is where it is taken away.
const RESTS: u64 = 250;

#[test]
fn a_thread_left_out_before_brings_no_past() {
    let mut program = Program::new();
    program.run("stay");
    program.run("rest");
    program.run("rest");
    let set = set("context-switches,involuntary-switches");
    let mut meter = Meter::with_threads(program.pid(), set, 2).expect("it can be measured");
    assert_eq!(meter.unseen(), 1, "known from the begin on");
    let before = value(&mut meter, SystemMetric::ContextSwitches);
    assert_eq!((meter.threads.count(), meter.unseen()), (2, 1));
    assert!(before < RESTS, "{before}: not its");
    program.run("leave");
    let mut after = before;
    while meter.unseen() > 0 {
        after = value(&mut meter, SystemMetric::ContextSwitches);
    }
    assert_eq!(meter.threads.count(), 2);
    assert!(after - before < RESTS, "{before} {after}");
    // From here on it counts.
    program.run("rest");
    let rested = value(&mut meter, SystemMetric::ContextSwitches);
    assert!(rested - after >= RESTS, "{after} {rested}");
}

#[test]
fn new_threads_beside_none_left_out_have_their_past() {
    let mut program = Program::new();
    let mut meter = meter(&program, "context-switches");
    let own_before = program.run("touch 1");
    let before = value(&mut meter, SystemMetric::ContextSwitches);
    let own_after = program.run("rest");
    let after = value(&mut meter, SystemMetric::ContextSwitches);
    assert!(after - before >= RESTS, "{before} {after}");
    let own = |of: Own| of.voluntary + of.involuntary;
    let expected = own(own_after) - own(own_before);
    // At the edges it waits for us.
    assert!(
        (after - before).abs_diff(expected) <= 4,
        "{before} {after}, {expected} by its own account"
    );
    assert_eq!((meter.threads.count(), meter.unseen()), (2, 0));
}

#[test]
fn threads_that_find_no_descriptor_are_not_silent() {
    let mut program = Program::new();
    let pid = program.pid();
    let (mut held, mut measured) = (Vec::new(), None);
    let mut limited = Apart::answering(|question| {
        let meter = measured.get_or_insert_with(|| {
            limit_descriptors(DESCRIPTORS_LEFT as u64 + 12);
            held.extend(std::iter::from_fn(|| File::open("/dev/null").ok()));
            // For the folder and its first thread.
            held.truncate(held.len() - 2);
            Meter::open(pid, set("context-switches")).expect("it can be measured")
        });
        if question == b"free" {
            held.clear();
        }
        let switches = value(meter, SystemMetric::ContextSwitches);
        let threads = meter.threads.count() as u64;
        let told = [switches, threads, u64::from(meter.unseen())];
        told.map(u64::to_le_bytes).as_flattened().into()
    });
    let limited = limited.as_mut().expect("a child");
    let mut ask = |question: &[u8]| -> [u64; 3] {
        let told = limited.ask(question, LONG).expect("an answer");
        let (numbers, _) = told.as_chunks();
        let numbers: Vec<u64> = numbers.iter().copied().map(u64::from_le_bytes).collect();
        numbers.try_into().expect("three")
    };
    assert_eq!(ask(b"")[1..], [1, 0]);
    program.run("rest");
    let crowded = ask(b"");
    assert_eq!(crowded[1..], [1, 1]);
    let free = ask(b"free");
    assert_eq!(free[1..], [2, 0]);
    assert!(free[0] - crowded[0] < RESTS, "{crowded:?} {free:?}");
    program.run("rest");
    assert!(ask(b"")[0] - free[0] >= RESTS);
}

#[test]
fn without_metrics_of_threads_none_is_unseen() {
    let mut program = Program::new();
    program.run("crowd 3");
    let mut whole = Meter::with_threads(program.pid(), set("page-faults"), 1).expect("it can");
    whole.read();
    assert_eq!(whole.unseen(), 0);
    let mut crowded = Meter::with_threads(program.pid(), set("run-delay"), 1).expect("it can");
    crowded.read();
    assert_eq!(crowded.unseen(), 3);
    program.leave();
    crowded.read();
    assert_eq!(crowded.unseen(), 0, "it is gone");
}

#[test]
fn a_kernel_that_keeps_no_delay_is_found_out() {
    // Its first thread, and one that has not run yet.
    for (first, expected) in [("0 0 0\n", Err(NoMetric::Unsupported)), ("9 0 1\n", Ok(()))] {
        let folder = tempfile::tempdir().expect("a folder");
        for (tid, text) in [("1", first), ("2", "0 0 0\n")] {
            let task = folder.path().join("task").join(tid);
            fs::create_dir_all(&task).expect("room");
            fs::write(task.join("schedstat"), text).expect("room");
        }
        let folder = Folder::at(folder.path()).expect("it is there");
        let mut threads = Threads::new(THREADS_MAX);
        let begun = threads.begin(&folder, SystemMetric::RunDelay);
        assert_eq!(begun, expected, "{first}");
    }
}

#[test]
fn descriptors_are_bounded_and_given_back() {
    let mut program = Program::new();
    program.run("crowd 300");
    let told = apart(|| {
        limit_descriptors(700);
        let before = descriptors();
        let names = "run-delay,involuntary-switches,cpu-migrations";
        let mut crowded = meter(&program, names);
        let open = descriptors() - before;
        assert!(
            crowded.threads.count() == (700 - 128) / 4 && open <= 700 - 128,
            "{open}"
        );
        for _ in 0..100 {
            crowded.read();
        }
        assert_eq!(descriptors() - before, open);
        drop(crowded);
        assert_eq!(descriptors(), before);
        assert_eq!(meter(&program, "run-delay").threads.count(), THREADS_MAX);
        without(program.pid());
        assert_eq!(descriptors(), before);
        b"bounded".into()
    });
    assert_eq!(told, "bounded");
}

#[test]
fn threads_share_the_descriptors_there_are() {
    assert_eq!(room(1, Some(1024)), THREADS_MAX);
    assert_eq!(room(2, Some(1024)), THREADS_MAX);
    assert_eq!(room(9, Some(1024)), 99);
    assert_eq!(room(9, Some(100)), 1);
    assert_eq!(room(9, None), THREADS_MAX);
}
