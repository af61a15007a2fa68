//! Calls are counted where the program makes them: at known lines, as often as it does.

use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths::sources;
use invivo_e2e::programs::{Language, call_sites, in_language, marked_line};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;

const RANKS: u32 = 2;
/// What the program's library calls.
const HALO: &str = "MPI_Sendrecv_replace";

/// What a row says: calls, ranks, bytes sent, bytes received.
type Row = (u64, u64, u64, u64);

/// Rows by function and place: the line, or the file where there is no line.
fn rows(answer: &Value) -> BTreeMap<(String, String), Row> {
    let mut rows = BTreeMap::new();
    for row in answer["rows"].as_array().expect("rows") {
        let text = |pointer: &str| row.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        let function = text("/calls/function").to_owned();
        let lines = row["functions"].as_array().map_or(&[][..], Vec::as_slice);
        let lines: Vec<&str> = lines.iter().filter_map(|of| of["line"].as_str()).collect();
        let place = match lines.join(" in ") {
            lines if lines.is_empty() => text("/file").to_owned(),
            lines => lines,
        };
        let of = |what: &str| number(row, &format!("/calls/{what}"));
        let row = (
            of("calls"),
            number(row, "/ranks"),
            of("bytes_out"),
            of("bytes_in"),
        );
        let before = rows.insert((function, place), row);
        assert_eq!(before, None, "two rows of one place: {answer}");
    }
    rows
}

/// Calls and bytes of all rows by function.
fn by_function<'a>(rows: impl Iterator<Item = (&'a str, Row)>) -> BTreeMap<&'a str, Row> {
    let mut sums: BTreeMap<&str, Row> = BTreeMap::new();
    for (function, (calls, _, out, into)) in rows {
        let sum = sums.entry(function).or_default();
        (sum.0, sum.2, sum.3) = (sum.0 + calls, sum.2 + out, sum.3 + into);
    }
    sums
}

/// The rows, once the program has made its last call and all places have names.
fn answer_when_done(job: &mut Running, last: &str, calls: u64) -> Value {
    job.wait_for_answers();
    job.until("all calls, with names", |job| {
        let answer = job.client().try_json(&["functions", "--by", "site"])?;
        let of_last = rows(&answer)
            .into_iter()
            .filter(|((function, _), _)| function == last);
        let is_done = of_last.map(|(_, row)| row.0).sum::<u64>() == calls;
        (is_done && number(&answer, "/rows_unnamed") == 0).then_some(answer)
    })
}

/// The sums over all sites are those of the function table.
fn sums_are_the_table(job: &Running, sites: &BTreeMap<(String, String), Row>) {
    let table = job.client().json(&["functions"]);
    let of = |row: &Value, what: &str| number(row, &format!("/{what}"));
    let table = table["rows"].as_array().expect("rows").iter().map(|row| {
        let function = row["function"].as_str().expect("a name");
        (
            function,
            (
                of(row, "calls"),
                0,
                of(row, "bytes_out"),
                of(row, "bytes_in"),
            ),
        )
    });
    let sites = sites
        .iter()
        .map(|((function, _), row)| (function.as_str(), *row));
    assert_eq!(by_function(sites), by_function(table));
}

/// What both languages do, at their lines.
fn common(line: impl Fn(&str) -> String) -> Vec<(&'static str, String, Row)> {
    let double = 8;
    let both = u64::from(RANKS);
    let sum = |calls: u64| {
        (
            both * calls,
            both,
            both * calls * double,
            both * calls * double,
        )
    };
    vec![
        ("MPI_Init", line("begin"), (both, both, 0, 0)),
        ("MPI_Allreduce", line("sum"), sum(30)),
        ("MPI_Allreduce", line("one sum"), sum(20)),
        ("MPI_Allreduce", line("next sum"), sum(20)),
        ("MPI_Send", line("send"), (50, 1, 50 * 4 * double, 0)),
        ("MPI_Send", line("other send"), (7, 1, 7 * 4 * double, 0)),
        ("MPI_Recv", line("receive"), (57, 1, 0, 57 * 4 * double)),
        // A receive counts its bytes where it was posted.
        (
            "MPI_Irecv",
            line("post"),
            (both * 12, both, 0, both * 12 * double),
        ),
        (
            "MPI_Isend",
            line("posted send"),
            (both * 12, both, both * 12 * double, 0),
        ),
        ("MPI_Waitall", line("wait"), (both * 12, both, 0, 0)),
    ]
}

