//! Loops are found without marks, beside the log of a program that has loops in loops.

use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::call_log::{Call, CallLog};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language, marked_line};
use serde_json::Value;

const RANKS: u32 = 4;
const STEPS: u64 = 800;
const SWEEPS: u64 = 6;
const CHECKPOINTS: u64 = STEPS / 20;
/// Between what the program logs and what is recorded, in ns.
const LOGGED_NS: u64 = 2_000_000;

/// The row whose iterations begin at this mark of the program.
fn loop_at<'a>(answer: &'a Value, mark: &str) -> &'a Value {
    let line = marked_line("iterations", Language::C, mark);
    let rows = answer["rows"].as_array().expect("rows");
    let begins = |row: &&Value| {
        let functions = row["begin"]["functions"].as_array().expect("functions");
        functions.iter().any(|of| of["line"] == line.as_str())
    };
    let mut rows = rows.iter().filter(begins);
    let row = rows.next();
    row.unwrap_or_else(|| panic!("no loop begins at {mark}, {line}: {answer:#}"))
}

/// From one call of a function to the next: begin and end in ns, and whether another function was
/// called in between.
fn rounds(log: &CallLog, function: &str, other: &str) -> Vec<(u64, u64, bool)> {
    let mut rounds = Vec::new();
    let mut since: Option<&Call> = None;
    let mut has_other = false;
    for call in &log.calls {
        if call.function == function {
            if let Some(from) = since {
                rounds.push((from.begin_ns, call.begin_ns, has_other));
            }
            (since, has_other) = (Some(call), false);
        }
        has_other |= call.function == other;
    }
    rounds
}

/// The same of all ranks, those that are as usual.
fn usual(logs: &[CallLog], function: &str, other: &str) -> Vec<(u64, u64)> {
    let all = logs.iter().flat_map(|log| rounds(log, function, other));
    let usual = all.filter(|(_, _, has_other)| !has_other);
    usual.map(|(from, to, _)| (from, to)).collect()
}

fn mean_ns(rounds: &[(u64, u64)]) -> f64 {
    let sum: u64 = rounds.iter().map(|(from, to)| to - from).sum();
    sum as f64 / rounds.len() as f64
}

/// That a row has the mean of these rounds.
fn has_mean(row: &Value, rounds: &[(u64, u64)], within: f64) {
    let told = row["mean_ns"].as_f64().expect("a mean");
    let logged = mean_ns(rounds);
    let off = (told - logged).abs() / logged;
    assert!(off <= within, "{told} ns, logged {logged} ns: {row:#}");
}

/// All calls have been taken, and places have names.
fn answer_when_done(job: &mut Running) -> Value {
    job.until("all calls, with names", |job| {
        let answer = job.client().try_json(&["iterations"])?;
        let left = |what| number(&answer, &format!("/coverage/ledger/{what}"));
        let rows = answer["rows"].as_array()?;
        let named = rows.iter().all(|row| {
            let functions = row["begin"]["functions"].as_array();
            functions.is_some_and(|of| !of.is_empty())
        });
        let steps = rows.iter().map(|row| number(row, "/iterations_max"));
        let is_done = steps.max() == Some(SWEEPS * STEPS - 1);
        (is_done && named && left("open") + left("in_flight") == 0).then_some(answer)
    })
}

