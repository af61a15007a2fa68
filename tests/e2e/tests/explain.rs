//! What limits a job, in a sentence: programs whose limit is known, with the rank and the line.

use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::{Language, in_language, program};
use serde_json::Value;

const RANKS: u32 = 4;

/// What is said of a program while it runs.
fn told(family: Family, name: &str, arguments: &[&str]) -> Value {
    let command = match *arguments {
        [kind, unit] => program(family, name, [kind, unit]),
        _ => program(family, name, []),
    };
    let mut running = Job::observed(family, RANKS, &command).start();
    running.wait_for_answers();
    let told = running.client().json(&["explain", "--for", "3s"]);
    let text = running.client().run(&["explain", "--for", "1s"]);
    assert!(
        text.stdout.ends_with(b"losses: none\n") || name == "message_loop",
        "{text:?}"
    );
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
    told
}

/// The line of a program with this text.
fn line(file: &str, text: &str) -> String {
    let source = std::fs::read_to_string(paths::sources().join(file)).expect("the source");
    let at = source.lines().position(|line| line.contains(text));
    format!("{file}:{}", at.expect("a line with it") + 1)
}

fn is(told: &Value, limit: &str, site: &str) {
    assert_eq!(told["limit"], limit, "{told}");
    let place = told["site"]["place"].as_str().unwrap_or_default();
    assert!(place.contains(site), "{site}: {told}");
}

fn limits_are_named(family: Family) {
    let barrier = line("shared_work.c", "CALL(MPI_Barrier)");
    // Rank 3 works for 7 units, where the mean is 4.
    let uneven = told(family, "shared_work", &["uneven", "20"]);
    is(&uneven, "load_balance", &barrier);
    assert_eq!(uneven["rank"], RANKS - 1, "{uneven}");
    let sentence = uneven["sentence"].as_str().expect("a sentence");
    assert!(sentence.starts_with("Rank 3 computes "), "{sentence}");
    // Units of 100 ms, one rank after the other.
    let serial = told(family, "shared_work", &["serial", "100"]);
    is(&serial, "serialisation", "shared_work.c");
    let even = told(family, "shared_work", &["even", "50"]);
    assert_eq!(even["limit"], "none", "{even}");
    let loops = told(family, "message_loop", &[]);
    is(
        &loops,
        "communication",
        &line("message_loop.c", "CALL(MPI_Waitall)"),
    );
}

/// Of a rank that computes longer it is said in which function, where it is sampled.
#[test]
fn the_function_of_the_culprit_is_named() {
    for family in Family::ALL {
        let command = in_language(family, "shares", Language::C, &["1"]);
        let job = Job::run_by_invivo(family, 2, &command);
        let mut running = job.options(["--sampling=500"]).start();
        running.wait_for_answers();
        let told = running.client().json(&["explain", "--for", "3s"]);
        assert_eq!(
            (&told["limit"], &told["rank"]),
            (&"load_balance".into(), &1.into()),
            "{told}"
        );
        let computing = &told["computing"];
        assert_eq!(computing["function"], "kernel", "{told}");
        let is_line = |line: &str| line.starts_with("shares.c:");
        assert!(computing["line"].as_str().is_some_and(is_line), "{told}");
        assert!(computing["share"].as_f64() > Some(0.9), "{told}");
        let sentence = told["sentence"].as_str().expect("a sentence");
        assert!(
            sentence.contains(" % of it in kernel (shares.c:"),
            "{sentence}"
        );
        println!("{family:?}: {sentence}");
        running.tell("stop");
        assert_eq!(running.end().code(), 0);
    }
}

#[test]
fn the_limit_is_named_on_open_mpi() {
    limits_are_named(Family::Ompi);
}

#[test]
fn the_limit_is_named_on_mpich() {
    limits_are_named(Family::Mpich);
}
