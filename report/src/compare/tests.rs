//! Comparisons of reports with known numbers.

use super::*;
use invivo_grpc::v1::{AnalysisStatus, CodeFunction};
use proptest::prelude::*;

/// A report of two ranks: `seconds` in `MPI_Allreduce` per rank, and a little in `MPI_Comm_rank`.
fn run(observed: f64, seconds: f64, calls: u64) -> Report {
    let json = serde_json::json!({
        "job": {"id": "j", "ranks": 2, "places": 1, "nodes": 1, "family": "ompi", "library": "x"},
        "observed_seconds": observed,
        "coverage": {"ranks": 2, "ranks_reporting": 2},
        "totals": [
            {"function": "MPI_Allreduce", "calls": calls, "seconds": 2.0 * seconds},
            {"function": "MPI_Comm_rank", "calls": 2, "seconds": 1e-6},
        ],
    });
    serde_json::from_value(json).expect("a report")
}

fn runs(many: usize, seconds: impl Fn(usize) -> f64) -> Vec<Report> {
    (0..many)
        .map(|at| run(10.0 + seconds(at), seconds(at), 100))
        .collect()
}

fn verdict(of: &Comparison, function: Option<&str>, quantity: &str) -> Verdict {
    let mut changes = of.changes.iter();
    let is_it = |one: &&Change| {
        one.quantity.function.as_deref() == function && one.quantity.quantity.starts_with(quantity)
    };
    changes.find(is_it).expect("it is compared").verdict
}

#[test]
fn a_slower_function_is_found_beyond_chance() {
    // The runs of a side differ by up to 1 %, and the sides by 5.
    let base = runs(8, |at| 2.0 + 0.002 * at as f64);
    let new = runs(8, |at| 2.1 + 0.002 * at as f64);
    let found = compare(&base, &new, false, 0.02);
    assert!(found.worse);
    assert_eq!(
        verdict(&found, Some("MPI_Allreduce"), "time"),
        Verdict::Worse
    );
    assert_eq!(verdict(&found, None, "in MPI"), Verdict::Worse);
    // A fifth of it: below two percent.
    assert_eq!(verdict(&found, None, "observed"), Verdict::Same);
    assert_eq!(
        verdict(&found, Some("MPI_Allreduce"), "calls"),
        Verdict::Same
    );
    let back = compare(&new, &base, false, 0.02);
    assert!(!back.worse);
    assert_eq!(
        verdict(&back, Some("MPI_Allreduce"), "time"),
        Verdict::Better
    );
    insta::assert_snapshot!(text(&found));
}

#[test]
fn of_few_runs_the_threshold_decides_and_it_is_said() {
    let found = compare(&runs(1, |_| 2.0), &runs(1, |_| 2.1), false, 0.02);
    assert!(found.worse && found.changes.iter().all(|one| one.p.is_none()));
    let page = text(&found);
    assert!(
        page.contains("nobody can say what is chance: with 5 of each"),
        "{page}"
    );
    let small = compare(&runs(1, |_| 2.0), &runs(1, |_| 2.1), false, 0.10);
    assert!(!small.worse, "{}", text(&small));
}

#[test]
fn runs_that_lie_among_each_other_are_no_difference() {
    // Far apart by their medians, and mixed.
    let base = runs(8, |at| if at % 2 == 0 { 2.0 } else { 3.0 });
    let new = runs(8, |at| if at % 2 == 0 { 2.1 } else { 3.1 });
    let found = compare(&base, &new, false, 0.02);
    assert!(!found.worse, "{}", text(&found));
}

#[test]
fn what_makes_the_sides_unlike_is_said() {
    let mut other = run(12.0, 2.0, 200);
    other.job.ranks = 4;
    other.totals.remove(1);
    let found = compare(&[run(12.0, 2.0, 100)], &[other], false, 0.02);
    assert_eq!(
        verdict(&found, Some("MPI_Allreduce"), "calls"),
        Verdict::Other
    );
    assert!(
        found.notes[0].contains("ranks differ: 2 | 4"),
        "{:?}",
        found.notes
    );
    let gone = found.changes.iter().find(|one| {
        one.quantity.function.as_deref() == Some("MPI_Comm_rank") && one.quantity.small
    });
    assert!(gone.expect("it is there").new_median == 0.0);
}

/// `seconds` per rank in `solve`, whose line is that of the build, and a moment in another region.
fn with_regions(seconds: f64, line: &str) -> Report {
    let row = |function: &str, seconds: f64| {
        serde_json::json!({
            "kind": "code",
            "file": "app",
            "functions": [{"function": function, "line": line}],
            "visits": 10,
            "own_ns": (2e9 * seconds) as u64,
            "ranks": 2,
        })
    };
    let rows = serde_json::json!({"rows": [row("solve", seconds), row("tiny", 1e-3)]});
    Report {
        regions: Some(serde_json::from_value(rows).expect("regions")),
        ..run(12.0, 2.0, 100)
    }
}