fn known(
    family: Family,
    command: &[OsString],
    (last, calls): (&str, u64),
    expected: Vec<(&str, String, Row)>,
) {
    let mut job = Job::observed(family, RANKS, command).start();
    let answer = answer_when_done(&mut job, last, calls);
    let found = rows(&answer);
    for (function, place, row) in &expected {
        // What the compiler has inlined stands in the function that it was inlined into as well.
        let inlined = format!("{place} in ");
        let is_it = |(name, at): &(String, String)| {
            name == function && (at == place || at.starts_with(&inlined))
        };
        let of_place: Vec<&Row> = found
            .iter()
            .filter_map(|(key, row)| is_it(key).then_some(row))
            .collect();
        assert_eq!(of_place, [row], "{family:?} {function} {place}: {found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{family:?}: {found:#?}");
    assert_eq!(number(&answer, "/rows_left_out"), 0);
    sums_are_the_table(&job, &found);

    // As text, and cut: what is not shown is summed.
    let text = |words: &[&str]| {
        let output = job.client().run(words);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let whole = text(&["functions", "--by", "site"]);
    for (function, place, _) in &expected {
        let innermost = place.split(" in ").next().unwrap_or(place);
        let is_row = |line: &str| line.contains(function) && line.contains(innermost);
        assert!(
            whole.lines().any(is_row),
            "no {function} at {place}:\n{whole}"
        );
    }
    let cut = text(&["functions", "--by", "site", "--rows", "3"]);
    let rest = format!("... and {} rows with less time: ", expected.len() - 3);
    assert!(cut.contains(&rest), "{cut}");

    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
}

/// The one line of the program's library that calls MPI.
fn line_of_halo() -> String {
    let source = std::fs::read_to_string(sources().join("call_sites/halo.c")).expect("a source");
    let at = source
        .lines()
        .position(|line| line.contains(HALO))
        .expect("a call");
    format!("halo.c:{}", at + 1)
}

fn in_c(family: Family) {
    let line = |mark: &str| marked_line("call_sites", Language::C, mark);
    let both = u64::from(RANKS);
    let mut expected = common(line);
    // What is inlined at two places is at two places.
    let inlined = |phase: &str| format!("{} in {}", line("meet"), line(phase));
    expected.push(("MPI_Barrier", inlined("first phase"), (both, both, 0, 0)));
    expected.push((
        "MPI_Barrier",
        inlined("second phase"),
        (3 * both, both, 0, 0),
    ));
    let bytes = 9 * both * 8;
    let row = (9 * both, both, bytes, bytes);
    expected.push((HALO, line_of_halo(), row));
    known(family, &call_sites(family), (HALO, 9 * both), expected);
}

fn in_fortran(family: Family) {
    let line = |mark: &str| marked_line("call_sites", Language::Fortran, mark);
    let command = in_language(family, "call_sites", Language::Fortran, &[]);
    let last = ("MPI_Waitall", 12 * u64::from(RANKS));
    known(family, &command, last, common(line));
}

#[test]
fn calls_are_counted_at_their_lines() {
    in_c(Family::Ompi);
}

#[test]
fn calls_are_counted_at_their_lines_on_mpich() {
    in_c(Family::Mpich);
}

/// Behind the MPI library's own layer, in which the wrapper's return address lies.
#[test]
fn calls_of_fortran_are_counted_at_their_lines() {
    in_fortran(Family::Ompi);
}

#[test]
fn calls_of_fortran_are_counted_at_their_lines_on_mpich() {
    in_fortran(Family::Mpich);
}

/// Sites are noted while somebody wants to know, and an answer says when nobody did.
#[test]
fn sites_that_are_off_are_said_to_be_off() {
    let command = call_sites(Family::Ompi);
    let options = ["--analyses", "functions"];
    let mut job = Job::observed(Family::Ompi, RANKS, &command)
        .options(options)
        .start();
    job.wait_for_answers();
    let answer = job.client().json(&["functions", "--by", "site"]);
    assert_eq!(answer["rows"].as_array().map(Vec::len), Some(0), "{answer}");
    assert_eq!(
        number(&answer, "/analysis/off"),
        u64::from(RANKS),
        "{answer}"
    );
    let text = job.client().run(&["functions", "--by", "site"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("invivo analyses on sites"), "{text}");
    job.tell("stop");
    assert_eq!(job.end().code(), 0);
}
