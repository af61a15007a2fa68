//! A saved observation answers as the job did when it was saved.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::cluster::hosts;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const RANKS: u32 = 4;
/// What an observation can answer.
const ALL: &str = "functions,matrix,messages,heatmap,sites,waitstates";

/// How far times may be apart, in ns for each call: its begin and its end are rounded to whole ns
/// of job time when they are read.
const ROUNDED_NS: u64 = 2;
/// How far the rate of a node's clock may be another than when a call came: it is measured anew all
/// the time.
const RATE: f64 = 1e-4;

fn shown(path: &Path) -> &str {
    path.to_str().expect("a name of letters")
}

fn text(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// A program of messages, collectives and communicators.
fn job(family: Family) -> Job {
    Job::observed(family, RANKS, &program(family, "told_rounds", []))
}

/// It has done its rounds and waits.
fn done(job: Job) -> Running {
    let mut running = job.start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    // A pause in the midst of it, whose time is nobody's.
    running.client().pause(RANKS, "60s");
    running.client().resume(RANKS);
    running.until("many calls", |job| {
        let status = job.client().try_json(&["status"])?;
        let entered = number(&status, "/coverage/ledger/entered");
        let observed_ns = number(&status, "/status/observed_ns");
        (entered > 40_000 && observed_ns > 500_000_000).then_some(())
    });
    running.tell("enough");
    running.wait_for_notes("done");
    running
}

fn end(running: Running) {
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}

/// The answer of the observation in `dir`.
fn asked(running: &Running, dir: &Path, words: &[&str]) -> Value {
    let line = [&["open", shown(dir), "--"], words].concat();
    running.client().json(&line)
}

/// What the answer itself took and how it came, who has the most of what several have alike, and
/// who was the last of those that came together.
const OF_ANSWER: [&str; 10] = [
    "caused_ns",
    "caused_waits",
    "coverage",
    "observed_ns",
    "analysis",
    "max_rank",
    "min_rank",
    "ranks_by_wait",
    "culprit",
    "now_ns",
];

/// How far two numbers of this name may be apart.
fn slack(name: &str, value: f64, calls: u64) -> f64 {
    match name {
        // Of ranks that came together one waited for a moment or none.
        "waits" | "count" => 8.0 + value / 5.0,
        "mean_ns" | "stddev_ns" => 10.0 + value / 50.0,
        // A call near the edge of a bin is in the next one.
        // And where bins are nearly too many, they are too many: twice as wide, 1/39 becomes 1/19.
        "error" => value * 1.1,
        "p50" | "p90" | "p99" => 1_000.0 + value / 8.0,
        name if name.starts_with('p') && name.ends_with("_seconds") => 1e-6 + value / 8.0,
        "min_ns" | "max_ns" => 1_000.0 + value * RATE,
        name if name.ends_with("_ns") => (calls * ROUNDED_NS) as f64 + value * RATE,
        // Cells of the grid: calls are cut where columns meet, which is told by the clock as well.
        "min" | "max" | "mean" | "sum" => 5_000.0 + value * 1e-3,
        // Seconds, in reports.
        name if name.ends_with("seconds") => {
            1e-6 + (calls * ROUNDED_NS) as f64 * 1e-9 + value / 50.0
        }
        // Of these cells: columns have 1 to 2 ms.
        "parallel_efficiency" | "load_balance" | "communication_efficiency" => 5e-3,
        _ => 0.0,
    }
}

/// The rows in an order that does not depend on times.
fn ordered(rows: &[Value]) -> Vec<&Value> {
    let mut rows: Vec<&Value> = rows.iter().collect();
    rows.sort_by_cached_key(|row| {
        let name = |key: &str| row[key].to_string();
        ["rank", "function", "state", "source", "destination", "id"].map(name)
    });
    rows
}

/// Compares two answers; numbers that are times may be apart by the rounding of so many calls.
fn alike(path: &str, live: &Value, saved: &Value, calls: u64) {
    match (live, saved) {
        (Value::Object(live), Value::Object(saved)) => {
            for (key, one) in live {
                if !OF_ANSWER.contains(&key.as_str()) {
                    let other = saved.get(key).unwrap_or(&Value::Null);
                    alike(&format!("{path}/{key}"), one, other, calls);
                }
            }
        }
        (Value::Array(live), Value::Array(saved)) => {
            assert_eq!(live.len(), saved.len(), "{path}");
            for (at, (live, saved)) in ordered(live).into_iter().zip(ordered(saved)).enumerate() {
                alike(&format!("{path}/{at}"), live, saved, calls);
            }
        }
        (Value::Number(live), Value::Number(saved)) => {
            let value = |number: &serde_json::Number| number.as_f64().unwrap_or(f64::NAN);
            let (live, saved) = (value(live), value(saved));
            let name = path.rsplit('/').next().unwrap_or_default();
            let exact = path.contains("/sizes/") || path.ends_with("/durations/count");
            let slack = match exact {
                true => 0.0,
                false => slack(name, live.abs(), calls),
            };
            assert!((live - saved).abs() <= slack, "{path}: {live} and {saved}");
        }
        _ => assert_eq!(live, saved, "{path}"),
    }
}

/// Compares what was seen over time. Columns grow with the run: where they have done so between the
/// two, both are asked for again.
fn grids_are_alike(running: &Running, words: &[&str]) {
    for attempt in 0..5 {
        let live = running.client().json(words);
        let dir = running.directory().join(format!("{}-{attempt}", words[0]));
        running.client().json(&["save", shown(&dir)]);
        let saved = asked(running, &dir, words);
        if live["width_ns"] == saved["width_ns"] {
            return alike(words[0], &live, &saved, 0);
        }
    }
    panic!("{words:?}: never of one resolution");
}

fn answers_as_the_job_did(family: Family) {
    let running = done(job(family).options(["--analyses", ALL]));
    let dir = running.directory().join("all");
    let saved = running.client().json(&["save", shown(&dir)]);
    assert_eq!(number(&saved, "/reduced"), 0, "{saved}");
    let calls = number(&saved, "/kept");
    for words in [
        &["functions", "--per-rank"][..],
        &["matrix"],
        &["messages"],
        &["waitstates"],
    ] {
        let live = running.client().json(words);
        let saved = asked(&running, &dir, words);
        alike(words[0], &live, &saved, calls);
    }
    for words in [
        &["efficiency", "--interval", "200ms..300ms"][..],
        &["heatmap", "--metric", "mpi", "--interval", "200ms..300ms"],
    ] {
        grids_are_alike(&running, words);
    }
    // A report of both says the same.
    let live = running.client().json(&["report"]);
    let saved = asked(&running, &dir, &["report"]);
    for part in ["functions", "totals", "matrix"] {
        alike(part, &live[part], &saved[part], calls);
    }
    // The ledger is whole: every call that was entered is somewhere.
    let status = asked(&running, &dir, &["status"]);
    let ledger = "/coverage/ledger";
    assert_eq!(number(&status, &format!("{ledger}/kept")), calls);
    assert_eq!(number(&status, &format!("{ledger}/reduced")), 0);
    assert!(status.to_string().contains("saved observation"), "{status}");

    // An observation of what is open: the same calls.
    let again = running.directory().join("again");
    let line = ["open", shown(&dir), "--", "save", shown(&again)];
    let resaved = running.client().json(&line);
    assert_eq!(number(&resaved, "/kept"), calls);
    let functions = ["functions", "--per-rank"];
    let first = asked(&running, &dir, &functions);
    alike("again", &first, &asked(&running, &again, &functions), calls);
    end(running);
}

#[test]
fn open_mpi() {
    answers_as_the_job_did(Family::Ompi);
}

#[test]
fn mpich() {
    answers_as_the_job_did(Family::Mpich);
}

/// Calls and messages of two tool places on each of two hosts: one observation, with both hosts'
/// clocks.
#[test]
fn several_places_are_one_observation() {
    if !hosts::possible() {
        return;
    }
    for family in Family::ALL {
        let job = Job::run_by_invivo(family, RANKS, &program(family, "told_rounds", []));
        let job = job.fan_in("1,2").on_hosts();
        let mut running = done(job.options(["--analyses", ALL]));
        // Their ends are on the way from place to place.
        running.until("all messages to be matched", |job| {
            let told = job.client().try_json(&["messages"])?;
            let on_the_way = number(&told, "/coverage/ledger/in_flight");
            (told["sent"] == told["matched"] && on_the_way == 0).then_some(())
        });
        let dir = running.directory().join("all");
        let saved = running.client().json(&["save", shown(&dir)]);
        assert_eq!(number(&saved, "/ranks"), u64::from(RANKS), "{saved}");
        let calls = number(&saved, "/kept");
        for words in [&["functions", "--per-rank"][..], &["matrix"]] {
            let live = running.client().json(words);
            alike(words[0], &live, &asked(&running, &dir, words), calls);
        }
        // When they were is known as well as the clocks are; that they were is known.
        let live = running.client().json(&["messages"]);
        let saved = asked(&running, &dir, &["messages"]);
        for key in ["sent", "received", "matched", "unmatched"] {
            assert_eq!(live[key], saved[key], "{family:?}: {key}");
        }
        assert_eq!(live["sent"], live["matched"], "{live}");
        end(running);
    }
}

/// An observation is the same as itself, and other than one of a part of it.
#[test]
fn observations_are_compared() {
    let running = done(job(Family::Ompi));
    let [all, part] = ["all", "part"].map(|name| running.directory().join(name));
    let client = running.client();
    client.json(&["save", shown(&all)]);
    client.json(&["save", shown(&part), "--interval", "0s..200ms"]);
    let changed = |new: &Path| {
        let found = client.json(&["compare", shown(&all), shown(new)]);
        let changes = found["changes"].as_array().expect("changes").clone();
        let differs = |change: &&Value| change["base"] != change["new"];
        changes.iter().filter(differs).count()
    };
    assert_eq!(changed(&all), 0);
    assert!(changed(&part) > 0);
    let none = running.directory().join("state");
    let output = client.run(&["compare", shown(&all), shown(&none)]);
    assert!(!output.status.success());
    assert!(
        text(&output).contains("no observation"),
        "{}",
        text(&output)
    );
    end(running);
}

/// What had been given up is in no answer, and every answer says how much that is.
#[test]
fn reduced_calls_are_told() {
    let running = done(job(Family::Ompi).options(["--buffer", "64KiB"]));
    let dir = running.directory().join("full");
    let saved = running.client().json(&["save", shown(&dir)]);
    let (kept, reduced) = (number(&saved, "/kept"), number(&saved, "/reduced"));
    assert!(reduced > 1000, "{saved}");
    let functions = asked(&running, &dir, &["functions"]);
    let rows = functions["rows"].as_array().expect("rows");
    let calls: u64 = rows.iter().map(|row| number(row, "/calls")).sum();
    // Those from where on all ranks are complete.
    assert!(calls <= kept && calls > kept / 2, "{calls} of {kept}");
    let ledger = &functions["coverage"]["ledger"];
    assert_eq!(number(ledger, "/reduced"), reduced, "{ledger}");
    // Messages of which one side was given up are not matched with others.
    let messages = asked(&running, &dir, &["messages"]);
    let matched = number(&messages, "/matched/messages");
    let sent = number(&messages, "/sent/messages");
    assert!(matched > 1000 && matched <= sent, "{messages}");
    end(running);
}

/// Nothing of it runs: what needs that is refused, with the reason; damage is told; and nothing is
/// left behind.
#[test]
fn what_cannot_be_is_refused() {
    let running = done(job(Family::Ompi));
    let dir = running.directory().join("all");
    running.client().json(&["save", shown(&dir)]);
    for (words, why) in [
        (&["pause"][..], "nothing of it runs"),
        (&["reset"], "nothing of it runs"),
        (&["hang"], "while they run"),
        (&["stacks"], "while they run"),
        (&["functions", "--by", "site"], "keep no call sites"),
    ] {
        let line = [&["open", shown(&dir), "--"], words].concat();
        let output = running.client().run(&line);
        let said = text(&output);
        assert!(!output.status.success(), "{words:?}: {said}");
        assert!(
            said.contains("saved observation") && said.contains(why),
            "{words:?}: {said}"
        );
    }
    let output = running
        .client()
        .run(&["open", shown(&running.directory().join("none"))]);
    assert!(text(&output).contains("No such file"), "{}", text(&output));
    let events = dir.join("events/2.0.bins");
    let mut bytes = std::fs::read(&events).expect("its calls");
    bytes[100] ^= 1;
    std::fs::write(&events, bytes).expect("damaged");
    let output = running.client().run(&["open", shown(&dir), "--", "status"]);
    assert!(!output.status.success());
    assert!(text(&output).contains("2.0.bins"), "{}", text(&output));
    end(running);
}

/// A command that runs on, as a page or a screen: who ends the one has ended the other.
#[test]
fn a_command_that_runs_on_ends_with_it() {
    let running = done(job(Family::Ompi));
    let dir = running.directory().join("all");
    running.client().json(&["save", shown(&dir)]);
    for signal in [Signal::TERM, Signal::INT] {
        let mut opened = running
            .client()
            .command(&["open", shown(&dir), "--", "watch", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it opens");
        // Kept: without a reader it would end by itself.
        let mut lines = BufReader::new(opened.stdout.take().expect("a pipe"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("a line");
        assert!(line.contains("\"sequence\""), "{line}");
        let pid = Pid::from_raw(opened.id() as i32).expect("a process");
        kill_process(pid, signal).expect("asked to end");
        let begun = Instant::now();
        let status = loop {
            match opened.try_wait().expect("its state") {
                Some(status) => break status,
                None => assert!(begun.elapsed() < Duration::from_secs(20), "it runs on"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(status.code(), Some(128 + signal.as_raw()));
        drop(lines);
    }
    end(running);
}

/// Left open, it is in the list of jobs until it is asked to end.
#[test]
fn it_stands_in_the_list_until_it_ends() {
    let running = done(job(Family::Ompi));
    let dir = running.directory().join("all");
    running.client().json(&["save", shown(&dir)]);
    let mut opened = running
        .client()
        .command(&["open", shown(&dir)])
        .stderr(Stdio::null())
        .spawn()
        .expect("it opens");
    let listed = || {
        let list = running.client().json(&["list"]);
        let jobs = list["jobs"].as_array().expect("jobs").clone();
        let of = |job: &Value| job["observation"].as_str() == Some(shown(&dir));
        jobs.into_iter().find(of)
    };
    let begun = Instant::now();
    let job = loop {
        if let Some(job) = listed() {
            break job["job"].as_str().expect("its name").to_owned();
        }
        assert!(begun.elapsed().as_secs() < 20, "it opens");
        std::thread::sleep(Duration::from_millis(50));
    };
    let functions = running.client().json(&["functions", "--job", job.as_str()]);
    assert!(!functions["rows"].as_array().expect("rows").is_empty());
    let pid = Pid::from_raw(opened.id() as i32).expect("a process");
    kill_process(pid, Signal::INT).expect("asked to end");
    assert!(opened.wait().expect("it ends").success());
    assert!(listed().is_none(), "it is off the list");
    end(running);
}
