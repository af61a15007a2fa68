//! Regions of programs: as often and as long as the programs say themselves, whoever marks them,
//! and however they are left.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Ended, Job, Running};
use invivo_e2e::logs::regions::{Row, written_by};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{
    marking, plain_name, region_exceptions, region_trouble, regions, regions_in_python,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

const RANKS: u32 = 2;
const ROUNDS: u32 = 200;
/// Between the program's reading of its clock and that of the shim, at each begin, end and call,
/// where a rank may lose its processor now and then, spread over all visits.
const READING_NS: u64 = 4_000;
/// The same in Python, where a mark is a call of a foreign function.
const PYTHON_READING_NS: u64 = 30_000;

/// What a rank waits for a processor that it lost between two readings of the clock, in ns.
const SLICE_NS: u64 = 8_000_000;

/// What the ranks have written down, summed, and what is the most that one has.
fn written(logs: &Path, ranks: u32) -> BTreeMap<String, (Row, u64)> {
    let mut all: BTreeMap<String, (Row, u64)> = BTreeMap::new();
    for rank in 0..ranks {
        for (name, row) in written_by(logs, rank) {
            let (sum, most) = all.entry(name).or_default();
            for (sum, number) in sum.iter_mut().zip(row) {
                *sum += number;
            }
            *most = row[1].max(*most);
        }
    }
    all
}

fn rows(answer: &Value) -> &[Value] {
    answer["rows"].as_array().map_or(&[], Vec::as_slice)
}

/// The name that the program's log has for a region.
fn name(row: &Value) -> &str {
    let function = row.pointer("/functions/0/function").and_then(Value::as_str);
    match row["kind"].as_str() {
        Some("marked") => row["name"].as_str().expect("a name"),
        Some("code") => plain_name(function.unwrap_or("?")),
        _ => "others",
    }
}

fn visits(answer: &Value) -> u64 {
    let rows = rows(answer).iter().map(|row| number(row, "/visits"));
    rows.sum::<u64>() + number(answer, "/left_out/visits") + number(answer, "/too_deep")
}

/// The answer when the ranks have been through all that they log.
fn when_done(job: &mut Running, of: impl Fn(&Value) -> u64, expected: u64) -> Value {
    job.until("all visits, with names", |job| {
        let answer = job.client().try_json(&["regions"])?;
        let has_names = number(&answer, "/rows_unnamed") == 0;
        (has_names && of(&answer) == expected).then_some(answer)
    })
}

fn near(what: &str, told: u64, expected: u64, readings_ns: u64) {
    let tolerance = expected / 50 + readings_ns + SLICE_NS;
    assert!(
        told.abs_diff(expected) <= tolerance,
        "{what}: {told} ns instead of {expected}, where readings take {readings_ns}"
    );
}

fn report_of(ended: &Ended) -> Value {
    let report = std::fs::read(ended.directory().join("report.json")).expect("a report");
    serde_json::from_slice(&report).expect("json")
}

/// Names of functions that nobody has asked for are in the report of a job that ends well. A slow
/// machine may take too long for them, which the report says.
#[test]
fn names_are_looked_up_for_the_report() {
    for family in Family::ALL {
        for (language, command) in regions(family, ROUNDS) {
            let what = format!("{family:?} {language}");
            let mut reports = (0..3).map(|_| unasked(family, &command));
            let is_named = |(report, _): &(Value, _)| report["regions"]["rows_unnamed"] == 0;
            let (report, expected) = reports.find(is_named).unwrap_or_else(|| panic!("{what}"));
            let rows = rows(&report["regions"]);
            let told = rows
                .iter()
                .map(|row| (name(row).to_owned(), number(row, "/visits")));
            assert_eq!(told.collect::<BTreeMap<_, _>>(), expected, "{what}");
            assert_eq!(rows.len(), expected.len(), "{what}: {report}");
        }
    }
}

/// The report of a job that nobody has asked for its regions, and their visits as its ranks have
/// written them down.
fn unasked(family: Family, command: &[OsString]) -> (Value, BTreeMap<String, u64>) {
    let mut job = Job::observed(family, RANKS, command).start();
    job.wait_for_answers();
    job.wait_for_notes("done");
    let expected = written(&job.logs(), RANKS).into_iter();
    let expected = expected.map(|(name, (row, _))| (name, row[0]));
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0, "{family:?}");
    ended.assert_nothing_left();
    (report_of(&ended), expected.collect())
}

