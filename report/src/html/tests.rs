//! The page of a known report, and of reports that anybody may have written.

use super::*;
use crate::rows::{Cell, EndedRow, FaultRow, MatrixRows, Row, Start, StepRow, WaitingRow};
use invivo_grpc::v1;
use proptest::prelude::*;

/// What opens markup, ends a line or turns its order, in every name.
const HOSTILE: &str = "</style><script src=\"http://x\">&'\u{202e}\x1b[2J";

fn row(rank: Option<u32>, function: &str, seconds: f64) -> Row {
    Row {
        rank,
        function: function.to_owned(),
        calls: 1_234,
        seconds,
        bytes_out: 4_096,
        mean_seconds: seconds / 1_234.0,
        max_seconds: seconds,
        max_rank: 1,
        ..Row::default()
    }
}

/// Waits of the first rank for the second.
fn waits(name: &str) -> v1::WaitStatesReply {
    let row = v1::WaitStateRow {
        wait_state: name.to_owned(),
        part_of: String::new(),
        function: name.to_owned(),
        waits: 3,
        time_ns: 2_000_000_000,
        max_ns: 1_000_000_000,
        max_rank: 0,
    };
    let causer = v1::RankWaits {
        rank: 1,
        caused_ns: 2_000_000_000,
        rows: vec![v1::RankWaitRow {
            wait_state: name.to_owned(),
            function: name.to_owned(),
            caused_ns: 2_000_000_000,
            ..v1::RankWaitRow::default()
        }],
        ..v1::RankWaits::default()
    };
    v1::WaitStatesReply {
        rows: vec![row],
        ranks: vec![causer],
        ranks_total: 2,
        ..v1::WaitStatesReply::default()
    }
}

/// Two regions, one of them of a function.
fn regions(name: &str) -> v1::RegionsReply {
    let row = |kind: &str, own_ns| v1::RegionRow {
        kind: kind.to_owned(),
        name: name.to_owned(),
        file: name.to_owned(),
        functions: vec![v1::CodeFunction {
            function: name.to_owned(),
            line: name.to_owned(),
        }],
        visits: 3,
        time_ns: own_ns,
        own_ns,
        ranks: 2,
        ..v1::RegionRow::default()
    };
    v1::RegionsReply {
        rows: vec![row("marked", 3_000_000_000), row("code", 1_000_000_000)],
        ..v1::RegionsReply::default()
    }
}

/// A call site where a rank waits for another one.
fn call_sites(name: &str) -> v1::CallSitesReply {
    let row = v1::CallSiteRow {
        kind: "code".to_owned(),
        file: name.to_owned(),
        functions: vec![v1::CodeFunction {
            function: name.to_owned(),
            line: name.to_owned(),
        }],
        calls: Some(v1::FunctionRow {
            function: name.to_owned(),
            calls: 3,
            time_ns: 2_000_000_000,
            ..v1::FunctionRow::default()
        }),
        waits: vec![v1::SiteWaitRow {
            wait_state: name.to_owned(),
            waits: 3,
            time_ns: 1_000_000_000,
            causers: vec![v1::Causer {
                rank: 1,
                time_ns: 900_000_000,
            }],
            ..v1::SiteWaitRow::default()
        }],
        ..v1::CallSiteRow::default()
    };
    v1::CallSitesReply {
        rows: vec![row],
        ..v1::CallSitesReply::default()
    }
}

/// Two ranks, of which the first waits for the second; every name is `name`.
fn sample(name: &str) -> Report {
    let cell = |source, destination, bytes| Cell {
        source,
        destination,
        messages: 10,
        bytes,
    };
    let mut report = Report {
        start: Some(Start {
            unix: 1_795_547_249,
            host: name.to_owned(),
            command: vec!["./app".to_owned(), name.to_owned()],
            invivo_version: name.to_owned(),
        }),
        job: v1::Job {
            id: name.to_owned(),
            ranks: 2,
            places: 1,
            nodes: 0,
            family: name.to_owned(),
            library: name.to_owned(),
            observation: None,
        },
        observed_seconds: 4.0,
        coverage: v1::Coverage {
            ranks: 2,
            ranks_reporting: 2,
            overhead_ns: 3_000,
            ..v1::Coverage::default()
        },
        efficiency: None,
        functions: vec![
            row(Some(0), "MPI_Recv", 2.0),
            row(Some(1), "MPI_Init", 9.0),
            row(Some(1), "MPI_Send", 1.0),
        ],
        functions_left_out: 0,
        totals: vec![row(None, name, 2.0), row(None, "MPI_Send", 1.0)],
        matrix: MatrixRows {
            block_ranks: 1,
            sent: vec![cell(1, 0, 4_096), cell(0, 1, 7)],
            ..MatrixRows::default()
        },
        ended: Vec::new(),
        ended_left_out: 0,
        explanation: None,
        wait_states: Some(waits(name)),
        call_sites: Some(call_sites(name)),
        loops: Some(v1::IterationsReply {
            rows: vec![v1::LoopRow {
                begin: call_sites(name).rows.pop(),
                others: 1,
                ..v1::LoopRow::default()
            }],
            ..v1::IterationsReply::default()
        }),
        regions: Some(regions(name)),
        tool_process_ended: None,
        asked_to_end_by: None,
        waiting: Vec::new(),
        timeline: None,
        last_seconds: Vec::new(),
        shut_down: false,
        recording: v1::RecordingStatus::default(),
        analyses: Vec::new(),
        states: v1::RankCounts {
            finished: 2,
            ..v1::RankCounts::default()
        },
        notes: vec![name.to_owned()],
    };
    report.efficiency = report.efficiency_of_ranks();
    report.explanation = report.explained();
    report
}

