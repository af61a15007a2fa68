//! What limits a job, in a sentence: programs whose limit is known, with the rank and the line.

use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::{Language, in_language, program};
use serde_json::Value;

const RANKS: u32 = 4;
/// What is measured from the start.
const MEASURED: &str = "usual,read-bytes,written-bytes@50ms";

/// How often it may look: what is found now and then is what other work on the machine does.
const LOOKS: usize = 4;

/// What is said of a program while it runs, at first, or what is expected.
fn told(family: Family, name: &str, arguments: &[&str], limit: &str) -> Value {
    let command = match *arguments {
        [kind, unit] => program(family, name, [kind, unit]),
        _ => program(family, name, []),
    };
    let mut running = Job::observed(family, RANKS, &command).start();
    running.wait_for_answers();
    let look = || running.client().json(&["explain", "--for", "3s"]);
    let is_it = |told: &Value| told["limit"] == limit;
    let told = (1..LOOKS).map(|_| look()).find(is_it).unwrap_or_else(look);
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
    let uneven = told(family, "shared_work", &["uneven", "20"], "load_balance");
    is(&uneven, "load_balance", &barrier);
    assert_eq!(uneven["rank"], RANKS - 1, "{uneven}");
    let sentence = uneven["sentence"].as_str().expect("a sentence");
    assert!(sentence.starts_with("Rank 3 computes "), "{sentence}");
    // Units of 100 ms, one rank after the other.
    let serial = told(family, "shared_work", &["serial", "100"], "serialisation");
    is(&serial, "serialisation", "shared_work.c");
    let even = told(family, "shared_work", &["even", "50"], "none");
    assert_eq!(even["limit"], "none", "{even}");
    let loops = told(family, "message_loop", &[], "communication");
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

/// Of a rank that computes longer it is said whether it sleeps, has no processor, or writes.
fn what_a_rank_does_outside_mpi_is_said(family: Family) {
    let command = program(family, "planted_faults", []);
    let job = Job::run_by_invivo(family, RANKS, &command);
    let mut running = job.options(["--metrics", MEASURED]).start();
    running.wait_for_answers();
    let of = |kind: &str, rank: u32| {
        running.go_on(kind);
        let told = running.client().json(&["explain", "--for", "3s"]);
        println!("{family:?} {kind}: {}", told["sentence"]);
        println!("{family:?} {kind}: {}", told["outside_mpi"]);
        is(&told, "load_balance", &at_mark(kind));
        assert_eq!(told["rank"], rank, "{told}");
        told
    };
    let part = |told: &Value, name: &str| told["outside_mpi"][name].as_f64();
    let says = |told: &Value, words: &str| {
        let sentence = told["sentence"].as_str().unwrap_or_default();
        sentence.contains(words)
    };
    let (no_processor, asleep) = ("could run they had no processor", "was on no processor");

    // Its work is sleep.
    let sleeps = of("imbalance", 2);
    assert!(part(&sleeps, "off_processor_share") > Some(0.6), "{sleeps}");
    assert!(!says(&sleeps, no_processor), "{sleeps}");
    assert!(
        says(&sleeps, asleep) && !says(&sleeps, "it wrote"),
        "{sleeps}"
    );

    let shares = of("shared_processor", 1);
    assert!(part(&shares, "run_delay_share") >= Some(0.3), "{shares}");
    assert!(part(&shares, "off_processor_share") < Some(0.3), "{shares}");
    assert!(
        says(&shares, no_processor) && !says(&shares, asleep),
        "{shares}"
    );

    let writes = of("io_stall", 2);
    assert!(
        part(&writes, "off_processor_share") >= Some(0.4),
        "{writes}"
    );
    assert!(part(&writes, "written_bytes_per_s") > Some(1e6), "{writes}");
    assert!(
        says(&writes, asleep) && says(&writes, "(it wrote "),
        "{writes}"
    );

    // Of what is not measured nothing is said.
    running.client().all_do(RANKS, &["metrics", "off"]);
    let silent = running.client().json(&["explain", "--for", "1s"]);
    assert_eq!(silent["outside_mpi"], Value::Null, "{silent}");
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}

/// A rank that takes messages by their senders' numbers waits for one while others are there.
#[test]
fn a_wrong_order_of_messages_is_said() {
    for family in Family::ALL {
        let command = program(family, "planted_faults", []);
        let job = Job::observed(family, RANKS, &command);
        let mut running = job.options(["--analyses", "all"]).start();
        running.wait_for_answers();
        running.go_on("wrong_order");
        let look = || {
            let told = running.client().json(&["explain", "--for", "2s"]);
            println!("{family:?}: {}", told["sentence"]);
            told
        };
        let is_it = |told: &Value| {
            let sentence = told["sentence"].as_str().expect("a sentence");
            sentence.starts_with("Rank 0 computes for ")
                && sentence.contains(" of all waiting another message was there, ")
                && told["waiting"]["other_there_share"].as_f64() >= Some(0.6)
        };
        let told = (1..LOOKS).map(|_| look()).find(is_it).unwrap_or_else(look);
        is(&told, "load_balance", &at_mark("wrong_order"));
        assert!(is_it(&told), "{told}");
        // As the table has it, by call site too.
        let sites = running.client().json(&["waitstates", "--by", "site"]);
        let rows = sites["rows"].as_array().expect("rows").iter();
        let at_line = |site: &&Value| {
            let functions = site["functions"].as_array().into_iter().flatten();
            let mut lines = functions.map(|of| of["line"].as_str().unwrap_or_default());
            lines.any(|line| line == at_mark("wrong_order"))
        };
        let waits = rows
            .filter(at_line)
            .flat_map(|site| site["waits"].as_array().expect("waits"));
        let is_it = |waits: &&Value| waits["wait_state"] == "Late Sender, Wrong Order";
        let wrong = waits.clone().find(is_it).expect("a row of it");
        assert_eq!(wrong["causers"][0]["rank"], 1, "{wrong}");
        running.tell("stop");
        assert_eq!(running.end().code(), 0);
    }
}

/// The line of a planted fault.
fn at_mark(kind: &str) -> String {
    line("planted_faults.c", &format!("/* at {kind} */"))
}

#[test]
#[ignore = "long"]
fn what_a_rank_does_outside_mpi_on_open_mpi() {
    what_a_rank_does_outside_mpi_is_said(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn what_a_rank_does_outside_mpi_on_mpich() {
    what_a_rank_does_outside_mpi_is_said(Family::Mpich);
}

#[test]
fn the_limit_is_named_on_open_mpi() {
    limits_are_named(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn the_limit_is_named_on_mpich() {
    limits_are_named(Family::Mpich);
}