fn known(job: Job, what: &str, reading_ns: u64) {
    let mut job = job.start();
    job.wait_for_answers();
    job.wait_for_notes("done");
    let expected = written(&job.logs(), RANKS);
    let all = expected.values().map(|(row, _)| row[0]).sum();
    let answer = when_done(&mut job, visits, all);
    let text = job.client().run(&["regions"]).stdout;
    println!("{what}\n{}", String::from_utf8_lossy(&text));
    let told: BTreeMap<&str, &Value> = rows(&answer).iter().map(|row| (name(row), row)).collect();
    assert_eq!(told.len(), rows(&answer).len(), "two rows of one: {answer}");
    let names: Vec<&str> = expected.keys().map(String::as_str).collect();
    assert_eq!(told.keys().copied().collect::<Vec<_>>(), names, "{what}");
    for (name, ([visits, all, own, mpi, own_mpi], most)) in &expected {
        let row = told[name.as_str()];
        let what = |of| format!("{what}: {of} of {name}");
        assert_eq!(number(row, "/visits"), *visits, "{}", what("visits"));
        assert_eq!(number(row, "/ranks"), u64::from(RANKS), "{row}");
        for (field, expected) in [
            ("time_ns", all),
            ("own_ns", own),
            ("mpi_ns", mpi),
            ("own_mpi_ns", own_mpi),
            ("max_ns", most),
        ] {
            // Inner regions have readings of their own within.
            let readings = visits * if field == "own_ns" { 12 } else { 2 };
            near(
                &what(field),
                number(row, &format!("/{field}")),
                *expected,
                readings * reading_ns,
            );
        }
    }
    for loss in ["dropped", "repaired", "too_deep"] {
        assert_eq!(number(&answer, &format!("/{loss}")), 0, "{answer}");
    }
    // Odd ranks compute twice as long.
    assert_eq!(number(told["inner"], "/max_rank"), 1, "{answer}");
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0, "{what}");
    checks::conserved(&ended.report(), RANKS);
    // The report has the same, with the names.
    let report = report_of(&ended);
    let counts = |told: &Value| -> BTreeMap<String, [u64; 2]> {
        let of = |row: &Value| ["visits", "ranks"].map(|of| number(row, &format!("/{of}")));
        let rows = rows(told).iter();
        rows.map(|row| (name(row).to_owned(), of(row))).collect()
    };
    assert_eq!(counts(&report["regions"]), counts(&answer), "{what}");
    for row in rows(&report["regions"]) {
        let (told, live) = (number(row, "/own_ns"), number(told[name(row)], "/own_ns"));
        // The rate of the node's clock is measured ever better.
        assert!(told.abs_diff(live) <= 1_000 + live / 1_000, "{what}: {row}");
    }
    ended.assert_nothing_left();
}

#[test]
fn regions_are_those_of_the_program_on_open_mpi() {
    for (language, command) in regions(Family::Ompi, ROUNDS) {
        known(
            Job::observed(Family::Ompi, RANKS, &command),
            language,
            READING_NS,
        );
    }
}

#[test]
fn regions_are_those_of_the_program_on_mpich() {
    for (language, command) in regions(Family::Mpich, ROUNDS) {
        known(
            Job::observed(Family::Mpich, RANKS, &command),
            language,
            READING_NS,
        );
    }
}

#[test]
fn regions_are_those_of_a_python_program() {
    let command = regions_in_python(ROUNDS);
    let job = Job::observed(Family::Ompi, RANKS, &command);
    known(
        job.env("PYTHONPATH", marking()),
        "Python",
        PYTHON_READING_NS,
    );
}

/// Whatever happens to regions, each visit is in a row, or counted as one that is not; and the
/// program does not notice.
fn trouble(family: Family, mode: &str, command: &[OsString]) {
    let bare = {
        let running = Job::bare(family, RANKS, command).start();
        running.tell("stop");
        running.end()
    };
    assert_eq!(bare.code(), 0, "{family:?} {mode}");
    let mut job = Job::observed(family, RANKS, command).start();
    job.wait_for_answers();
    job.wait_for_notes("done");
    let expected = written(&job.logs(), RANKS);
    let all = expected.values().map(|(row, _)| row[0]).sum();
    let answer = when_done(&mut job, visits, all);
    for row in rows(&answer) {
        // Of many names not all are shown, and those beyond the limit are one row.
        let is_whole = !matches!(mode, "recursion" | "names" | "library_gone");
        if let Some((row_written, _)) = expected.get(name(row)).filter(|_| is_whole) {
            assert_eq!(
                number(row, "/visits"),
                row_written[0],
                "{family:?} {mode}: {row}"
            );
        }
        assert!(number(row, "/own_ns") <= number(row, "/time_ns"), "{row}");
    }
    let repaired = number(&answer, "/repaired");
    let expects_repairs = matches!(mode, "jumps" | "across" | "ends" | "thread_exits");
    println!(
        "{family:?} {mode}: {repaired} repaired, {} too deep",
        answer["too_deep"]
    );
    assert!(
        expects_repairs || repaired <= u64::from(RANKS) * 8,
        "{family:?} {mode}: {answer}"
    );
    if mode == "jumps" {
        // Three functions, each time.
        assert!(repaired >= u64::from(RANKS) * 3_000, "{answer}");
    }
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0, "{family:?} {mode}");
    assert_eq!(ended.stdout(), bare.stdout(), "{family:?} {mode}");
    ended.assert_nothing_left();
}