/// The same with a death.
fn with_a_death(name: &str) -> Report {
    let step = |function: &str| StepRow {
        function: function.to_owned(),
        file: name.to_owned(),
        line: name.to_owned(),
        left_out: false,
    };
    Report {
        ended: vec![EndedRow {
            rank: 1,
            signal: Some(11),
            inside: Some(name.to_owned()),
            fault: Some(FaultRow {
                signal: Some(11),
                path: vec![step(name), step("main")],
                ..FaultRow::default()
            }),
            ..EndedRow::default()
        }],
        waiting: vec![WaitingRow {
            rank: 0,
            inside: name.to_owned(),
            seconds: 1.5,
        }],
        timeline: Some(name.to_owned()),
        last_seconds: vec![name.to_owned()],
        efficiency: None,
        ..sample(name)
    }
}

/// Tags that are in the page, without what is in them.
fn tags(page: &str) -> Vec<&str> {
    let tags = page.split('<').skip(1);
    let name = |tag: &str| tag.find(|c: char| !c.is_ascii_alphanumeric() && !"/!".contains(c));
    tags.map(|tag| &tag[..name(tag).unwrap_or(tag.len())])
        .collect()
}

#[test]
fn the_page_has_the_numbers_of_the_text() {
    let report = sample("melt");
    let page = html(&report);
    for part in [
        "<title>Invivo report of job melt</title>",
        "<dt>watched for</dt><dd>4.00 s</dd>",
        "2 ranks, 2,468 MPI calls in 4.00 s, 37.5 % of the time in MPI; losses: none",
        "<dt>command</dt><dd><code>./app melt</code></dd>",
        "<dt>started</dt><dd>2026-11-24 19:07:29 UTC</dd>",
        "<dt>at the end</dt><dd>2 finished</dd>",
        "<td class=\"bar\" style=\"--part:62.5%\">parallel efficiency</td>\
         <td class=\"n\">62.5 %</td>",
        "Rank 1 computes longest, rank 0 shortest.",
        "<td class=\"bar\" style=\"--part:75%\">&quot;melt&quot;</td><td class=\"n\">3</td>",
        // Without MPI_Init, the one that is waited for first.
        "\">1</td><td class=\"n\">1.00 s</td><td class=\"n\">25.0 %</td>",
        "\">0</td><td class=\"n\">2.00 s</td><td class=\"n\">50.0 %</td>",
        "style=\"--part:33.33%\">MPI_Send</td><td class=\"n\">1,234</td>",
        "<title>1 to 0: 10 messages, 4.00 KiB</title>",
        "<dt>losses</dt><dd>none</dd>",
        "<p>note: melt</p>",
    ] {
        assert_eq!(page.matches(part).count(), 1, "{part:?} in\n{page}");
    }
    assert!(!page.contains("How it ended"));
    let text = crate::text(&report);
    assert!(
        text.contains(
            "parallel efficiency: 62.5 % (load balance 83.3 %, communication efficiency 75.0 %); \
             rank 1 computes longest, rank 0 shortest\n"
        ),
        "{text}"
    );
    assert!(text.contains("./app melt; started 2026-11-24 19:07:29 UTC on melt, with Invivo melt"));
}

#[test]
fn a_death_stands_before_the_tables() {
    let page = html(&with_a_death("solve"));
    let at = |part: &str| {
        page.find(part)
            .unwrap_or_else(|| panic!("{part} in\n{page}"))
    };
    assert!(at("<h2>How it ended</h2>") < at("<h2>MPI functions, all ranks</h2>"));
    at("<li>rank 1 was killed by signal 11 (SIGSEGV), in solve");
    at("<li>rank 0 was waiting for rank 1, for 1.50 s in solve</li>");
    at("<pre>call path of rank 1");
    // Who died has computed for a time that nobody knows.
    assert_eq!(with_a_death("solve").efficiency_of_ranks(), None);
    assert!(!page.contains("<h2>Efficiency</h2>"));
}

