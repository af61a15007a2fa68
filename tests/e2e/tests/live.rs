//! The answers of a running job: status, functions, matrix, timeline, snapshots.

use invivo_e2e::checks;
use invivo_e2e::clients::{Client, entered_and_placed, number};
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use invivo_e2e::results::timeline;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// A buffer with room for some seconds of a program that does nothing but call MPI.
const LARGE_BUFFER: &str = "64MiB";
/// The longest that the job may run on a busy machine.
const LIMIT: Duration = Duration::from_secs(240);
/// The length of the timeline.
const SECONDS: &str = "0.05";

/// Checks the ledger of a running job. Its parts are read one after the other, so that a few calls
/// may be between two counters.
fn assert_nearly_conserved(answer: &Value) {
    let (entered, placed) = entered_and_placed(answer);
    assert!(
        entered.abs_diff(placed) <= 1000 + entered / 100,
        "entered {entered}, placed {placed}: {answer}"
    );
}

/// What is asked of a stretch of time that has enough to see: there is little in one in which one
/// of two ranks that wait for each other had no processor.
fn of_a_busy_time<T>(ask: impl FnMut(usize) -> T, is_busy: impl Fn(&T) -> bool) -> T {
    let found = (0..20).map(ask).find(is_busy);
    found.expect("a stretch of time with enough to see")
}

/// The timeline of a job whose ranks communicate all the time: as JSON, as text, and as a file.
fn timeline_of_the_last_seconds(client: &Client, ranks: u32) {
    let asked = of_a_busy_time(
        |_| calls_by_rank(client),
        |calls| calls.values().all(|calls| *calls > 10),
    );
    assert_eq!(asked.len(), ranks as usize);

    let folder = tempfile::tempdir().expect("a directory");
    of_a_busy_time(
        |attempt| {
            picture(
                client,
                ranks,
                &folder.path().join(format!("{attempt}.pftrace")),
            )
        },
        |(calls, arrows)| calls.iter().all(|calls| *calls > 10) && *arrows > 10,
    );
}

/// Calls by rank of the last stretch of time.
fn calls_by_rank(client: &Client) -> BTreeMap<u64, usize> {
    let pages = client.json_stream(&["timeline", "--seconds", SECONDS]);
    let mut calls: BTreeMap<u64, usize> = BTreeMap::new();
    for page in &pages {
        let (from_ns, to_ns) = (number(page, "/from_ns"), number(page, "/to_ns"));
        assert_eq!(to_ns - from_ns, 50_000_000, "the requested length");
        for piece in page["pieces"].as_array().expect("pieces") {
            let records = piece["calls"].as_array().expect("calls");
            for record in records {
                let (end_ns, took_ns) = (number(record, "/end_ns"), number(record, "/duration_ns"));
                assert!(end_ns >= from_ns && end_ns - took_ns < to_ns, "{record}");
            }
            *calls.entry(number(piece, "/location/rank")).or_default() += records.len();
        }
    }
    calls
}

/// A picture of the last stretch of time, and a file: calls of each rank in it, and how many sends
/// lead to their receives.
fn picture(client: &Client, ranks: u32, path: &Path) -> (Vec<u64>, usize) {
    let picture = client.run(&[
        "timeline",
        "--seconds",
        SECONDS,
        "--ascii",
        "-o",
        &path.to_string_lossy(),
    ]);
    let why = String::from_utf8_lossy(&picture.stderr);
    assert!(picture.status.success(), "{why}");

    let picture = String::from_utf8_lossy(&picture.stdout).into_owned();
    for rank in 0..ranks {
        assert!(picture.contains(&format!("\nrank {rank} |")), "{picture}");
    }

    let found = timeline::read(path);
    assert_eq!(found.len(), ranks as usize);
    let calls = found.values().map(|rank| rank.calls).collect();
    (calls, timeline::arrows(path))
}

fn all_questions_are_answered(family: Family) {
    let ranks = 2;
    // It makes a million calls a second, which must still be in the buffer when a busy machine
    // comes to the question.
    let job = Job::observed(family, ranks, &program(family, "message_loop", []));
    let mut running = job.options(["--buffer", LARGE_BUFFER]).limit(LIMIT).start();

    let client = running.client();
    // Calls that the place has taken, and so many that rare ones are among them.
    let status = running.until("calls", |job| {
        let status = job.client().try_json(&["status"])?;
        (number(&status, "/coverage/ledger/kept") > 10_000).then_some(status)
    });
    assert_eq!(number(&status, "/job/ranks"), u64::from(ranks), "{status}");
    assert_eq!(
        number(&status, "/coverage/ranks_reporting"),
        u64::from(ranks),
        "{status}"
    );
    assert_nearly_conserved(&status);

    let functions = client.json(&["functions", "--per-rank"]);
    assert_nearly_conserved(&functions);
    let rows = functions["rows"].as_array().expect("rows");
    let names: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row["function"].as_str())
        .collect();
    for name in [
        "MPI_Isend",
        "MPI_Irecv",
        "MPI_Waitall",
        "MPI_Allreduce",
        "MPI_Bcast",
        "MPI_Init",
    ] {
        assert!(names.contains(name), "{name} is missing: {functions}");
    }

    let by_rank = functions["rank_rows"].as_array().expect("rows per rank");
    let calls = |rows: &[Value]| rows.iter().map(|row| number(row, "/calls")).sum::<u64>();
    assert_eq!(calls(rows), calls(by_rank), "{functions}");

    let matrix = client.json(&["matrix"]);
    let cells = matrix["cells"].as_array().expect("cells");
    let pairs: BTreeSet<(u64, u64)> = cells
        .iter()
        .map(|cell| (number(cell, "/source"), number(cell, "/destination")))
        .collect();
    assert_eq!(
        pairs,
        BTreeSet::from([(0, 1), (1, 0)]),
        "a ring of two: {matrix}"
    );
    for cell in cells {
        let (messages, bytes) = (number(cell, "/sent/messages"), number(cell, "/sent/bytes"));
        assert!(
            messages > 0 && bytes == messages * 64,
            "every message has 64 bytes: {matrix}"
        );
    }

    timeline_of_the_last_seconds(&client, ranks);

    let snapshots = client.json_stream(&["watch", "--interval", "500ms", "--count", "4"]);
    assert_eq!(snapshots.len(), 4);
    for pair in snapshots.windows(2) {
        assert!(number(&pair[0], "/sequence") < number(&pair[1], "/sequence"));
        let entered = |snapshot| number(snapshot, "/coverage/ledger/entered");
        assert!(
            entered(&pair[0]) < entered(&pair[1]),
            "the job goes on while it is watched"
        );
    }

    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    let (report, own) = (ended.report(), ended.own_counts());
    checks::same_but_for_drops(&report, ranks, &own);
}

#[test]
fn a_running_job_answers_all_questions() {
    all_questions_are_answered(Family::Ompi);
}

#[test]
fn a_running_job_on_mpich_answers_all_questions() {
    all_questions_are_answered(Family::Mpich);
}
