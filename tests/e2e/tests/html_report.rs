//! The report as a page for browsers, beside the same report as JSON.

use invivo_e2e::job::{Ended, Job};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::program;
use invivo_e2e::results::page::{Page, number};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const RANKS: u32 = 4;
fn invivo_report(report: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(paths::invivo());
    command.arg("report").arg(report).args(options);
    command.output().expect("it runs")
}

/// The page that is made of a job's report, and the report.
fn page_of(ended: &Ended) -> (Page, Value) {
    let report = ended.directory().join("report.json");
    let page = ended.directory().join("made.html");
    let made = invivo_report(&report, &["--html", &page.to_string_lossy()]);
    assert!(made.status.success(), "{made:?}");
    let json = std::fs::read(&report).expect("a report");
    (
        Page::read(&page),
        serde_json::from_slice(&json).expect("json"),
    )
}

/// Counts are exact; of other numbers three digits are shown, of shares one behind the point, and
/// of times no parts of a nanosecond.
fn assert_shows(shown: &str, value: &Value) {
    let value = value.as_f64().expect("a number");
    let rounding = match shown.split_once(' ') {
        None => 0.0,
        Some((_, "%")) => 0.000_51,
        Some((_, "ns")) => 0.51e-9,
        Some(_) => value.abs() * 0.006,
    };
    let is_same = (number(shown) - value).abs() <= rounding;
    assert!(is_same, "{shown:?} is not {value}");
}

/// Every number of the page is that of the JSON; the page fits together and asks nobody.
#[test]
fn the_page_has_the_numbers_of_the_json() {
    let command = program(Family::Ompi, "message_loop", ["2"]);
    let ended = Job::run_by_invivo(Family::Ompi, RANKS, &command).run();
    let (page, json) = page_of(&ended);
    assert_eq!(page.wrong, Vec::<String>::new());

    assert_eq!(page.facts["ranks"], RANKS.to_string());
    assert_eq!(page.facts["at the end"], format!("{RANKS} finished"));
    assert!(
        page.facts["command"].ends_with("message_loop 2"),
        "{page:?}"
    );
    assert_eq!(json["start"]["host"], page.facts["host"].as_str());
    assert_shows(&page.facts["watched for"], &json["observed_seconds"]);

    // Columns: function, calls, time, share, mean, median, p99, sigma, min, max, of rank, sent,
    // received.
    let rows = &page.tables["MPI functions, all ranks"][1..];
    let totals = json["totals"].as_array().expect("rows");
    assert_eq!(rows.len(), totals.len());
    assert!(rows.iter().any(|row| row[0] == "MPI_Waitall"), "{rows:?}");
    for (row, total) in rows.iter().zip(totals) {
        assert_eq!(row[0], total["function"].as_str().expect("a name"));
        for (column, field) in [
            (1, "calls"),
            (2, "seconds"),
            (4, "mean_seconds"),
            (7, "stddev_seconds"),
            (9, "max_seconds"),
            (10, "max_rank"),
            (11, "bytes_out"),
            (12, "bytes_in"),
        ] {
            assert_shows(&row[column], &total[field]);
        }
        let durations = &total["durations"];
        assert_eq!(durations["count"], total["calls"]);
        assert_shows(&row[5], &durations["p50_seconds"]);
        assert_shows(&row[6], &durations["p99_seconds"]);
    }

    let efficiency = &page.tables["Efficiency"];
    for (row, field) in [
        (1, "parallel_efficiency"),
        (2, "load_balance"),
        (3, "communication_efficiency"),
    ] {
        assert_shows(&efficiency[row][1], &json["efficiency"][field]);
    }
    assert_eq!(page.tables["Time in MPI by rank"].len() as u32, RANKS + 1);

    // A ring: each rank sends to the next one only.
    let sent = json["matrix"]["sent"].as_array().expect("cells");
    assert_eq!(
        (page.cells.len(), sent.len()),
        (RANKS as usize, RANKS as usize)
    );
    for cell in sent {
        let messages = cell["messages"].as_u64().expect("a number");
        let name = format!("{} to {}: ", cell["source"], cell["destination"]);
        let shown = page.cells.iter().find_map(|cell| cell.strip_prefix(&name));
        let (shown, bytes) = shown
            .and_then(|shown| shown.split_once(" messages, "))
            .expect(&name);
        assert_shows(shown, &messages.into());
        assert_shows(bytes, &cell["bytes"]);
    }
}

/// The command prints the page of text and the JSON again, and says what is no report.
#[test]
fn a_report_is_shown_again() {
    let command = program(Family::Ompi, "killed_rank", ["50", "11"]);
    let ended = Job::observed(Family::Ompi, 2, &command).run();
    let (page, json) = page_of(&ended);
    assert_eq!(page.wrong, Vec::<String>::new());
    assert!(
        page.facts["at the end"].starts_with("1 rank ended early"),
        "{page:?}"
    );

    let report = ended.directory().join("report.json");
    let text = invivo_report(&report, &[]);
    let text = String::from_utf8(text.stdout).expect("text");
    let lines = ended.our_lines();
    for part in [
        "rank 1 was killed by signal 11 (SIGSEGV)",
        "\nMPI time by rank\n",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    assert!(
        lines
            .iter()
            .any(|line| line.contains("killed by signal 11")),
        "{lines:?}"
    );
    let again = invivo_report(&report, &["--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("json");
    assert_eq!(again, json);

    let config = ended.directory().join("report.json.config.toml");
    let refused = invivo_report(&config, &[]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        why.contains("report.json.config.toml is no report as JSON: "),
        "{why}"
    );
    assert!(
        why.contains("give the file that --report NAME.json has written"),
        "{why}"
    );
}

#[test]
fn a_job_writes_the_page_itself() {
    let command = program(Family::Ompi, "init_finalize", []);
    let job = Job::observed(Family::Ompi, 2, &command).report("report.html");
    let ended = job.run();
    assert_eq!(ended.code(), 0);
    let page = Page::read(&ended.directory().join("report.html"));
    assert_eq!(page.wrong, Vec::<String>::new());
    assert_eq!(page.facts["at the end"], "2 finished");
    assert!(ended.directory().join("report.html.config.toml").exists());
}