/// Where there is nothing to show there is no section.
#[test]
fn what_the_report_does_not_have_is_not_there() {
    let mut report = sample("melt");
    report.start = None;
    report.totals.clear();
    report.functions.clear();
    report.efficiency = None;
    report.matrix = MatrixRows::default();
    report.analyses = vec![v1::AnalysisStatus {
        name: "matrix".into(),
        off: 2,
        ..v1::AnalysisStatus::default()
    }];
    let page = html(&report);
    for part in [
        "Efficiency",
        "by rank",
        "MPI functions",
        "Point-to-point",
        "command",
        "started",
    ] {
        let head = format!("<h2>{part}");
        assert!(!page.contains(&head) && !page.contains(&format!("<dt>{part}")));
    }
    assert!(page.contains("analyses that were off: matrix"));
}

/// Whatever the names are, the page has the tags that it has with plain names, asks nobody for
/// anything, and no character of theirs steers the browser.
#[test]
fn names_are_text_and_nothing_else() {
    let page = html(&with_a_death(HOSTILE));
    assert_eq!(tags(&page), tags(&html(&with_a_death("melt"))));
    assert!(!page.contains("<script") && !page.contains('\u{202e}') && !page.contains('\x1b'));
    for reference in ["src=\"", "href=", "url(", "@import"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("&lt;/style&gt;&lt;script src=&quot;http://x&quot;&gt;&amp;&#39;??[2J"));
}

/// A file may claim anything: the page has its size nevertheless.
#[test]
fn the_page_is_bounded() {
    let mut report = with_a_death(&"<".repeat(100_000));
    report.job.ranks = 256;
    report.totals = vec![row(None, &"&".repeat(5_000), 1.0); 3_000];
    report.functions = (0..4_096)
        .map(|at| row(Some(at % 256), "MPI_Send", 1.0))
        .collect();
    report.coverage.ranks_reporting = 256;
    let cells = (0..256 * 256).map(|at| Cell {
        source: at / 256,
        destination: at % 256,
        messages: 1,
        bytes: u64::from(at),
    });
    report.matrix.sent = cells.collect();
    report.notes = vec!["<".repeat(5_000); 3_000];
    report.last_seconds = vec!["<".repeat(5_000); 3_000];
    let page = html(&report);
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
    assert!(page.contains("in blocks of 4 ranks; the JSON report has single ranks"));
    assert_eq!(page.matches("<title>").count(), 1 + 64 * 64);
}

#[test]
fn a_report_that_was_written_is_the_same_when_read() {
    for report in [sample("melt"), with_a_death("solve"), sample(HOSTILE)] {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), crate::json(&report)).expect("written");
        let read = crate::read(file.path()).expect("a report");
        assert_eq!(crate::text(&read), crate::text(&report));
        assert_eq!(html(&read), html(&report));
        assert_eq!(crate::json(&read), crate::json(&report));
    }
}

/// Puts other values where numbers and texts are.
fn spoil(value: &mut serde_json::Value, next: &mut impl Iterator<Item = u64>) {
    use serde_json::Value;
    let draw = next.next().unwrap_or_default();
    match value {
        Value::Array(all) => all.iter_mut().for_each(|one| spoil(one, next)),
        Value::Object(all) => all.values_mut().for_each(|one| spoil(one, next)),
        Value::Number(_) if draw.is_multiple_of(3) => {
            *value = [u64::MAX, 0, 1 << 31, u32::MAX.into()][(draw / 3 % 4) as usize].into()
        }
        Value::Number(_) if draw % 31 == 1 => *value = (-1e300).into(),
        Value::Bool(of) if draw.is_multiple_of(3) => *of = !*of,
        Value::String(of) if draw.is_multiple_of(3) => *of = HOSTILE.to_owned(),
        _ => {}
    }
}

proptest! {
    /// Nothing that a file may claim makes a form panic, or gets a tag into the page.
    #[test]
    fn any_report_has_all_forms(draws in prop::collection::vec(any::<u64>(), 400), dead: bool) {
        let of = if dead { with_a_death("a") } else { sample("a") };
        let mut value = serde_json::to_value(&of).expect("json");
        spoil(&mut value, &mut draws.into_iter());
        let Ok(report) = serde_json::from_value::<Report>(value) else { return Ok(()) };
        let page = html(&report);
        let is_clean = !page.contains("<script") && !page.contains('\u{202e}');
        prop_assert!(is_clean, "{}", page);
        let _ = (crate::text(&report), crate::one_line(&report), crate::json(&report));
    }

    #[test]
    fn no_bracket_of_theirs_comes_through(name in "[<>&\"'a\u{202e}\u{7}\n]{1,20}") {
        let plain = tags(&html(&with_a_death("a"))).len();
        prop_assert_eq!(tags(&html(&with_a_death(&name))).len(), plain);
    }
}