const MODES: [&str; 12] = [
    "recursion",
    "jumps",
    "across",
    "ends",
    "threads",
    "thread_exits",
    "fork",
    "library",
    "library_gone",
    "names",
    "exit",
    "_exit",
];

#[test]
#[ignore = "long"]
fn trouble_with_regions_is_counted_on_open_mpi() {
    for mode in MODES {
        trouble(Family::Ompi, mode, &region_trouble(Family::Ompi, mode));
    }
    trouble(Family::Ompi, "exceptions", &region_exceptions(Family::Ompi));
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn trouble_with_regions_is_counted_on_mpich() {
    for mode in MODES {
        trouble(Family::Mpich, mode, &region_trouble(Family::Mpich, mode));
    }
    trouble(
        Family::Mpich,
        "exceptions",
        &region_exceptions(Family::Mpich),
    );
}

fn own_ns(answer: &Value) -> u64 {
    rows(answer).iter().map(|row| number(row, "/own_ns")).sum()
}

/// How far an answer may lag behind its question, in ns.
const LAG_NS: u64 = 150_000_000;

/// What is spent in all regions while something is done, and how long that took, from one answer to
/// the next question at least, and from one question to the next answer at most. The program is in
/// some region nearly always.
fn spent(job: &Running, what: impl FnOnce(&Running)) -> (u64, u64, u64) {
    let asked = Instant::now();
    let before = own_ns(&job.client().json(&["regions"]));
    let answered = Instant::now();
    what(job);
    let least = answered.elapsed().as_nanos() as u64;
    let after = own_ns(&job.client().json(&["regions"]));
    let most = asked.elapsed().as_nanos() as u64 + LAG_NS;
    (
        after.saturating_sub(before),
        least.saturating_sub(LAG_NS),
        most,
    )
}

/// Time in which a rank stands still, is not recorded, or in which nobody asks for regions, is in
/// none.
#[test]
fn only_time_that_is_observed_counts() {
    const SECOND: Duration = Duration::from_secs(1);
    let (_, command) = regions(Family::Ompi, 1_000_000).swap_remove(0);
    let mut job = Job::observed(Family::Ompi, RANKS, &command).start();
    job.wait_for_answers();
    job.until("regions", |job| {
        let answer = job.client().try_json(&["regions"])?;
        (own_ns(&answer) > 200_000_000).then_some(())
    });
    let ranks = u64::from(RANKS);
    let (ns, least, most) = spent(&job, |_| std::thread::sleep(3 * SECOND));
    println!("{ns} ns of {least} to {most} on each of {ranks} ranks");
    assert!(ns > least * ranks * 8 / 10 && ns < most * ranks);
    for (off, on) in [
        (vec!["pause"], vec!["resume"]),
        (vec!["record", "off"], vec!["record", "on"]),
        (
            vec!["analyses", "off", "regions"],
            vec!["analyses", "on", "regions"],
        ),
    ] {
        let (ns, _, most) = spent(&job, |job| {
            job.client().json(&off);
            let standing = spent(job, |_| std::thread::sleep(SECOND));
            assert!(standing.0 < 2 * LAG_NS * ranks, "{off:?}: {standing:?}");
            job.client().json(&on);
        });
        println!("{off:?}: {ns} ns of {most}");
        assert!(
            ns < (most - SECOND.as_nanos() as u64 + 2 * LAG_NS) * ranks,
            "{off:?}: {ns} of {most}"
        );
        let (ns, least, _) = spent(&job, |_| std::thread::sleep(SECOND));
        assert!(ns > least * ranks * 7 / 10, "{on:?}: {ns} ns of {least}");
    }
    // Behind a reset, what is open goes on.
    let before = own_ns(&job.client().json(&["regions"]));
    let asked = Instant::now();
    job.client().json(&["reset"]);
    let answer = job.client().json(&["regions"]);
    let since = asked.elapsed().as_nanos() as u64 + 100_000_000;
    let own = own_ns(&answer);
    assert!(own < since * ranks && own < before / 2, "{before} {answer}");
    let (ns, least, _) = spent(&job, |_| std::thread::sleep(SECOND));
    assert!(ns > least * ranks * 7 / 10, "{ns} ns of {least}");
    // An hour of rounds: it is killed here.
    drop(job);
}
