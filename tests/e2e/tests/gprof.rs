//! Functions are called as often as gprof says: each of them, in the same run.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::gprof;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::call_graph;
use invivo_e2e::remarks::remark;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const RANKS: u32 = 2;
const ROUNDS: u32 = 30;
/// Functions of the program are in this namespace, by their names for the linker.
const OURS: [&str; 2] = ["_ZN4work", "_ZNK4work"];
/// Called by qsort: gprof counts no calls from libraries.
const BY_A_LIBRARY: &str = "by_last_digit";

/// Visits of each function, by its address in the program, when all that has been recorded has
/// been taken.
fn visits(job: &mut Running) -> (BTreeMap<u64, u64>, Value) {
    let answer = job.until("all visits", |job| {
        let answer = job.client().try_json(&["regions"])?;
        // Of a rank the records come in their order, and the last is that of a call.
        let of_calls = |what: &str| number(&answer, &format!("/coverage/ledger/{what}"));
        let is_whole = of_calls("open") == 0 && of_calls("in_flight") == 0;
        (is_whole && number(&answer, "/rows_unnamed") == 0).then_some(answer)
    });
    for nothing in [
        "dropped",
        "repaired",
        "too_deep",
        "rows_left_out",
        "left_out/visits",
    ] {
        assert_eq!(number(&answer, &format!("/{nothing}")), 0, "{nothing}");
    }
    let mut visits = BTreeMap::new();
    for row in answer["rows"].as_array().expect("rows") {
        assert_eq!(row["kind"], "code", "{row}");
        assert_eq!(row["file"], job.program_name(), "{row}");
        let before = visits.insert(number(row, "/offset"), number(row, "/visits"));
        assert_eq!(before, None, "two rows of one function: {row}");
    }
    (visits, answer)
}

/// Functions have the names of their source.
fn named(answer: &Value, names: &BTreeMap<u64, &str>) {
    for row in answer["rows"].as_array().expect("rows") {
        let function = row.pointer("/functions/0/function").and_then(Value::as_str);
        let function = function.unwrap_or_else(|| panic!("no name: {row}"));
        let symbol = names[&number(row, "/offset")];
        // Of templates the arguments may be written in many ways.
        let is_plain = |letter: char| letter.is_alphanumeric() || "_:".contains(letter);
        let plain = function.split('(').next().unwrap_or_default();
        let last = plain.rsplit("::").next().unwrap_or_default();
        if OURS.iter().any(|ours| symbol.starts_with(ours)) && plain.chars().all(is_plain) {
            assert!(symbol.contains(last), "{symbol} is called {function}");
        }
    }
}

/// Calls that all ranks have counted, by the function's name for the linker.
fn of_gprof(program: &Path, logs: &Path) -> BTreeMap<String, u64> {
    let profiles = gprof::profiles(logs, "gmon.");
    assert_eq!(profiles.len(), RANKS as usize, "{profiles:?}");
    let mut calls: BTreeMap<String, u64> = BTreeMap::new();
    for profile in profiles {
        for (name, count) in gprof::calls(program, &profile) {
            *calls.entry(name).or_default() += count;
        }
    }
    calls
}

/// Calls of the comparing function, as the ranks have counted them themselves.
fn comparisons(stdout: &[String]) -> u64 {
    let of = |text: &String| {
        let words = text.strip_suffix(" comparisons\n")?;
        words.rsplit(' ').next()?.parse::<u64>().ok()
    };
    let all = stdout.iter().map(|text| of(text).expect("comparisons"));
    all.sum()
}

fn calls_are_those_of_gprof(family: Family) {
    let command = call_graph(family, ROUNDS);
    let program = Path::new(&command[0]).to_owned();
    // Relative to the working directory, which is the job's.
    let job = Job::observed(family, RANKS, &command).env(gprof::PREFIX, "logs/gmon");
    let mut job = job.start();
    job.wait_for_answers();
    job.wait_for_notes("done");
    let (mut visits, answer) = visits(&mut job);
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0, "{family:?}");
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();

    let addresses = gprof::addresses(&program);
    let names = addresses.iter().map(|(name, at)| (*at, name.as_str()));
    let names: BTreeMap<u64, &str> = names.collect();
    named(&answer, &names);
    let (functions, all) = (visits.len(), visits.values().sum::<u64>());
    let calls = of_gprof(&program, &ended.logs());
    let mut unlike = Vec::new();
    for (name, calls) in &calls {
        let told = visits.remove(&addresses[name]).unwrap_or(0);
        if told != *calls {
            unlike.push(format!("{name}: {told} visits, {calls} calls"));
        }
    }
    assert!(unlike.is_empty(), "{family:?}: {}", unlike.join("; "));
    let itself: BTreeSet<&str> = calls.keys().map(String::as_str).collect();
    for name in ["_ZN4workL9ackermannEjj", "_ZNK4work6Branch5valueEv"] {
        assert!(itself.contains(name) && calls[name] > 1000, "{name}");
    }

    // What gprof cannot count is left.
    visits.retain(|at, visits| {
        let name = names[at];
        let is_ours = OURS.iter().any(|ours| name.starts_with(ours));
        if is_ours && name.contains(BY_A_LIBRARY) {
            assert_eq!(*visits, comparisons(&ended.stdout()), "{name}");
            return false;
        }
        // Of the standard library the compiler inlines some always, in later versions.
        println!("{family:?}: no calls of {name}, which has {visits} visits");
        is_ours
    });
    assert!(visits.is_empty(), "{family:?}: {visits:?}");
    remark(&format!(
        "{family:?}: {} of {functions} functions have the calls that gprof counts, of {all} visits",
        calls.len()
    ));
}

#[test]
fn functions_have_the_calls_of_gprof_on_open_mpi() {
    calls_are_those_of_gprof(Family::Ompi);
}

#[test]
fn functions_have_the_calls_of_gprof_on_mpich() {
    calls_are_those_of_gprof(Family::Mpich);
}
