//! Wait states beside those that a program's own log of its calls has: each alone and all together,
//! on the world and on halves of it.

mod expected;

use expected::{Expected, expected, lines};
use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::Job;
use invivo_e2e::logs::call_log::CallLog;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language};
use serde_json::Value;

const ROUNDS: usize = 12;
/// Between the program's reading of its clock and the begin or end of a call: what a rank may lose
/// its processor for now and then, spread over all calls.
const READING_NS: u64 = 40_000;

/// Nothing within a part of it, and as much as `calls` readings of the clock; else what differs.
fn differs(part: u64, what: &str, told: u64, expected: u64, calls: u64) -> Option<String> {
    let tolerance = part + calls * READING_NS;
    (told.abs_diff(expected) > tolerance)
        .then(|| format!("{what}: {told} ns instead of {expected}, {calls} calls"))
}

fn rows<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().map_or(&[], Vec::as_slice)
}

/// What is answered, and what it should be.
struct Answer {
    waits: Value,
    by_site: Value,
    expected: Expected,
}

/// Runs the program, and gives the answer when all calls are met, with what its log says.
fn answer(family: Family, kind: &str, ranks: u32, fan_in: &'static str) -> Answer {
    let rounds = ROUNDS.to_string();
    let command = in_language(family, "wait_states", Language::C, &[kind, &rounds]);
    // Held until all tool processes know the job's time: calls that begin before have no place.
    let job = Job::observed(family, ranks, &command).fan_in(fan_in);
    let mut running = job.options(["--hold", "--analyses", "all"]).start();
    running.wait_for_answers();
    running.client().resume(ranks);
    running.wait_for_notes("done");
    let logs = CallLog::read_all(&running.logs(), ranks);
    let calls = 15 * ROUNDS as u64 * u64::from(ranks);
    let all_met = |answer: &Value| {
        let count = |what| number(answer, &format!("/calls/{what}"));
        count("met") + count("untimed") == calls
    };
    let all_matched = |answer: &Value| number(answer, "/matched/messages") == 2 * ROUNDS as u64;
    running.until("all messages to be matched", |job| {
        job.client().try_json(&["messages"]).filter(all_matched)
    });
    let answer = running.until("all collectives to be met", |job| {
        job.client().try_json(&["waitstates"]).filter(all_met)
    });
    let text = running.client().run(&["waitstates"]).stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    println!("{text}");
    assert!(
        kind == "even" || text.contains("made others wait"),
        "{text}"
    );
    let by_site = running.until("names at call sites", |job| {
        let answer = job.client().try_json(&["waitstates", "--by", "site"])?;
        (number(&answer, "/rows_unnamed") == 0).then_some(answer)
    });
    let text = running.client().run(&["waitstates", "--by", "site"]).stdout;
    println!("{}", String::from_utf8_lossy(&text));
    // What lies behind a reset only counts from there.
    running.client().all_do(ranks, &["reset"]);
    let behind = running.client().json(&["waitstates"]);
    assert!(rows(&behind, "rows").is_empty(), "{behind}");
    let behind = running.client().json(&["waitstates", "--by", "site"]);
    assert!(site_waits(&behind).is_empty(), "{behind}");
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), ranks);
    ended.assert_nothing_left();
    Answer {
        waits: answer,
        by_site,
        expected: expected(&logs),
    }
}

/// A row of waiting by site: the function, the line, and the waiting.
fn site_waits(of: &Value) -> Vec<(&str, String, &Value)> {
    let mut all = Vec::new();
    for site in rows(of, "rows") {
        let function = site["calls"]["function"].as_str().unwrap_or_default();
        let line = rows(site, "functions").last();
        let line = line.and_then(|of| of["line"].as_str()).unwrap_or_default();
        let waits = rows(site, "waits").iter();
        all.extend(waits.map(|waits| (function, line.to_owned(), waits)));
    }
    all
}

