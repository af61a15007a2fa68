//! Quantiles and histograms of durations and sizes, beside the log of a program that waits for
//! known times.

use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::call_log::{Call, CallLog};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language, marked_line};
use serde_json::Value;

const ROUNDS: u64 = 1600;
/// What lies between a program's log and a record, in ns.
const LOGGED_NS: u64 = 60_000;
/// Calls at which a rank lost its core in between.
const DISTURBED: usize = 4;

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

/// That a row's durations are those of the log, which are in order.
fn are_as_logged(row: &Value, logged: &[u64]) {
    let durations = &row["durations"];
    assert_eq!(number(durations, "/count"), logged.len() as u64, "{row:#}");
    let error = durations["error"].as_f64().expect("an error");
    assert!((1.0 / 128.0..=1.0 / 8.0).contains(&error), "{row:#}");
    for (quantile, share) in [("p50", 50), ("p90", 90), ("p99", 99)] {
        let place = (logged.len() * share).div_ceil(100) - 1;
        let told = number(durations, &format!("/{quantile}")) as f64;
        let near = |place: usize| logged[place.min(logged.len() - 1)] as f64;
        let least = near(place.saturating_sub(DISTURBED)) * (1.0 - error);
        let most = near(place + DISTURBED) * (1.0 + error);
        let within = least - LOGGED_NS as f64..=most + LOGGED_NS as f64;
        assert!(
            within.contains(&told),
            "{quantile}: {told} ns, {within:?} logged: {row:#}"
        );
    }
    // Below each edge lie as many as in the log.
    let (mut below, mut edge) = (0, 0);
    let log_below = |ns: u64| logged.partition_point(|one| *one < ns);
    for bin in durations["bins"].as_array().expect("bins") {
        let of = |what: &str| number(bin, &format!("/{what}"));
        for at in [edge, of("least")] {
            let fewest = log_below(at.saturating_sub(LOGGED_NS)).saturating_sub(DISTURBED);
            let most = log_below(at + LOGGED_NS) + DISTURBED;
            assert!(
                (fewest..=most).contains(&below),
                "{below} below {at}: {row:#}"
            );
        }
        below += of("count") as usize;
        edge = of("most") + 1;
    }
    assert_eq!(below, logged.len());
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
    let quarter = ROUNDS / 4;
    assert_eq!(
        sizes(row),
        [(8, 2 * quarter), (1024, quarter), (1 << 20, quarter)]
    );
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
            assert_eq!(sizes(row), [(1 << 20, quarter)]);
        } else {
            assert_eq!(line, marked_line("durations", Language::C, "any"));
            let mut small = [logged(&log, Some(8)), logged(&log, Some(1024))].concat();
            small.sort_unstable();
            are_as_logged(row, &small);
            assert_eq!(sizes(row), [(8, 2 * quarter), (1024, quarter)]);
        }
    }

    of_a_part(&job, &log);
    are_shown(&job);
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    ended.assert_nothing_left();
}

/// Of the pieces of the run that an interval touches.
fn of_a_part(job: &Running, log: &CallLog) {
    let begin_ns = number(&job.client().json(&["iterations"]), "/begin_ns");
    let part = [
        "functions",
        "--histogram",
        "MPI_Recv",
        "--interval",
        "1500ms..1600ms",
    ];
    let answer = job.client().json(&part);
    let [from, to] = ["from", "to"].map(|of| number(&answer, &format!("/interval/{of}_ns")));
    // One piece, or two where the edge of one lies in the interval.
    assert!(to - from < 2_500_000_000, "{answer:#}");
    // Records are taken a little later than their calls end: some belong to the next piece.
    let calls = log.calls.iter();
    let within = |call: &&Call| (begin_ns + from..begin_ns + to).contains(&call.end_ns);
    let mut logged: Vec<u64> = calls
        .filter(within)
        .map(|call| call.end_ns - call.begin_ns)
        .collect();
    logged.sort_unstable();
    let row = &answer["rows"][0];
    let known = number(row, "/durations/count") as usize;
    assert_eq!(known as u64, number(row, "/calls"));
    assert!(
        known.abs_diff(logged.len()) < 200,
        "{known} known, {} logged: {answer:#}",
        logged.len()
    );
    // More than half take 1 ms, where nobody has the processors meanwhile: the middle of those
    // that the log has within a fifth of them.
    let at = |share: usize| logged[logged.len() * share / 100] as f64;
    let expected = at(40) * 0.9 - LOGGED_NS as f64..at(60) * 1.1 + LOGGED_NS as f64;
    let median = number(row, "/durations/p50") as f64;
    assert!(expected.contains(&median), "{expected:?}: {answer:#}");
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
        bars.contains("MPI_Recv: 1,600 calls; half up to ") && bars.contains("8 B "),
        "{bars}"
    );
    assert!(bars.contains("1.00 MiB") && bars.contains("####"), "{bars}");
    let part = said(&["functions", "--histogram", "MPI_Recv", "--since", "1h"]);
    assert!(
        part.contains("from 0 s to") && part.contains("MPI_Recv: 1,600 calls; half"),
        "{part}"
    );
    let line = ["functions", "--by", "site", "--histogram", "MPI_Recv"];
    let one = said(&[&line[..], &["--rows", "1", "--histogram", "MPI_Bcast"]].concat());
    assert_eq!(one.matches("calls; half up to").count(), 1, "{one}");
    assert!(one.contains("no call of MPI_Bcast has ended"), "{one}");
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
