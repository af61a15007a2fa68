//! Quantiles and histograms of durations and sizes, beside the log of a program that waits for
//! known times.

use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::call_log::CallLog;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language, marked_line};
use serde_json::Value;

const ROUNDS: u64 = 400;
/// Half of a bin, and what lies between a program's log and a record.
const WIDTH: f64 = 1.0 / 32.0;
const LOGGED_NS: f64 = 60_000.0;

/// Rows of one function, when all calls have been taken.
fn rows(job: &mut Running, words: &[&str]) -> Vec<Value> {
    let words = [&["functions", "--histogram", "MPI_Recv"], words].concat();
    job.until("all calls, with names", |job| {
        let answer = job.client().try_json(&words)?;
        let rows = answer["rows"].as_array()?.clone();
        let calls = |row: &Value| {
            let of = row["calls"].as_u64();
            of.unwrap_or_else(|| number(row, "/calls/calls"))
        };
        let is_done = rows.iter().map(calls).sum::<u64>() == ROUNDS;
        let unnamed = answer["rows_unnamed"].as_u64().unwrap_or(0);
        (is_done && unnamed == 0).then_some(rows)
    })
}

/// The durations in order, of receives of so many bytes; of all where none is given.
fn logged(log: &CallLog, bytes: Option<u64>) -> Vec<u64> {
    let calls = log.calls.iter();
    let calls = calls.filter(|call| call.function == "MPI_Recv");
    let calls = calls.filter(|call| bytes.is_none_or(|bytes| call.bytes == bytes));
    let mut all: Vec<u64> = calls.map(|call| call.end_ns - call.begin_ns).collect();
    all.sort_unstable();
    all
}

/// That a row's durations are those of the log.
fn are_as_logged(row: &Value, logged: &[u64]) {
    let durations = &row["durations"];
    assert_eq!(number(durations, "/count"), logged.len() as u64, "{row:#}");
    for (quantile, share) in [("p50", 50), ("p90", 90), ("p99", 99)] {
        let place = (logged.len() * share).div_ceil(100);
        let of_log = logged[place - 1] as f64;
        let told = number(durations, &format!("/{quantile}")) as f64;
        let within = of_log * WIDTH + LOGGED_NS;
        assert!(
            (told - of_log).abs() <= within,
            "{quantile}: {told} ns, logged {of_log} ns: {row:#}"
        );
    }
    // Each bin holds what the log has there; calls near its edges may be in the next one.
    let mut all = 0;
    for bin in durations["bins"].as_array().expect("bins") {
        let of = |what: &str| number(bin, &format!("/{what}"));
        let near = |from: f64, to: f64| {
            let calls = logged.iter().map(|&ns| ns as f64);
            calls.filter(|ns| (from..=to).contains(ns)).count() as u64
        };
        let (least, most) = (of("least") as f64, of("most") as f64);
        let surely = near(least + LOGGED_NS, most - LOGGED_NS);
        let at_most = near(least - LOGGED_NS, most + LOGGED_NS);
        assert!(
            (surely..=at_most).contains(&of("count")),
            "{bin}: {surely} to {at_most}"
        );
        all += of("count");
    }
    assert_eq!(all, logged.len() as u64);
}

/// Least values of the bins of sizes, and how many there are of each.
fn sizes(row: &Value) -> Vec<(u64, u64)> {
    let bins = row["sizes"]["bins"].as_array().expect("bins");
    let of = |bin: &Value| (number(bin, "/least"), number(bin, "/count"));
    bins.iter().map(of).collect()
}

fn distributions_are_those_of_the_program(family: Family) {
    let command = in_language(family, "durations", Language::C, &[&ROUNDS.to_string()]);
    let mut job = Job::observed(family, 2, &command).start();
    job.wait_for_notes("done");
    let log = CallLog::read(&job.logs(), 0);

    let all = rows(&mut job, &[]);
    let [row] = &all[..] else { panic!("{all:#?}") };
    are_as_logged(row, &logged(&log, None));
    assert_eq!(sizes(row), [(8, 200), (1024, 100), (1 << 20, 100)]);
    assert_eq!(number(row, "/sizes/p50"), 8);
    assert_eq!(number(row, "/sizes/p99"), 1 << 20);

    // By the place in the program.
    let sites = rows(&mut job, &["--by", "site"]);
    assert_eq!(sites.len(), 2, "{sites:#?}");
    for site in &sites {
        let line = site["functions"][0]["line"].as_str().expect("a line");
        let row = &site["calls"];
        if line == marked_line("durations", Language::C, "largest") {
            are_as_logged(row, &logged(&log, Some(1 << 20)));
            assert_eq!(sizes(row), [(1 << 20, 100)]);
        } else {
            assert_eq!(line, marked_line("durations", Language::C, "any"));
            assert_eq!(sizes(row), [(8, 200), (1024, 100)]);
        }
    }

    are_shown(&job);
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    ended.assert_nothing_left();
}

/// As a table and as bars; of a part of the run as of the whole; and what is not known is said.
fn are_shown(job: &Running) {
    let said = |words: &[&str]| {
        let output = job.client().run(words);
        let texts =
            [output.stdout, output.stderr].map(|of| String::from_utf8_lossy(&of).into_owned());
        texts.concat()
    };
    let table = said(&["functions"]);
    assert!(table.contains("median") && table.contains("p99"), "{table}");
    let bars = said(&["functions", "--histogram", "mpi_recv", "--ascii"]);
    assert!(
        bars.contains("MPI_Recv: 400 calls, half up to ") && bars.contains("8 B "),
        "{bars}"
    );
    assert!(bars.contains("1.00 MiB") && bars.contains("####"), "{bars}");
    let part = said(&["functions", "--histogram", "MPI_Recv", "--since", "1h"]);
    assert!(
        part.contains("from 0 s to") && part.contains("MPI_Recv: 400 calls, half"),
        "{part}"
    );
    let none = said(&["functions", "--histogram", "MPI_Bcast"]);
    assert!(
        none.contains("no call of MPI_Bcast has ended") && none.contains("MPI_Recv"),
        "{none}"
    );
}

#[test]
fn distributions_are_those_of_the_program_on_open_mpi() {
    distributions_are_those_of_the_program(Family::Ompi);
}

#[test]
fn distributions_are_those_of_the_program_on_mpich() {
    distributions_are_those_of_the_program(Family::Mpich);
}
