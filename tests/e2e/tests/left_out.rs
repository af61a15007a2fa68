//! What an answer or a report has no room for is counted, and said to be somewhere else.

use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language};

/// Two more than a status names.
const RANKS: u32 = 34;

#[test]
fn ranks_that_a_status_does_not_name_are_counted() {
    let family = Family::Ompi;
    let command = in_language(family, "pcontrol", Language::C, &[]);
    let mut running = Job::observed(family, RANKS, &command).fan_in("34").start();
    running.wait_for_answers();
    running.wait_for_notes("off");
    let client = running.client();
    let status = client.run(&["status"]);
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(
        text.contains("... and 2 more ranks from the middle of this order: invivo functions"),
        "{text}"
    );
    let table = client.run(&["functions", "--per-rank", "--rows", "3"]);
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(text.contains("... and "), "{text}");
    running.tell("go");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    // All rows by rank are in a report of so many.
    let report = ended.report();
    let ranks = report.functions.iter().filter_map(|row| row.rank).max();
    assert_eq!((ranks, report.functions_left_out), (Some(RANKS - 1), 0));
}
