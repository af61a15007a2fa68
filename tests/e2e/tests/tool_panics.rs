//! Panics in tool processes: they are reported, and the application goes on undisturbed.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths::invivo_with_hooks;
use invivo_e2e::programs::program;
use invivo_e2e::results::report::Report;

const RANKS: u32 = 3;
/// Of a node or root that panicked.
const WENT_ON: &str = "failed in itself, 1 times, and went on";

/// Lets one process of this kind panic, and waits for its line.
fn panic_in(running: &mut Running, kind: &str, title: &str) {
    running.tell(kind);
    running.until("a panic", |job| {
        let says = |line: &String| line.contains(title) && line.contains("failed in itself");
        job.our_lines().iter().any(says).then_some(())
    });
}

/// Waits until the ranks have made more calls that are recorded.
fn more_calls(running: &mut Running) {
    let before = running.client().entered();
    running.until("more calls", |job| {
        (job.client().entered() > before + 1000).then_some(())
    });
}

/// The notes of the report name the process and that it went on.
fn assert_notes(report: &Report, wanted: [&str; 2]) {
    for words in wanted {
        let says = |note: &String| note.contains(words);
        assert!(report.notes.iter().any(says), "{words}: {:?}", report.notes);
    }
}

/// A panic in a place, in a node and in the root, one after the other, in a job that communicates
/// as fast as it can.
fn each_role_panics(family: Family) {
    let mut running = Job::observed(family, RANKS, &program(family, "message_loop", []))
        .fan_in("1,2")
        .by(invivo_with_hooks())
        .behind(r#"export INVIVO_PANIC="$LOG_DIR"; exec "$@""#)
        .start();
    running.wait_for_answers();
    running.until("calls", |job| (job.client().entered() > 1000).then_some(()));

    panic_in(&mut running, "place", "tool place");
    panic_in(&mut running, "node", "analysis node");
    panic_in(&mut running, "root", "the root");

    // All three places answer, and two of them still have all their records.
    more_calls(&mut running);
    let status = running.client().json(&["status"]);
    assert_eq!(
        number(&status, "/coverage/members_missing"),
        0,
        "{family:?}: {status}"
    );
    running.tell("stop");

    let ended = running.end();
    ended.assert_printed(|rank| format!("rank {rank}: 0 wrong\n"));
    let report = ended.report();
    checks::conserved(&report, RANKS);
    assert_notes(&report, ["tool place", WENT_ON]);

    let ledger = &report.coverage.ledger;
    let lost = ledger.dropped_by_place;
    assert!(lost > 0 && lost < ledger.entered, "{family:?}: {ledger:?}");
    ended.assert_nothing_left();
}

#[test]
fn a_panic_disturbs_no_other_process() {
    each_role_panics(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn a_panic_disturbs_no_other_process_on_mpich() {
    each_role_panics(Family::Mpich);
}

/// Place and root are one process: the one goes on when the other panics.
fn one_role_panics(family: Family) {
    let mut running = Job::observed(family, RANKS, &program(family, "message_loop", []))
        .fan_in("node")
        .by(invivo_with_hooks())
        .behind(r#"export INVIVO_PANIC="$LOG_DIR"; exec "$@""#)
        .start();
    running.wait_for_answers();

    panic_in(&mut running, "root", "the root");
    more_calls(&mut running);
    panic_in(&mut running, "place", "tool place");
    let status = running.client().json(&["status"]);
    let answered = number(&status, "/coverage/ranks_reporting");
    assert_eq!(answered, u64::from(RANKS), "{family:?}: {status}");
    running.tell("stop");

    let ended = running.end();
    assert_eq!(ended.code(), 0, "{family:?}");
    ended.assert_printed(|rank| format!("rank {rank}: 0 wrong\n"));
    let report = ended.report();
    checks::conserved(&report, RANKS);
    assert_notes(&report, ["tool place 3 failed in itself", WENT_ON]);
    let ledger = &report.coverage.ledger;
    // On a busy machine a rank may find no packet free, which it counts itself.
    let dropped = ledger.dropped_by_place + ledger.dropped.no_packet;
    assert_eq!(dropped, ledger.entered, "{family:?}");
    ended.assert_nothing_left();
}

#[test]
fn a_panic_of_one_role_leaves_the_other() {
    one_role_panics(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn a_panic_of_one_role_leaves_the_other_on_mpich() {
    one_role_panics(Family::Mpich);
}
