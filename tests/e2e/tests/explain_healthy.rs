//! Of healthy programs `invivo explain` names no fault and no rank: small ones of many kinds, and
//! LAMMPS.

use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::{Language, endless_melt, in_language, program_as, python};
use serde_json::Value;
use std::ffi::OsString;
use std::time::{Duration, Instant};

const RANKS: u32 = 4;
/// How long it looks.
const LOOK: &str = "800ms";
/// Until a kind begins.
const BEGINS: Duration = Duration::from_secs(5);
/// How often it may look: what is found now and then is what other work on the machine does.
const LOOKS: u32 = 5;
/// Of communication it may be told, as other work on the machine makes it longer, down to this
/// parallel efficiency.
const BUSY_MACHINE: f64 = 0.6;

/// This one does nothing but communicate.
const ONLY_MPI: &str = "only_transposes";
/// In the order in which the programs take them.
const IN_C: [&str; 16] = [
    "products",
    "stencil",
    "overlap",
    "ring",
    "transpose",
    ONLY_MPI,
    "pipeline",
    "farm",
    "one_sided",
    "rows_and_columns",
    "random_work",
    "rare_barrier",
    "broadcast",
    "behind_work",
    "again",
    "neighbours",
];
const IN_FORTRAN: [&str; 4] = ["rod", "matrix_vector", "monte_carlo", "parts"];
const IN_PYTHON: [&str; 4] = ["settings", "gradients", "shifts", "samples"];

/// Why what is said of a healthy program is wrong.
fn wrong(kind: &str, told: &Value) -> Option<&'static str> {
    let part = told["efficiency"]["parallel_efficiency"].as_f64();
    let part = part.unwrap_or_default();
    let late = &told["waiting"]["late"];
    let (small, receiver) = (&told["site"]["small"], &told["site"]["receiver"]);
    if !(told["rank"].is_null() && late.is_null() && receiver.is_null()) {
        return Some("a rank is named");
    }
    if !told["growth"].is_null() {
        return Some("messages are said to grow");
    }
    let says = told["sentence"].as_str().unwrap_or_default();
    match told["limit"].as_str().unwrap_or_default() {
        // Rank 0 hands out the work of the others.
        "none" if kind == "farm" && !says.starts_with("Nothing limits 3 of 4 ranks") => {
            Some("rank 0 is said to work")
        }
        "communication" if kind == ONLY_MPI && small.is_null() => None,
        "none" if kind != ONLY_MPI => None,
        "communication" if part >= BUSY_MACHINE && small.is_null() => None,
        _ => Some("a fault is named"),
    }
}

/// Lets the program go on to a kind.
fn begin(running: &Running, kind: &str) {
    running.tell(kind);
    let begun = Instant::now();
    while !running.logs().join(format!("running.{kind}")).exists() {
        assert!(begun.elapsed() < BEGINS, "{kind} does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Nothing is found in any of the program's kinds.
fn nothing_is_found(family: Family, command: &[OsString], kinds: &[&str]) {
    let mut running = Job::observed(family, RANKS, command).start();
    running.wait_for_answers();
    let mut found = Vec::new();
    for kind in kinds {
        begin(&running, kind);
        let look = || {
            let told = running.client().json(&["explain", "--for", LOOK]);
            println!("{family:?} {kind}: {}", told["sentence"]);
            wrong(kind, &told).map(|why| format!("{kind}: {why}: {told}"))
        };
        let mut is_wrong = look();
        for _ in 1..LOOKS {
            is_wrong = is_wrong.and_then(|_| look());
        }
        found.extend(is_wrong);
    }
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn in_c(family: Family) {
    let command = program_as(family, "healthy/healthy", "healthy_c", []);
    nothing_is_found(family, &command, &IN_C);
}

fn in_fortran_and_python(family: Family) {
    let command = in_language(family, "healthy", Language::Fortran, &[]);
    nothing_is_found(family, &command, &IN_FORTRAN);
    let script = paths::sources().join("healthy/healthy.py");
    let command = [python::interpreter().into(), script.into()];
    nothing_is_found(family, &command, &IN_PYTHON);
}

#[test]
fn healthy_c_programs_on_open_mpi() {
    in_c(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn healthy_c_programs_on_mpich() {
    in_c(Family::Mpich);
}

#[test]
#[ignore = "long: as those in C"]
fn healthy_fortran_and_python_programs_on_open_mpi() {
    in_fortran_and_python(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn healthy_fortran_and_python_programs_on_mpich() {
    in_fortran_and_python(Family::Mpich);
}

/// Looks at LAMMPS.
const LAMMPS_LOOKS: usize = 3;

/// Of two ranks with equal work one is named only where it lacks a processor.
#[test]
fn of_lammps_nothing_false_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = endless_melt(folder.path());
    let job = Job::run_by_invivo(Family::Ompi, 2, &command);
    let mut running = job.options(["--metrics", "usual"]).start();
    running.wait_for_answers();
    // Where other work takes processors from both in turn, that is told as turns.
    let is_right = |told: &Value| match told["limit"].as_str() {
        Some("none" | "communication" | "serialisation") => told["rank"].is_null(),
        Some("load_balance") => {
            let sentence = told["sentence"].as_str().unwrap_or_default();
            sentence.contains("could run they had no processor")
        }
        _ => false,
    };
    // A host that takes a processor away does not say so: that is found now and then, and not in
    // each of some looks.
    let look = || running.client().json(&["explain", "--for", "3s"]);
    let told = (1..LAMMPS_LOOKS).map(|_| look()).find(is_right);
    let told = told.unwrap_or_else(look);
    println!("{}", told["sentence"]);
    assert!(is_right(&told), "{told}");
}