#[test]
fn a_slower_region_is_found_wherever_its_line_is() {
    let base = [with_regions(4.0, "app.c:10")];
    let found = compare(&base, &[with_regions(5.0, "app.c:12")], false, 0.02);
    let page = text(&found);
    assert!(
        page.contains("\nregion solve: own time, per rank  4.00 s  5.00 s  +25.0 %  worse\n"),
        "{page}"
    );
    assert!(!page.contains("tiny") && page.contains("left out: 1 region with"));
    assert!(found.worse);
    // Of functions whose names had not been looked up nothing is said, but that.
    let mut late = with_regions(5.0, "app.c:12");
    let regions = late.regions.as_mut().expect("regions");
    regions.rows[0].functions.clear();
    regions.rows_unnamed = 1;
    let late = compare(&base, &[late], false, 0.02);
    let page = text(&late);
    assert!(!late.worse && !page.contains("region solve"), "{page}");
    assert!(page.contains("without one they are not compared"), "{page}");
    // A report of before regions were in reports says nothing of them.
    let older = compare(&base, &[run(12.0, 2.0, 100)], false, 0.02);
    assert!(!older.worse && !text(&older).contains("region"));
}

/// `calls` of `MPI_Allreduce` in `solve`: where, the seconds per rank, and of these in waiting.
fn with_sites(calls: &[(u64, f64, f64)]) -> Report {
    let row = |&(offset, seconds, waiting): &(u64, f64, f64)| {
        serde_json::json!({
            "kind": "code",
            "file": "app",
            "offset": offset,
            "functions": [{"function": "solve", "line": format!("app.c:{offset}")}],
            "calls": {"function": "MPI_Allreduce", "time_ns": (2e9 * seconds) as u64},
            "waits": [{"wait_state": "Wait at N x N", "time_ns": (2e9 * waiting) as u64}],
        })
    };
    let rows: Vec<serde_json::Value> = calls.iter().map(row).collect();
    let sites = serde_json::json!({"rows": rows});
    Report {
        call_sites: Some(serde_json::from_value(sites).expect("call sites")),
        ..run(12.0, 2.0, 100)
    }
}

/// So many equal runs.
fn equal(report: Report) -> Vec<Report> {
    vec![report; 6]
}

/// Of two calls in one function one is slower: it is told which, wherever a build has put them.
#[test]
fn a_slower_call_site_is_found() {
    let base = equal(with_sites(&[(10, 1.0, 0.5), (20, 1.0, 0.5)]));
    let new = with_sites(&[(110, 1.0, 0.5), (130, 1.5, 1.0)]);
    let page = text(&compare(&base, &equal(new.clone()), false, 0.02));
    for line in [
        "\nMPI_Allreduce in solve, 2 of 2: time, per rank     1.00 s  1.50 s   +50.0 %  worse, p",
        "\nMPI_Allreduce in solve, 1 of 2: time, per rank     1.00 s  1.00 s    +0.0 %\n",
        "\nMPI_Allreduce in solve, 2 of 2: waiting, per rank  500 ms  1.00 s  +100.0 %  worse, p",
    ] {
        assert!(page.contains(line), "{line}{page}");
    }
    // Of single runs nobody knows what a rank waits for by chance here, and not there.
    let found = compare(&base[..1], &[new], false, 0.02);
    assert!(!found.worse, "{}", text(&found));
    assert!(text(&found).contains("call sites are judged from 4 of each side on"));
}

/// Nothing is slower: calls have changed places, one is now two, or is called by another function.
#[test]
fn a_call_site_that_has_moved_is_no_slower_one() {
    let base = equal(with_sites(&[(10, 1.0, 0.5), (20, 0.1, 0.0)]));
    let mut inlined = with_sites(&[(10, 1.0, 0.5), (20, 0.1, 0.0)]);
    let mut renamed = inlined.clone();
    for row in &mut inlined.call_sites.as_mut().expect("sites").rows {
        let main = CodeFunction {
            function: "main".into(),
            line: "app.c:90".into(),
        };
        row.functions.push(main);
    }
    for row in &mut renamed.call_sites.as_mut().expect("sites").rows {
        row.functions[0].function = "other".into();
    }
    for new in [
        with_sites(&[(10, 0.1, 0.0), (20, 1.0, 0.5)]),
        with_sites(&[(10, 1.0, 0.5), (15, 0.05, 0.0), (20, 0.05, 0.0)]),
        inlined,
        renamed,
    ] {
        let found = compare(&base, &equal(new), false, 0.02);
        assert!(!found.worse, "{}", text(&found));
        assert!(
            text(&found).contains("MPI_Allreduce in "),
            "{}",
            text(&found)
        );
    }
}