/// In what the table by call site differs from the program's own log, and from the other table.
fn differences_by_site(of: &Answer, ranks: u32) -> Vec<String> {
    let told = site_waits(&of.by_site);
    // Both tables are of the same waits, to the nanosecond.
    for row in rows(&of.waits, "rows") {
        let is_it = |(function, _, waits): &&(&str, String, &Value)| {
            row["function"] == *function && row["wait_state"] == waits["wait_state"]
        };
        let ns = told.iter().filter(is_it);
        let ns: u64 = ns.map(|(.., waits)| number(waits, "/time_ns")).sum();
        assert_eq!(ns, number(row, "/time_ns"), "{row} in {}", of.by_site);
    }
    let mut differences = Vec::new();
    for ((function, nth), causers) in &of.expected.sites {
        let line = lines(function).swap_remove(*nth);
        let is_it = |(name, at, waits): &&(&str, String, &Value)| {
            let state = waits["wait_state"].as_str().unwrap_or_default();
            let is_whole = !state.contains("Completion") && waits["part_of"] == "";
            name == function && *at == line && is_whole
        };
        let Some((.., waits)) = told.iter().find(is_it) else {
            panic!("nobody waits in {function} at {line}: {}", of.by_site);
        };
        let ns: u64 = causers.values().sum();
        let calls = ROUNDS as u64 * u64::from(ranks);
        let what = format!("{function} at {line}");
        differences.extend(differs(
            ns / 100,
            &what,
            number(waits, "/time_ns"),
            ns,
            calls,
        ));
        let named = rows(waits, "causers");
        let named = named.iter().map(|of| number(of, "/time_ns")).sum::<u64>();
        // Of four ranks, and so few causers, all is known.
        assert!(named <= number(waits, "/time_ns"), "{waits}");
        assert!(ranks > 4 || named == number(waits, "/time_ns"), "{waits}");
        let (&most, &ns) = (causers.iter().max_by_key(|(_, ns)| **ns)).expect("somebody");
        let first = &rows(waits, "causers")[0];
        // Of two that come together in a barrier nobody knows who is seen as the last.
        let is_clear = causers.values().all(|of| *of == ns || *of < ns / 2);
        if is_clear {
            assert_eq!(number(first, "/rank"), most as u64, "{function}: {waits}");
            let what = format!("{what} for rank {most}");
            let part = ns / 20;
            differences.extend(differs(part, &what, number(first, "/time_ns"), ns, calls));
        }
    }
    differences
}

/// A rank that loses its processor between the program's look at the clock and the shim's makes a
/// sum differ, in one run of hundreds; what is wrong differs in the next one as well.
fn known(family: Family, ranks: u32, fan_in: &'static str) {
    let first = differences(family, ranks, fan_in);
    if !first.is_empty() {
        println!("once more, because of {first:?}");
        let second = differences(family, ranks, fan_in);
        assert!(second.is_empty(), "{first:?}, and then {second:?}");
    }
}

/// In what the answer differs from what the program has written down.
fn differences(family: Family, ranks: u32, fan_in: &'static str) -> Vec<String> {
    let told = answer(family, "late", ranks, fan_in);
    let mut differences = differences_by_site(&told, ranks);
    let Answer {
        waits: answer,
        expected,
        ..
    } = told;
    let untimed = number(&answer, "/calls/untimed");
    assert!(
        untimed <= u64::from(ranks),
        "the pause behind MPI_Init alone: {answer}"
    );
    let rounds = ROUNDS as u64;
    for ((state, function), &ns) in &expected.kinds {
        let is_it = |row: &&Value| row["wait_state"] == *state && row["function"] == *function;
        let told = rows(&answer, "rows").iter().find(is_it);
        let told = told.map_or(0, |row| number(row, "/time_ns"));
        let calls = 3 * rounds * u64::from(ranks);
        let what = format!("{state} in {function}");
        differences.extend(differs(ns / 100, &what, told, ns, calls));
    }
    for what in ["waited", "caused"] {
        let of = match what {
            "waited" => &expected.waited,
            _ => &expected.caused,
        };
        for (&rank, &ns) in of {
            let row = rows(&answer, "ranks")
                .iter()
                .find(|row| number(row, "/rank") == rank as u64);
            let completion = |row: &&Value| {
                row["wait_state"]
                    .as_str()
                    .is_some_and(|name| name.contains("Completion"))
            };
            let completions = row.map_or(0, |row| {
                let rows = rows(row, "rows").iter().filter(completion);
                rows.map(|row| number(row, "/time_ns")).sum::<u64>()
            });
            let told = row.map_or(0, |row| number(row, &format!("/{what}_ns")));
            let told = if what == "waited" {
                told - completions
            } else {
                told
            };
            // Of two that come together in a barrier nobody knows who is seen as the last: a rank
            // may lose its processor between the program's look at the clock and the shim's.
            let part = if what == "caused" { ns / 20 } else { ns / 100 };
            let calls = 16 * rounds * u64::from(ranks);
            let what = format!("rank {rank} {what}");
            differences.extend(differs(part, &what, told, ns, calls));
        }
        let most = of
            .iter()
            .max_by_key(|(_, ns)| **ns)
            .map(|(rank, _)| *rank as u64);
        if what == "caused" {
            let told = rows(&answer, "ranks").iter();
            let told = told.max_by_key(|row| number(row, "/caused_ns"));
            assert_eq!(told.map(|row| number(row, "/rank")), most, "{answer}");
        }
    }
    let looks = |row: &&Value| row["function"] == "MPI_Test";
    assert_eq!(rows(&answer, "rows").iter().find(looks), None, "{answer}");
    assert_eq!(rows(&answer, "communicators").len(), 3, "{answer}");
    assert_eq!(number(&answer, "/unblamed_ns"), 0);
    differences
}

