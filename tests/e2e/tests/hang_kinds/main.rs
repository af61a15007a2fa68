//! Hangs while recording is off, beside other threads, in non-blocking collectives, windows and
//! files: named with their ranks and lines, and no alarm where nothing is wrong. Much of it is the
//! same with MPICH, and tested with it among the long tests alone.

mod collectives;
mod shared;
mod threads;
mod unrecorded;

use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language, marked_line};
use serde_json::Value;

const RANKS: u32 = 4;

fn line(language: Language, mark: &str) -> String {
    marked_line("hang_kinds", language, mark)
}

fn started<const N: usize>(
    family: Family,
    language: Language,
    words: &[&str],
    options: [&str; N],
) -> Running {
    let command = in_language(family, "hang_kinds", language, words);
    let mut running = Job::observed(family, RANKS, &command)
        .options(options)
        .start();
    running.wait_for_answers();
    running
}

/// What `invivo hang` says of a job as soon as it says what is wanted of it.
fn says(running: &mut Running, is_it: impl Fn(&Value) -> bool) -> Value {
    running.until("what the ranks wait for", |job| {
        let hang = job.client().try_json(&["hang"])?;
        if !is_it(&hang) {
            println!("{}", hang["sentence"]);
        }
        is_it(&hang).then_some(hang)
    })
}

fn kind_is(hang: &Value, verdict: &str, kind: &str) -> bool {
    hang["verdict"] == verdict && hang["findings"][0]["kind"] == kind
}

fn ranks_of(finding: &Value) -> Vec<u64> {
    let ranks = finding["ranks"].as_array().cloned().unwrap_or_default();
    ranks.iter().map(|rank| number(rank, "/rank")).collect()
}

/// Ranks count once their calls have been pending for a second, which is not at one instant for
/// all: others are said to be missing until then.
fn lacks_rank_2_alone(hang: &Value) -> bool {
    kind_is(hang, "waiting", "missing") && ranks_of(&hang["findings"][0]) == [2]
}

/// A hang of this way in which all wait for rank 2, in this function at this line.
fn lacks_rank_2(family: Family, language: Language, way: &str, function: &str, mark: &str) {
    let mut running = started(family, language, &[way], []);
    let hang = says(&mut running, lacks_rank_2_alone);
    let finding = &hang["findings"][0];
    let called = &finding["collectives"][0];
    let named = (&called["function"], &called["site"]);
    let expected = (&function.into(), &line(language, mark).into());
    assert_eq!(named, expected, "{family:?} {way}: {hang}");
    let sentence = hang["sentence"].as_str().unwrap_or_default();
    assert!(
        sentence.contains(function) && sentence.contains("for rank 2, which computes"),
        "{sentence}"
    );
}

/// No alarm, and no claim of a deadlock at any time, where ranks are late alone, in these ways.
fn is_healthy<const N: usize>(family: Family, ways: [&str; N]) {
    let words: Vec<&str> = std::iter::once("healthy").chain(ways).collect();
    let mut running = started(family, Language::C, &words, ["--watchdog=1s"]);
    while running.runs() {
        // The job may end while it is asked.
        let hang = running.client().try_json(&["hang", "--older", "100ms"]);
        if let Some(hang) = hang {
            assert_ne!(hang["verdict"], "deadlock", "{family:?} {ways:?}: {hang}");
        }
    }
    let ended = running.end();
    assert_eq!(ended.code(), 0, "{family:?} {ways:?}");
    let lines = ended.our_lines();
    assert!(
        !lines.iter().any(|line| line.contains("deadlock: ")),
        "{family:?} {ways:?}: {lines:?}"
    );
}
