//! Comparisons of reports with known numbers.

use super::*;
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
    let found = compare(&base, &new, 0.02);
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
    let back = compare(&new, &base, 0.02);
    assert!(!back.worse);
    assert_eq!(
        verdict(&back, Some("MPI_Allreduce"), "time"),
        Verdict::Better
    );
    insta::assert_snapshot!(text(&found));
}

#[test]
fn of_few_runs_the_threshold_decides_and_it_is_said() {
    let found = compare(&runs(1, |_| 2.0), &runs(1, |_| 2.1), 0.02);
    assert!(found.worse && found.changes.iter().all(|one| one.p.is_none()));
    let page = text(&found);
    assert!(
        page.contains("nobody can say what is chance: with 5 of each"),
        "{page}"
    );
    let small = compare(&runs(1, |_| 2.0), &runs(1, |_| 2.1), 0.10);
    assert!(!small.worse, "{}", text(&small));
}

#[test]
fn runs_that_lie_among_each_other_are_no_difference() {
    // Far apart by their medians, and mixed.
    let base = runs(8, |at| if at % 2 == 0 { 2.0 } else { 3.0 });
    let new = runs(8, |at| if at % 2 == 0 { 2.1 } else { 3.1 });
    let found = compare(&base, &new, 0.02);
    assert!(!found.worse, "{}", text(&found));
}

#[test]
fn what_makes_the_sides_unlike_is_said() {
    let mut other = run(12.0, 2.0, 200);
    other.job.ranks = 4;
    other.totals.remove(1);
    let found = compare(&[run(12.0, 2.0, 100)], &[other], 0.02);
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
    let found = compare(&base, &[with_regions(5.0, "app.c:12")], 0.02);
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
    let late = compare(&base, &[late], 0.02);
    let page = text(&late);
    assert!(!late.worse && !page.contains("region solve"), "{page}");
    assert!(page.contains("without one they are not compared"), "{page}");
    // A report of before regions were in reports says nothing of them.
    let older = compare(&base, &[run(12.0, 2.0, 100)], 0.02);
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

/// Of two calls in one function one is slower: it is told which, wherever a build has put them.
#[test]
fn a_slower_call_site_is_found() {
    let base = [with_sites(&[(10, 1.0, 0.5), (20, 1.0, 0.5)])];
    let new = [with_sites(&[(110, 1.0, 0.5), (130, 1.5, 1.0)])];
    let page = text(&compare(&base, &new, 0.02));
    for line in [
        "\nMPI_Allreduce in solve, 2 of 2: time, per rank     1.00 s  1.50 s   +50.0 %  worse\n",
        "\nMPI_Allreduce in solve, 1 of 2: time, per rank     1.00 s  1.00 s    +0.0 %\n",
        "\nMPI_Allreduce in solve, 2 of 2: waiting, per rank  500 ms  1.00 s  +100.0 %  worse\n",
    ] {
        assert!(page.contains(line), "{line}{page}");
    }
    // A call more: which is which nobody knows, and together they take as long.
    let more = [with_sites(&[
        (10, 1.0, 0.5),
        (15, 0.5, 0.0),
        (20, 0.5, 0.5),
    ])];
    let found = compare(&base, &more, 0.02);
    assert!(!found.worse, "{}", text(&found));
    let page = text(&found);
    assert!(
        page.contains("\nMPI_Allreduce in solve: time, per rank     2.00 s"),
        "{page}"
    );
    // Sites whose names had not been looked up are left out, and so are those that a report has no
    // room for.
    let mut late = with_sites(&[(10, 9.0, 9.0)]);
    let sites = late.call_sites.as_mut().expect("sites");
    sites.rows[0].functions.clear();
    sites.rows_unnamed = 1;
    let found = compare(&base, &[late], 0.02);
    assert!(!found.worse, "{}", text(&found));
    assert!(text(&found).contains("names at call sites had not been looked up"));
    // A report of before call sites were in reports says nothing of them.
    let older = compare(&base, &[run(12.0, 2.0, 100)], 0.02);
    assert!(!older.worse && !text(&older).contains("solve"));
}

proptest! {
    #[test]
    fn a_comparison_with_itself_says_nothing(values in proptest::collection::vec(1.0..9.0, 1..9)) {
        let of = runs(values.len(), |at| values[at]);
        let found = compare(&of, &of, 0.0);
        prop_assert!(!found.worse);
        prop_assert!(found.changes.iter().all(|one| one.verdict == Verdict::Same));
    }
}
