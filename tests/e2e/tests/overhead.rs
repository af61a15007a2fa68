//! What the measurement takes of the ranks' time is kept below a cap: detail is given up while it
//! is above, in the stated order, comes back while it is well below, and is the user's where a
//! command has decided about it.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::tiny_functions;
use serde_json::Value;
use std::time::Duration;

const RANKS: u32 = 2;
const CAP: f64 = 0.04;

fn overhead(job: &Running) -> Value {
    job.client().json(&["overhead", "--over", "1s"])
}

/// What the ranks feel, as a share of their time.
fn share(taken: &Value) -> f64 {
    let ns = |of: &str| number(taken, &format!("/{of}_ns")) as f64;
    let parts = ["calls", "regions", "samples", "displaced"];
    parts.into_iter().map(ns).sum::<f64>() / ns("rank")
}

fn list(of: &Value, what: &str) -> Vec<String> {
    let all = of["governance"][what].as_array();
    let texts = all.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Asked gently, as questions take time themselves.
fn given_up(job: &Running) -> Option<Vec<String>> {
    std::thread::sleep(Duration::from_millis(500));
    let status = job.client().try_json(&["status"])?;
    Some(list(&status["status"], "given_up"))
}

fn regions_on(job: &Running) -> u64 {
    number(&job.client().json(&["selection"]), "/regions_on")
}

fn start(family: Family, options: [&str; 2]) -> Running {
    let mut job = Job::observed(family, RANKS, &tiny_functions(family))
        .options(options)
        .start();
    job.wait_for_answers();
    job
}

/// Waits until the overhead is below its cap; what `invivo overhead` says of it then.
fn is_below(job: &mut Running) -> Value {
    job.until("detail to be given up", |job| {
        given_up(job).filter(|all| !all.is_empty())
    });
    // A window in which a step was made has some of what was before.
    job.until("the overhead to be below its cap", |job| {
        Some(overhead(job)).filter(|seen| share(&seen["now"]) <= CAP)
    })
}

/// Millions of functions a second are left out, one line says so, and they come back in the calm.
#[test]
fn tiny_functions_are_given_up_and_come_back() {
    let mut job = start(Family::Ompi, ["--overhead", "4%"]);
    let seen = is_below(&mut job);
    println!("{seen}");
    let all = list(&seen, "given_up");
    assert!(all[0].starts_with("regions "), "{all:?}");
    let events = seen["governance"]["events"].as_array();
    assert!(events.is_some_and(|events| !events.is_empty()), "{seen}");
    let note = job.client().json(&["status"])["status"]["notes"].to_string();
    assert!(
        note.contains("to keep the overhead below 4%: regions "),
        "{note}"
    );

    job.tell("calm");
    job.until("regions to come back", |job| {
        given_up(job).filter(Vec::is_empty)
    });
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    let lines = ended.our_lines();
    let told = lines
        .iter()
        .filter(|line| line.contains("is above 4%: regions "));
    assert_eq!(told.count(), 1, "{lines:?}");
    assert!(ended.stdout().concat().ends_with(" rounds a second\n"));
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}

#[test]
#[ignore = "long"]
fn a_users_command_overrules_the_cap() {
    let mut job = start(Family::Mpich, ["--overhead", "off"]);
    let before = overhead(&job);
    assert!(before["governance"].is_null(), "{before}");
    assert!(share(&before["now"]) > CAP, "{before}");
    job.client().all_do(RANKS, &["overhead", "4%"]);
    is_below(&mut job);

    // Who wants all of them gets them, whatever they cost.
    job.client().all_do(RANKS, &["selection", "clear"]);
    std::thread::sleep(Duration::from_secs(3));
    let seen = overhead(&job);
    println!("{seen}");
    assert_eq!(list(&seen, "decided"), ["invivo selection"]);
    assert!(share(&seen["now"]) > CAP, "{seen}");
    assert!(regions_on(&job) > 0);

    // A cap that is set again may give up everything; and without one all is as it was.
    job.client().all_do(RANKS, &["overhead", "4%"]);
    is_below(&mut job);
    job.client().all_do(RANKS, &["overhead", "off"]);
    job.until("all to be recorded again", |job| {
        let status = job.client().try_json(&["selection"])?;
        (number(&status, "/regions_off") == 0).then_some(())
    });
    let seen = overhead(&job);
    assert!(seen["governance"]["cap"].is_null(), "{seen}");
    assert_eq!(list(&seen, "given_up"), [""; 0]);

    let refused = job.client().run(&["overhead", "0.01%"]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{why}");
    assert!(why.contains("from 0.1% to 100%"), "{why}");
    job.tell("calm");
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}