/// What the reports of both sides cannot tell alike is not compared.
#[test]
fn call_sites_that_are_not_known_alike_are_left_out() {
    let base = equal(with_sites(&[(10, 1.0, 0.5), (20, 1.0, 0.5)]));
    // One of the two had not been looked up: the other is not taken for both of them.
    let mut late = with_sites(&[(10, 1.5, 0.5), (20, 1.5, 0.5)]);
    let sites = late.call_sites.as_mut().expect("sites");
    sites.rows[0].functions.clear();
    sites.rows_unnamed = 1;
    let found = compare(&base, &equal(late), false, 0.02);
    assert!(!found.worse, "{}", text(&found));
    assert!(text(&found).contains("names at call sites had not been looked up"));
    // Messages were matched on one side alone.
    let mut matched = with_sites(&[(10, 1.0, 0.9), (20, 1.0, 0.9)]);
    for row in &mut matched.call_sites.as_mut().expect("sites").rows {
        row.waits[0].wait_state = "Late Sender".into();
    }
    let off = |name: &str| AnalysisStatus {
        name: name.into(),
        off: 2,
        ..AnalysisStatus::default()
    };
    let mut unmatched = base.clone();
    for report in &mut unmatched {
        report.analyses = vec![off("messages")];
        for row in &mut report.call_sites.as_mut().expect("sites").rows {
            row.waits.clear();
        }
    }
    let found = compare(&unmatched, &equal(matched.clone()), false, 0.02);
    assert!(!found.worse, "{}", text(&found));
    // Sites were not noted on one side, or wait states not looked for.
    for (analysis, left) in [("sites", 0), ("waitstates", 2)] {
        matched.analyses = vec![off(analysis)];
        let found = compare(&base, &equal(matched.clone()), false, 0.02);
        let sites = found
            .changes
            .iter()
            .filter(|one| one.quantity.call_site.is_some());
        assert_eq!(sites.count(), left, "{}", text(&found));
    }
    // A report of before call sites were in reports says nothing of them.
    let older = compare(&base, &equal(run(12.0, 2.0, 100)), false, 0.02);
    assert!(!older.worse && !text(&older).contains("solve"));
    // A program of two files has a call of that name in each.
    let mut two = with_sites(&[(10, 1.0, 0.5), (20, 1.0, 0.5)]);
    two.call_sites.as_mut().expect("sites").rows[1].file = "ocean".into();
    let page = text(&compare(&equal(two.clone()), &equal(two), false, 0.02));
    assert!(
        page.contains("MPI_Allreduce in solve of ocean: time"),
        "{page}"
    );
}

/// A window of so many seconds of a job that runs on, with a part of them at a call site.
fn window(seconds: f64, part: f64) -> Report {
    let mut report = Report {
        observed_seconds: 100.0 + seconds,
        ..with_sites(&[(10, part * seconds, 0.0), (20, 0.3 * seconds, 0.0)])
    };
    report.recording.on = 2;
    report.recording.since_ns = 50_000_000_000;
    report.recording.now_ns = 50_000_000_000 + (1e9 * seconds) as u64;
    report.totals[0].seconds = 2.0 * (part + 0.3) * seconds;
    report
}

/// However long each of them is: a part is slower in all of the new ones.
#[test]
fn windows_are_compared_by_the_second() {
    let windows = |part: f64| -> Vec<Report> {
        let of = |at| window(1.0 + 0.1 * f64::from(at), part + 0.0005 * f64::from(at));
        (0..10).map(of).collect()
    };
    let found = compare(&windows(0.200), &windows(0.210), true, 0.02);
    let page = text(&found);
    assert!(found.worse, "{page}");
    assert!(page.contains("base  10 windows on 2 ranks") && !page.contains("observed time"));
    let line = page
        .lines()
        .find(|line| line.starts_with("MPI_Allreduce in solve, 1 of 2: time"));
    assert!(
        line.is_some_and(|line| line.contains("+4.9 %  worse, p")),
        "{page}"
    );
    let other = page
        .lines()
        .find(|line| line.starts_with("MPI_Allreduce in solve, 2 of 2: time"));
    assert!(other.is_some_and(|line| line.ends_with("+0.0 %")), "{page}");
    assert!(!compare(&windows(0.2), &windows(0.2), true, 0.02).worse);
}

proptest! {
    #[test]
    fn a_comparison_with_itself_says_nothing(values in proptest::collection::vec(1.0..9.0, 1..9)) {
        let of = runs(values.len(), |at| values[at]);
        let found = compare(&of, &of, false, 0.0);
        prop_assert!(!found.worse);
        prop_assert!(found.changes.iter().all(|one| one.verdict == Verdict::Same));
    }
}
