//! Checks that hold of every report, and comparisons of a report with independent counts.
//!
//! A failing comparison shows the differences alone: the tables are long.

use crate::job::Ended;
use crate::logs::counts::{Calls, Counts, Traffic, recorded, without_large_counts};
use crate::results::report::{FunctionRow, Report, traffic};
use std::collections::BTreeMap;
use std::fmt::{Debug, Write};

/// An observed run has the status and the outputs of the bare run, and has left nothing.
pub fn same_for_the_user(bare: &Ended, observed: &Ended) {
    assert_eq!(bare.stdout(), observed.stdout(), "standard outputs");
    assert_eq!(bare.stderr(), observed.stderr(), "standard error outputs");
    assert_eq!(bare.code(), observed.code(), "exit status");
    observed.assert_nothing_left();
}

/// Every tool process answered, and the ledger accounts for every record.
pub fn conserved(report: &Report, ranks: u32) {
    let coverage = &report.coverage;
    assert_eq!(report.job.ranks, ranks, "ranks of the job");
    assert_eq!(
        (coverage.ranks, coverage.ranks_reporting),
        (ranks, ranks),
        "ranks and ranks reporting: {coverage:?}"
    );
    assert_eq!(
        coverage.members_missing, 0,
        "tool processes are missing: {coverage:?}"
    );
    assert_eq!(
        coverage.packets_refused, 0,
        "packets were refused: {coverage:?}"
    );

    let ledger = &coverage.ledger;
    assert_eq!(
        ledger.entered,
        ledger.placed(),
        "entered = open + in flight + kept + reduced + dropped + reset + not selected: {ledger:?}"
    );

    // By rank and merged in the tree: two ways to the same number.
    let rows: u64 = report.functions.iter().map(|row| row.calls).sum();
    let totals: u64 = report.totals.iter().map(|row| row.calls).sum();
    assert_eq!(rows, totals, "calls by rank and of all ranks");
    same_totals(report);

    let elsewhere =
        ledger.dropped.all() + ledger.open + ledger.in_flight + ledger.reset + ledger.not_selected;
    // A record that a place drops was analysed before (no room to keep it) or was not (it could not
    // be read).
    let found = rows + elsewhere;
    assert!(
        found <= ledger.entered && ledger.entered <= found + ledger.dropped_by_place,
        "{rows} calls in the table: {ledger:?}"
    );
}

/// The totals, which were merged in the tree, are the sums of the rows by rank: whole numbers
/// exactly, times to the nanosecond, standard deviations within the error of floating point.
fn same_totals(report: &Report) {
    // Seconds in the report were whole nanoseconds before: rounding gives them back exactly.
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    let exact = |row: &FunctionRow| {
        let times = [row.seconds, row.min_seconds, row.max_seconds].map(ns);
        (
            row.function.clone(),
            (times, row.calls, row.bytes_out, row.bytes_in, row.clipped),
        )
    };

    let folded = report.folded();
    let (expected, found) = (folded.iter().map(exact), report.totals.iter().map(exact));
    same(
        "totals and the sums of the rows by rank",
        &expected.collect(),
        &found.collect(),
    );

    // Equality is not possible here: the order of merging changes the last bits.
    for expected in &folded {
        let found = report
            .totals
            .iter()
            .find(|row| row.function == expected.function)
            .expect("the same functions");

        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 + 1e-6 * expected.max_seconds;
        assert!(
            near(found.mean_seconds, expected.mean_seconds)
                && near(found.stddev_seconds, expected.stddev_seconds),
            "{found:?} and {expected:?}"
        );

        let longest = report.functions.iter().find(|row| {
            (row.rank, &row.function) == (Some(found.max_rank), &found.function)
                && row.max_seconds == found.max_seconds
        });
        assert!(
            longest.is_some() || found.calls == 0,
            "the rank of the longest call: {found:?}"
        );
    }
}

/// The job has ended, every rank through `MPI_Finalize`, and no record was lost.
pub fn complete(report: &Report, ranks: u32) {
    conserved(report, ranks);
    let ledger = &report.coverage.ledger;
    assert!(ledger.entered > 0, "a shim that records nothing");
    assert_eq!(
        ledger.kept + ledger.reduced,
        ledger.entered,
        "nothing is lost: {ledger:?}"
    );
    assert_eq!(
        report.ended.len(),
        0,
        "every rank went through MPI_Finalize: {:?}",
        report.ended
    );
}

/// No rank was in MPI for longer than the job was observed, initialisation left out. For programs
/// with one thread per rank.
pub fn within_the_time_observed(report: &Report) {
    let mut in_mpi: BTreeMap<u32, f64> = BTreeMap::new();
    let rows = report.functions.iter();
    for row in rows.filter(|row| !matches!(row.function.as_str(), "MPI_Init" | "MPI_Init_thread")) {
        *in_mpi.entry(row.rank.unwrap_or_default()).or_default() += row.seconds;
    }
    for (rank, seconds) in in_mpi {
        assert!(
            seconds <= report.observed_seconds,
            "rank {rank}: {seconds} s in MPI of {} s observed",
            report.observed_seconds
        );
    }
}

