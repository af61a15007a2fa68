//! Calls that last across a whole recording window count with the length of the window.
//!
//! Each is reported as open, and counts when it ends, whether it was entered while recording was on
//! or off.

use invivo_e2e::clients::{Client, number};
use invivo_e2e::interval::{Table, TableRow, table};
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use serde_json::Value;
use std::collections::BTreeMap;

/// Fewer on MPICH, which spins while it waits.
fn ranks(family: Family) -> u32 {
    if family.is_open_mpi() { 3 } else { 2 }
}

/// Records a window while every rank but 0 sits in `MPI_Recv` from before it until after it.
fn window_across_receives(client: &Client, ranks: u32) -> Value {
    let reply = client.all_do(ranks, &["record", "--for", "2s"]);
    let waiting = u64::from(ranks) - 1;
    let part = |name: &str| number(&reply, &format!("/{name}"));
    assert_eq!(
        (part("open"), part("clipped"), part("calls")),
        (waiting, waiting, 0),
        "every receive is open across it, and has ended nowhere in it: {reply}"
    );
    reply
}

/// Exactly one clipped receive of every rank but 0, as long as the window within the clocks' error.
fn assert_one_receive_each(reply: &Value, rows: &Table, ranks: u32) {
    let at = |pointer: &str| number(reply, pointer);
    // The length of the window by the places' own clocks, each with an error.
    let length_ns = at("/to/latest_ns") - at("/from/latest_ns");
    let apart_ns = |edge: &str| {
        let of = |name: &str| at(&format!("/{edge}/{name}"));
        of("latest_ns") - of("earliest_ns") + of("error_ns")
    };

    let error_ns = apart_ns("from") + apart_ns("to");
    assert!(
        error_ns < length_ns / 4,
        "the clocks are too far apart: {reply}"
    );

    let counted: BTreeMap<_, _> = rows
        .iter()
        .map(|((rank, function), row)| ((*rank, function.as_str()), (row.calls, row.clipped)))
        .collect();
    let expected = (1..ranks).map(|rank| ((rank, "MPI_Recv"), (1, 1)));
    assert_eq!(
        counted,
        expected.collect(),
        "calls and clipped calls: {reply}"
    );

    for (key, row) in rows {
        assert!(
            row.time_ns.abs_diff(length_ns) <= error_ns + 1000,
            "{key:?} has {} ns of a window of {length_ns} ns, known within {error_ns} ns: {reply}",
            row.time_ns
        );
    }
}

/// Waits until every rank but 0 is in this receive, with so many open calls in the ledger.
fn wait_for_receives(running: &mut Running, receive: u32, open: u32) {
    let ranks = u64::from(running.ranks());
    let note = format!("receives.{receive}");
    running.until("all receives", |job| {
        let noted = u64::from(job.notes(&note)) == ranks - 1;
        let status = noted
            .then(|| job.client().try_json(&["status"]))
            .flatten()?;
        let of = |pointer: &str| number(&status, pointer);
        let inside = of("/status/ranks/in_mpi") == ranks - 1 && of("/status/ranks/computing") == 1;
        (inside && of("/coverage/ledger/open") == u64::from(open)).then_some(())
    });
}

#[test]
fn a_call_across_a_window_counts_with_its_length() {
    for family in Family::ALL {
        let ranks = ranks(family);
        let mut running = Job::run_by_invivo(family, ranks, &program(family, "recv_twice", []))
            .fan_in("1")
            .options(["--recording", "off"])
            .start();
        running.wait_for_answers();
        let client = running.client();

        // Entered while recording was off: it is known only that the rank is in MPI.
        wait_for_receives(&mut running, 0, 0);
        let reply = window_across_receives(&client, ranks);
        running.tell("send.0");
        let answer = running.until("the receives to be counted", |job| {
            let answer = job.client().try_json(&["functions", "--per-rank"])?;
            let rows = number(&answer, "/rank_rows_total");
            (rows >= u64::from(ranks) - 1).then_some(answer)
        });
        assert_one_receive_each(&reply, &table(&answer), ranks);

        // Entered while it was on.
        client.all_do(ranks, &["record", "on"]);
        running.tell("again");
        wait_for_receives(&mut running, 1, ranks - 1);
        let reply = window_across_receives(&client, ranks);

        running.tell("send.1");
        let ended = running.end();
        ended.assert_printed(|rank| format!("rank {rank} has 1\n"));
        let report = ended.report();

        invivo_e2e::checks::conserved(&report, ranks);
        let rows = report.functions.iter().map(|row| {
            let key = (row.rank.expect("a row by rank"), row.function.clone());
            let value = TableRow {
                calls: row.calls,
                time_ns: (row.seconds * 1e9).round() as u64,
                bytes: row.bytes_out,
                clipped: row.clipped,
            };
            (key, value)
        });
        assert_one_receive_each(&reply, &rows.collect(), ranks);
        ended.assert_nothing_left();
    }
}