fn loops_are_those_of_the_program(family: Family, fan_in: &'static str) {
    let command = in_language(family, "iterations", Language::C, &[]);
    let mut job = Job::observed(family, RANKS, &command)
        .fan_in(fan_in)
        .start();
    job.wait_for_notes("done");
    let logs = CallLog::read_all(&job.logs(), RANKS);
    let answer = answer_when_done(&mut job);
    let begin_ns = number(&answer, "/begin_ns");
    let ranks = u64::from(RANKS);

    // Steps: those that write checkpoints are told apart.
    let steps = loop_at(&answer, "step");
    let of = |what: &str| number(steps, &format!("/{what}"));
    assert_eq!(
        (of("iterations_min"), of("iterations_max")),
        (STEPS - 1, STEPS - 1)
    );
    assert_eq!(
        (of("ranks"), steps["bursts"].as_bool()),
        (ranks, Some(false))
    );
    assert_eq!(of("others"), ranks * CHECKPOINTS);
    assert_eq!(of("usual"), ranks * (STEPS - 1 - CHECKPOINTS));
    let logged = usual(&logs, "MPI_Barrier", "MPI_Bcast");
    has_mean(steps, &logged, 0.005);
    // The exchange before the sweeps is one as well, as a burst of two.
    assert!((1..=2).contains(&of("places")), "{answer:#}");
    assert!(steps["share"].as_f64() > Some(0.9), "{steps:#}");

    // The longest is one that its rank has logged.
    let longest = logged.iter().map(|(from, to)| to - from).max();
    assert!(
        of("max_ns").abs_diff(longest.expect("steps")) <= LOGGED_NS,
        "{steps:#}"
    );
    let of_rank = usual(
        &logs[of("max_rank") as usize..][..1],
        "MPI_Barrier",
        "MPI_Bcast",
    );
    let from_ns = begin_ns + of("max_from_ns");
    let is_logged = of_rank.iter().any(|(from, to)| {
        from.abs_diff(from_ns) <= LOGGED_NS && (to - from).abs_diff(of("max_ns")) <= LOGGED_NS
    });
    assert!(is_logged, "{steps:#}");
    let first = logged.iter().map(|(from, _)| *from).min().expect("steps");
    let last = logged.iter().map(|(_, to)| *to).max().expect("steps");
    assert!(
        (begin_ns + of("first_from_ns")).abs_diff(first) <= LOGGED_NS,
        "{steps:#}"
    );
    assert!(
        (begin_ns + of("last_to_ns")).abs_diff(last) <= LOGGED_NS,
        "{steps:#}"
    );

    // Sweeps within a step, and what is around the steps between two checkpoints.
    let sweeps = loop_at(&answer, "sweep");
    assert_eq!(number(sweeps, "/usual"), ranks * (SWEEPS - 1) * STEPS);
    assert_eq!(number(sweeps, "/others"), ranks * (STEPS - 1));
    has_mean(sweeps, &usual(&logs, "MPI_Allreduce", "MPI_Barrier"), 0.005);
    let checkpoints = loop_at(&answer, "checkpoint");
    assert_eq!(number(checkpoints, "/iterations_max"), CHECKPOINTS - 1);
    assert_eq!(number(checkpoints, "/others"), 0);
    has_mean(checkpoints, &usual(&logs, "MPI_Bcast", ""), 0.005);

    // Steps of the second half are longer: an interval says so.
    let half = logged[logged.len() / 8].1 - begin_ns;
    let end = last - begin_ns;
    let in_half = |from_ns: u64, to_ns: u64| {
        let interval = format!("{}ms..{}ms", from_ns / 1_000_000, to_ns / 1_000_000);
        let answer = job.client().json(&["iterations", "--interval", &interval]);
        let [from, to] = ["from", "to"].map(|of| number(&answer, &format!("/interval/{of}_ns")));
        let ended = |(_, at): &&(u64, u64)| (begin_ns + from..begin_ns + to).contains(at);
        let rounds: Vec<_> = logged.iter().filter(ended).copied().collect();
        has_mean(loop_at(&answer, "step"), &rounds, 0.02);
        loop_at(&answer, "step")["mean_ns"]
            .as_f64()
            .expect("a mean")
    };
    let (early, late) = (
        in_half(1_000_000, half.saturating_sub(1_100_000_000)),
        in_half(half + 1_100_000_000, end),
    );
    assert!(late > 1.2 * early, "{early} {late}");

    let rows = answer["rows"].as_array().expect("rows");
    let number_of_steps = rows.iter().position(|row| row == steps).expect("a row") + 1;
    shows_one(&job, steps, &number_of_steps.to_string());
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    ended.assert_printed(|rank| format!("rank {rank}: 0 wrong\n"));
    ended.assert_nothing_left();
}

/// One step of all ranks: the sweeps in it and the barriers at its ends.
fn shows_one(job: &Running, steps: &Value, number_of_steps: &str) {
    let of = |what: &str| number(steps, &format!("/{what}"));
    let text = job.client().run(&["iterations"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let line = marked_line("iterations", Language::C, "step");
    assert!(
        text.contains("MPI_Barrier") && text.contains(&line),
        "{text}"
    );
    assert!(text.contains("an iteration begins with"), "{text}");

    for (which, length_ns) in [
        ("last", of("last_to_ns") - of("last_from_ns")),
        ("longest", of("max_ns")),
    ] {
        let asked = ["timeline", "--iteration", which, "--loop", number_of_steps];
        let pages = job.client().run(&[&asked[..], &["--json"]].concat());
        let pages = String::from_utf8_lossy(&pages.stdout).into_owned();
        let mut sweeps = 0;
        for page in pages.lines() {
            let page: Value = serde_json::from_str(page).expect("a page");
            let told = number(&page, "/to_ns") - number(&page, "/from_ns");
            // The clock is known better than when it was.
            assert!(
                told.abs_diff(length_ns) <= 1_000,
                "{which}: {told} {length_ns}"
            );
            let pieces = page["pieces"].as_array().expect("pieces").iter();
            let calls = pieces.flat_map(|piece| piece["calls"].as_array().expect("calls"));
            sweeps += calls
                .filter(|call| call["function"] == "MPI_Allreduce")
                .count() as u64;
        }
        // Ranks are not at the same point at the same time.
        let all = u64::from(RANKS) * SWEEPS;
        assert!((all - 4..=all + 4).contains(&sweeps), "{which}: {sweeps}");
        let text = job.client().run(&asked);
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        assert!(text.starts_with(&format!(
            "the {which} iteration of the loop at MPI_Barrier in "
        )));
    }
    let none = job
        .client()
        .run(&["timeline", "--iteration", "--loop", "99"]);
    assert!(!none.status.success());
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(said.contains("there is no loop 99"), "{said}");
}

#[test]
fn loops_are_those_of_the_program_on_open_mpi() {
    loops_are_those_of_the_program(Family::Ompi, "4");
}

#[test]
fn loops_are_those_of_the_program_on_mpich() {
    loops_are_those_of_the_program(Family::Mpich, "4");
}

/// Ranks of several places are in the same loops.
#[test]
fn loops_are_of_all_places() {
    loops_are_those_of_the_program(Family::Ompi, "2");
}
