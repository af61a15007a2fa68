//! `invivo explain` names faults that were planted: which kind, which rank, which line; and of
//! healthy programs it says that nothing limits them.

use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::program;
use serde_json::Value;
use std::time::{Duration, Instant};

const RANKS: u32 = 4;

/// A fault, and what must be said of it.
struct Planted {
    /// As the program calls it.
    kind: &'static str,
    limit: &'static str,
    /// The rank that computes longest.
    rank: Option<u32>,
    /// The wait state with most of the waiting. Nothing where messages have a part in it, which are
    /// not matched, or where those that wait for that rank are waited for in their turn.
    wait_state: Option<&'static str>,
}

const fn planted(
    kind: &'static str,
    limit: &'static str,
    rank: Option<u32>,
    wait_state: Option<&'static str>,
) -> Planted {
    Planted {
        kind,
        limit,
        rank,
        wait_state,
    }
}

/// In the order in which the program takes them.
const PLANTED: [Planted; 16] = [
    planted("balanced", "none", None, None),
    planted("halo", "none", None, None),
    planted("imbalance", "load_balance", Some(2), Some("Wait at N x N")),
    planted("stall", "load_balance", Some(1), Some("Wait at N x N")),
    planted(
        "serial_section",
        "load_balance",
        Some(0),
        Some("Wait at Barrier"),
    ),
    planted("late_root", "load_balance", Some(3), Some("Late Broadcast")),
    planted("late_sender", "load_balance", Some(1), None),
    planted("late_neighbour", "load_balance", Some(2), None),
    planted("late_in_half", "load_balance", Some(3), None),
    planted(
        "late_to_alltoall",
        "load_balance",
        Some(1),
        Some("Wait at N x N"),
    ),
    planted("late_to_reduce", "load_balance", Some(3), None),
    planted("busy_master", "load_balance", Some(0), None),
    planted(
        "short_turns",
        "serialisation",
        None,
        Some("Wait at Barrier"),
    ),
    planted("long_turns", "serialisation", None, Some("Wait at Barrier")),
    planted("moving", "serialisation", None, Some("Wait at N x N")),
    planted("contention", "communication", None, None),
];

/// How long it looks.
const LOOK: &str = "1500ms";
/// From the moment at which the fault begins to the sentence.
const WITHIN: Duration = Duration::from_secs(5);

/// Whether the program has a line with this mark, and which.
fn line(mark: &str) -> Option<String> {
    let source = std::fs::read_to_string(paths::sources().join("planted_faults.c"));
    let source = source.expect("the source");
    let mark = format!("/* at {mark} */");
    let at = source.lines().position(|line| line.ends_with(&mark))?;
    Some(format!("planted_faults.c:{}", at + 1))
}

/// Lets the program go on to a fault.
fn begin(running: &Running, kind: &str) -> Instant {
    running.tell(kind);
    let begun = Instant::now();
    while !running.logs().join(format!("running.{kind}")).exists() {
        assert!(begun.elapsed() < WITHIN, "{kind} does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    Instant::now()
}

fn check(of: &Planted, told: &Value) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{}: {what}: {told}", of.kind));
    if told["limit"] != of.limit {
        return wrong("another limit");
    }
    let rank = told["rank"].as_u64().map(|rank| rank as u32);
    if rank != of.rank {
        return wrong("another rank");
    }
    let place = told["site"]["place"].as_str().unwrap_or_default();
    if line(of.kind).is_some_and(|line| !place.contains(&line)) {
        return wrong("another line");
    }
    let wait_state = told["waiting"]["wait_state"].as_str();
    if of.wait_state.is_some() && wait_state != of.wait_state {
        return wrong("another wait state");
    }
    // The rank that computes longest is the one that the others wait for.
    let causer = told["waiting"]["causer"].as_u64();
    if of.wait_state.is_some() && rank.is_some() && causer != told["rank"].as_u64() {
        return wrong("another rank is waited for");
    }
    Ok(())
}

fn faults_are_named(family: Family) {
    let command = program(family, "planted_faults", []);
    let mut running = Job::observed(family, RANKS, &command).start();
    running.wait_for_answers();
    let mut wrong = Vec::new();
    for of in &PLANTED {
        let begun = begin(&running, of.kind);
        let told = running.client().json(&["explain", "--for", LOOK]);
        let took = begun.elapsed();
        println!("{family:?} {}: {}", of.kind, told["sentence"]);
        wrong.extend(check(of, &told).err());
        if took > WITHIN {
            wrong.push(format!("{} took {took:?}", of.kind));
        }
    }
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn planted_faults_are_named_on_open_mpi() {
    faults_are_named(Family::Ompi);
}

#[test]
fn planted_faults_are_named_on_mpich() {
    faults_are_named(Family::Mpich);
}