/// The report has exactly the calls that were counted, of the functions that are recorded.
pub fn same_calls(report: &Report, counted: &Calls) {
    let counted = recorded(counted);
    assert!(!counted.is_empty(), "nothing was counted");
    same("calls by rank and function", &counted, &report.calls());
}

/// The report has exactly the calls that were counted, of the functions that were counted; it may
/// have others.
pub fn same_calls_where_counted(report: &Report, counted: &Calls) {
    assert!(!counted.is_empty(), "nothing was counted");
    same_calls_where_counted_by(
        "calls by rank and function",
        counted,
        &without_large_counts(&report.calls()),
    );
}

/// As [`same_calls_where_counted`], of any two tables of calls; queries are left out.
pub fn same_calls_where_counted_by(what: &str, counted: &Calls, reported: &Calls) {
    let counted = recorded(counted);
    let reported = reported.iter().filter(|(key, _)| counted.contains_key(key));
    same(
        what,
        &counted,
        &reported.map(|(key, calls)| (key.clone(), *calls)).collect(),
    );
}

/// The communication matrix is exactly what the senders and the receivers counted.
pub fn same_traffic(report: &Report, counts: &Counts) {
    same(
        "messages and bytes sent",
        &counts.sent,
        &traffic(&report.matrix.sent),
    );
    same(
        "messages and bytes received",
        &counts.received,
        &traffic(&report.matrix.received),
    );
    let unresolved = report.matrix.unresolved;
    assert_eq!(
        (unresolved.messages, unresolved.bytes),
        (0, 0),
        "traffic with an unknown peer"
    );
}

/// The report of a program that may communicate faster than its records are taken: what is missing
/// is exactly what was dropped and counted, and nothing is in it that the program did not count.
pub fn same_but_for_drops(report: &Report, ranks: u32, counts: &Counts) {
    conserved(report, ranks);
    assert!(
        report.ended.is_empty(),
        "every rank went through MPI_Finalize: {:?}",
        report.ended
    );
    let dropped = report.coverage.ledger.dropped.all();
    // Without drops the strict comparison holds, and nothing weaker is accepted.
    if dropped == 0 {
        complete(report, ranks);
        same_calls(report, &counts.calls);
        same_traffic(report, counts);
        return;
    }

    let (counted, reported) = (recorded(&counts.calls), report.calls());
    for (key, calls) in &reported {
        assert!(
            calls <= counted.get(key).unwrap_or(&0),
            "{key:?}: {calls} reported, fewer counted"
        );
    }

    // Only the sums can be compared: drops are counted without their function.
    let missing = counted.values().sum::<u64>() - reported.values().sum::<u64>();
    assert_eq!(
        missing, dropped,
        "calls that are missing and calls that were dropped"
    );

    let found = traffic(&report.matrix.sent);
    for (between, (messages, bytes)) in &found {
        // Which messages were dropped is not counted, so that the program's counts are upper
        // bounds.
        let (all_messages, all_bytes) = counts.sent.get(between).copied().unwrap_or_default();
        assert!(
            *messages <= all_messages && *bytes <= all_bytes,
            "{between:?}: more reported than sent"
        );
    }
    assert!(!found.is_empty(), "not everything was dropped");
}

/// All that was sent was received. For programs that receive every message.
pub fn all_received(sent: &Traffic, received: &Traffic) {
    same("sent and received", sent, received);
}

/// Compares two tables, and panics with the rows in which they differ.
pub fn same<K: Ord + Debug, V: PartialEq + Debug>(
    what: &str,
    counted: &BTreeMap<K, V>,
    reported: &BTreeMap<K, V>,
) {
    let mut differences = String::new();
    let mut number = 0;
    // Keys of both tables, each once: a row that only the report has is a difference as well.
    for key in counted
        .keys()
        .chain(reported.keys().filter(|key| !counted.contains_key(key)))
    {
        let (expected, found) = (counted.get(key), reported.get(key));
        if expected != found {
            number += 1;
            let _ = writeln!(
                differences,
                "  {key:?}: counted {expected:?}, reported {found:?}"
            );
        }
    }
    assert!(
        differences.is_empty(),
        "{what} differ in {number} places:\n{differences}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u32, u64)]) -> BTreeMap<u32, u64> {
        rows.iter().copied().collect()
    }

    #[test]
    fn equal_tables_are_the_same() {
        same("rows", &table(&[(1, 2), (3, 4)]), &table(&[(1, 2), (3, 4)]));
    }

    #[test]
    #[should_panic(expected = "1: counted Some(2), reported None")]
    fn a_row_that_is_not_reported_differs() {
        same("rows", &table(&[(1, 2)]), &table(&[]));
    }

    #[test]
    #[should_panic(expected = "3: counted None, reported Some(4)")]
    fn a_row_that_was_not_counted_differs() {
        same("rows", &table(&[(1, 2)]), &table(&[(1, 2), (3, 4)]));
    }
}