#[test]
fn below_one_place_on_open_mpi() {
    known(Family::Ompi, 4, "4");
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn below_one_place_on_mpich() {
    known(Family::Mpich, 4, "4");
}

#[test]
fn from_place_to_place() {
    known(Family::Ompi, 4, "2");
    known(Family::Mpich, 4, "1");
}

/// Eight ranks for each core here, so that most of them wait for a processor as well.
#[test]
#[ignore = "long: sixteen ranks, on both MPIs"]
fn of_sixteen_ranks() {
    known(Family::Ompi, 16, "8");
    known(Family::Mpich, 16, "4");
}

/// Where nobody is late, nobody is told to be: what is left is what ranks wait for a processor.
#[test]
fn nobody_is_late_where_all_are_even() {
    let even = answer(Family::Mpich, "even", 4, "4").waits;
    let late = answer(Family::Mpich, "late", 4, "4").waits;
    let sum = |answer: &Value| -> u64 {
        rows(answer, "rows")
            .iter()
            .map(|row| number(row, "/time_ns"))
            .sum()
    };
    // Of a busy machine's stalls each is waited for by three.
    assert!(sum(&even) < sum(&late) / 2, "{even}\n{late}");
}

/// What rank 2 and rank 1 make the others wait, who sleep for known times.
fn known_in_fortran(family: Family) {
    const RANKS: u32 = 4;
    const ROUNDS: u64 = 10;
    const LATE_NS: u64 = 100_000_000;
    let rounds = ROUNDS.to_string();
    let command = in_language(family, "wait_states", Language::Fortran, &[&rounds]);
    let mut running = Job::observed(family, RANKS, &command).start();
    running.wait_for_answers();
    // Three wait for rank 2, three for the root, and three for rank 3; a barrier behind the
    // initialisation may begin before the job's time is known.
    let all = (3 * ROUNDS + 1) * u64::from(RANKS);
    let answer = running.until("all collectives to be met", |job| {
        let answer = job.client().try_json(&["waitstates"])?;
        let of = |what| number(&answer, &format!("/calls/{what}"));
        (of("met") + of("untimed") == all).then_some(answer)
    });
    let by_site = running.until("names at call sites", |job| {
        let answer = job.client().try_json(&["waitstates", "--by", "site"])?;
        (number(&answer, "/rows_unnamed") == 0).then_some(answer)
    });
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
    for (causer, function, state) in [
        (2, "MPI_Allreduce", "Wait at N x N"),
        (1, "MPI_Bcast", "Late Broadcast"),
        (3, "MPI_Wait", "Wait at Barrier"),
    ] {
        // At the line of the program, and not in the layer of the MPI library below it.
        let sites = site_waits(&by_site);
        let is_it = |(name, _, waits): &&(&str, String, &Value)| {
            *name == function && waits["wait_state"] == state
        };
        let of: Vec<_> = sites.iter().filter(is_it).collect();
        let [(_, line, _), ..] = &of[..] else {
            panic!("{function} at one line: {by_site}");
        };
        assert!(line.starts_with("wait_states.f90:"), "{line}");
        // A compiler may write the call of a line twice, each for some of the ranks.
        for (_, at, waits) in &of {
            assert_eq!(at, line, "{by_site}");
            assert_eq!(number(waits, "/causers/0/rank"), causer, "{waits}");
        }
        let ranks = rows(&answer, "ranks").iter();
        let of = ranks.clone().find(|row| number(row, "/rank") == causer);
        let of = of.map_or(&[][..], |of| rows(of, "rows")).iter();
        let mut of = of.filter(|row| row["function"] == function && row["wait_state"] == state);
        let told = of.next().map_or(0, |row| number(row, "/caused_ns"));
        // Sleeps are never shorter, and longer where the machine is busy: a stall of the one counts
        // for all three. Those of a waiter take from it.
        let least = 3 * ROUNDS * LATE_NS;
        assert!(
            (least * 8 / 10..least * 16 / 10).contains(&told),
            "{told} ns for rank {causer}: {answer}"
        );
    }
}

#[test]
fn known_times_in_fortran() {
    known_in_fortran(Family::Ompi);
    known_in_fortran(Family::Mpich);
}
