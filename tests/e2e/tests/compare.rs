//! Comparing reports of real runs: a part that became slower is found, and nothing in runs that are
//! alike.

use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::program;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Of each side: so many can tell a difference from chance.
const RUNS: usize = 6;

/// Reports of runs whose longer part is slower by so many percent.
fn reports(into: &Path, family: Family, percent: &str, runs: usize) -> Vec<PathBuf> {
    let run = |number: usize| {
        let command = program(family, "slower", ["50", "10000", percent]);
        let ended = Job::observed(family, 2, &command).run();
        assert_eq!(ended.code(), 0);
        let kept = into.join(format!("{percent}-{number}.json"));
        std::fs::copy(ended.directory().join("report.json"), &kept).expect("a report");
        kept
    };
    (0..runs).map(run).collect()
}

fn compare(base: &[PathBuf], new: &[PathBuf], options: &[&str]) -> Output {
    let mut command = Command::new(paths::invivo());
    command.arg("compare").args(base).arg("--with").args(new);
    command.args(options).output().expect("it runs")
}

fn changes(base: &[PathBuf], new: &[PathBuf]) -> Value {
    let output = compare(base, new, &["--json"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn verdict<'a>(of: &'a Value, function: Option<&str>, quantity: &str) -> &'a Value {
    let mut changes = of["changes"].as_array().expect("changes").iter();
    let found = changes.find(|one| {
        one["function"].as_str() == function && one["quantity"].as_str() == Some(quantity)
    });
    found.unwrap_or_else(|| panic!("no {quantity} of {function:?} in {of}"))
}

/// Rank 0 waits for 10 ms in each round, and for 11 where the others take 5 % longer.
#[test]
#[ignore = "long"]
fn a_slower_part_is_found_and_nothing_between_equal_runs() {
    let into = tempfile::tempdir().expect("a directory");
    let base = reports(into.path(), Family::Ompi, "0", 2 * RUNS);
    let slower = reports(into.path(), Family::Ompi, "5", RUNS);

    let equal = changes(&base[..RUNS], &base[RUNS..]);
    assert_eq!(equal["worse"], false, "{equal}");

    let found = changes(&base[..RUNS], &slower);
    let time = verdict(&found, Some("MPI_Allreduce"), "time, per rank");
    assert_eq!(time["verdict"], "worse", "{time}");
    let change = time["change"].as_f64().expect("a number");
    assert!(
        (0.05..0.2).contains(&change),
        "10 %, but for the latency: {time}"
    );
    let whole = verdict(&found, None, "observed time");
    assert_eq!(whole["verdict"], "worse", "{whole}");
    let calls = verdict(&found, Some("MPI_Allreduce"), "calls");
    assert_eq!(calls["verdict"], "same", "{calls}");

    let told = |new: &[PathBuf], limit| {
        let output = compare(&base[..RUNS], new, &["--fail-above", limit]);
        output.status.code()
    };
    assert_eq!(told(&slower, "2%"), Some(1));
    assert_eq!(told(&slower, "50%"), Some(0));
    assert_eq!(told(&base[RUNS..], "2%"), Some(0));
}

/// So many windows of each side.
const WINDOWS: usize = 10;

/// A window of half a second of a job that runs on.
fn window(running: &Running, into: &Path, name: &str) -> PathBuf {
    let client = running.client();
    let output = client.run(&["record", "--for", "500ms"]);
    assert!(output.status.success(), "{output:?}");
    let report = client.json(&["report"]);
    let path = into.join(name);
    std::fs::write(&path, report.to_string()).expect("a report");
    path
}

/// Windows of three sides in turns: what the machine does beside them is in all alike. Nothing is
/// different in the first two, one call site is slower in the third.
fn windows_in_turns(running: &Running, into: &Path) -> [Vec<PathBuf>; 3] {
    let mut sides = [Vec::new(), Vec::new(), Vec::new()];
    for number in 0..WINDOWS {
        for (side, name) in ["base", "equal", "slower"].into_iter().enumerate() {
            if name == "slower" {
                running.tell("slower");
            }
            sides[side].push(window(running, into, &format!("{name}-{number}.json")));
        }
        running.untell("slower");
    }
    sides
}

/// A machine that was busy with something else during some of the windows hides 5 %, in one run of
/// many; what is wrong is wrong in the next one as well.
fn a_slower_call_site(family: Family, percent: &str) {
    if let Err(first) = compared(family, percent) {
        println!("once more: {first}");
        let second = compared(family, percent);
        assert!(second.is_ok(), "{first}, and then: {second:?}");
    }
}

/// In a running job one of four call sites becomes slower by so much: of that one it is told, and
/// of no other; and nothing where nothing has changed. Else what is told.
fn compared(family: Family, percent: &str) -> Result<(), String> {
    let into = tempfile::tempdir().expect("a directory");
    let command = program(family, "slower_site", ["1000", percent]);
    let mut running = Job::observed(family, 2, &command).start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    let [base, equal, slower] = windows_in_turns(&running, into.path());
    running.tell("stop");
    assert_eq!(running.end().code(), 0);

    let changes = |new: &[PathBuf]| -> Value {
        let output = compare(&base, new, &["--windows", "--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    println!(
        "{}",
        String::from_utf8_lossy(&compare(&base, &slower, &["--windows"]).stdout)
    );
    let same = changes(&equal);
    if same["worse"] != false {
        return Err(format!("nothing is different, and told is {}", told(&same)));
    }
    let told = told(&changes(&slower));
    let all = told.as_array().expect("changes").iter();
    let sites =
        all.filter(|one| one["quantity"] == "time, per rank" && one["call_site"].is_string());
    // Where much is different, less of the work at the end of a round is there to be disturbed:
    // that can make another site faster.
    let counts = |one: &&Value| percent == "5" || one["verdict"] == "worse";
    let sites: Vec<(&str, &str)> = sites
        .filter(counts)
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default();
            (text("call_site"), text("verdict"))
        })
        .collect();
    match sites == [("MPI_Allreduce in norm", "worse")] {
        true => Ok(()),
        false => Err(format!("told is {told}")),
    }
}

/// What differs.
fn told(of: &Value) -> Value {
    let all = of["changes"].as_array().expect("changes").iter();
    all.filter(|one| one["verdict"] != "same")
        .cloned()
        .collect()
}

/// Whatever else the machine has to do.
#[test]
fn a_slower_call_site_is_found_in_ten_windows() {
    a_slower_call_site(Family::Ompi, "90");
}

/// On a machine that has nothing else to do.
#[test]
#[ignore = "long: on both MPIs, and needs a machine with nothing else to do"]
fn five_percent_at_a_call_site_are_found() {
    for family in Family::ALL {
        a_slower_call_site(family, "5");
    }
}

/// Also of single runs, on another MPI; what is wrong is said before anything is compared.
#[test]
fn single_runs_are_compared_by_the_threshold() {
    let into = tempfile::tempdir().expect("a directory");
    let base = reports(into.path(), Family::Mpich, "0", 1);
    let slower = reports(into.path(), Family::Mpich, "50", 1);
    let output = compare(&base, &slower, &[]);
    let page = String::from_utf8_lossy(&output.stdout);
    assert!(
        page.contains("worse") && page.contains("nobody can say what is chance"),
        "{page}"
    );

    let missing = compare(&base, &[into.path().join("none.json")], &[]);
    let why = String::from_utf8_lossy(&missing.stderr);
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        why.contains("none.json") && why.contains("--report"),
        "{why}"
    );
}
