//! A rank that crashes leaves the call path of the thread that met the fault, and ends as it does
//! without Invivo.

use invivo_e2e::checks;
use invivo_e2e::job::{Ended, Job};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language, marked_line, python};
use serde_json::Value;
use std::ffi::OsString;

const RANKS: u32 = 2;
/// SIGKILL, as it stands in a status.
const KILLED: i32 = 9;

/// A job that ends by a fault, with and without Invivo.
struct Both {
    what: String,
    bare: Ended,
    observed: Ended,
}

fn both(family: Family, language: Language, way: &str) -> Both {
    let command = in_language(family, "faults", language, &[way]);
    both_of(family, format!("{way}, {family:?}, {language:?}"), &command)
}

fn both_of(family: Family, what: String, command: &[OsString]) -> Both {
    let (bare, observed) = std::thread::scope(|scope| {
        let bare = scope.spawn(|| Job::bare(family, RANKS, command).at_the_same_time().run());
        let observed = Job::observed(family, RANKS, command)
            .at_the_same_time()
            .run();
        (bare.join().expect("the bare run"), observed)
    });
    // MPICH's launcher kills the others, and adds the SIGKILL of those that it happens to see
    // dying: in bare runs of three and more processes as well. The end of a rank that exits may be
    // missed.
    let killed = [bare.code() | KILLED, KILLED];
    let is_same = bare.code() == observed.code();
    let is_added = !family.is_open_mpi() && bare.code() != 0 && killed.contains(&observed.code());
    assert!(is_same || is_added, "{what}: status {}", observed.code());
    assert_eq!(bare.stdout(), observed.stdout(), "{what}: output");
    // What MPI's own handler says. Its frames may hold one of ours.
    let signals = |ended: &Ended| -> Vec<usize> {
        let texts = ended.stderr().into_iter();
        texts.map(|text| text.matches("Signal: ").count()).collect()
    };
    assert_eq!(signals(&bare), signals(&observed), "{what}: handlers");
    observed.assert_nothing_left();
    checks::conserved(&observed.report(), RANKS);
    Both {
        what,
        bare,
        observed,
    }
}

impl Both {
    /// The fault that the report has of rank 1.
    fn fault(&self) -> Value {
        let ended = self.observed.report().ended;
        let one = ended.into_iter().find(|ended| ended.rank == 1);
        let one = one.unwrap_or_else(|| panic!("{}: rank 1 did not end", self.what));
        one.fault
            .unwrap_or_else(|| panic!("{}: no fault", self.what))
    }

    /// The line at the end of the job.
    fn line(&self) -> String {
        let lines = self.observed.our_lines();
        let line = lines.iter().find(|line| line.starts_with("invivo: job "));
        line.unwrap_or_else(|| panic!("{}: {lines:?}", self.what))
            .clone()
    }

    /// The path goes through these functions in this order, the first of them at this line, and
    /// the job's line names it.
    fn has_path(&self, functions: &[&str], expected: &str) {
        let fault = self.fault();
        let path = fault["path"].as_array().expect("a path");
        let name = |step: &Value| {
            let name = step["function"].as_str().unwrap_or_default().to_owned();
            name.strip_prefix("__work_MOD_")
                .map_or(name.clone(), str::to_owned)
        };
        let own: Vec<String> = path
            .iter()
            .map(name)
            .filter(|name| functions.contains(&name.as_str()))
            .collect();
        assert_eq!(own, functions, "{}: {fault}", self.what);
        let first = path.iter().find(|step| name(step) == functions[0]);
        assert_eq!(
            first.expect("it is there")["line"],
            expected,
            "{}: {fault}",
            self.what
        );
        let line = self.line();
        assert!(
            line.contains(&format!(" at {expected}")),
            "{}: {line}",
            self.what
        );
    }
}

/// Ways of the program in C, functions of the path, and the signal.
const WAYS: [(&str, &[&str], i64); 10] = [
    ("segv", &["segv", "fault", "main"], 11),
    ("bus", &["bus", "fault", "main"], 7),
    ("fpe", &["fpe", "fault", "main"], 8),
    ("ill", &["ill", "fault", "main"], 4),
    ("abort", &["give_up", "fault", "main"], 6),
    ("copy", &["copy", "fault", "main"], 11),
    ("call", &["call", "fault", "main"], 11),
    ("raise", &["fault", "main"], 8),
    ("thread", &["segv", "in_thread"], 11),
    ("chain", &["chained", "segv", "fault", "main"], 11),
];

fn paths(family: Family) {
    for (way, functions, signal) in WAYS {
        let both = both(family, Language::C, way);
        let mark = match way {
            "thread" => "segv",
            way => way,
        };
        both.has_path(functions, &marked_line("faults", Language::C, mark));
        let fault = both.fault();
        assert_eq!(fault["signal"], signal, "{}: {fault}", both.what);
        assert_eq!(
            fault["first_thread"],
            way != "thread",
            "{}: {fault}",
            both.what
        );
        assert_eq!(
            fault["address"],
            match way {
                "segv" | "copy" | "thread" => Value::from(8),
                _ => fault["address"].clone(),
            },
            "{}",
            both.what
        );
    }
}

#[test]
fn each_fault_leaves_its_path_on_open_mpi() {
    paths(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn each_fault_leaves_its_path_on_mpich() {
    paths(Family::Mpich);
}

#[test]
fn a_fault_in_the_library_names_its_caller() {
    for family in Family::ALL {
        let both = both(family, Language::C, "send");
        let line = marked_line("faults", Language::C, "send");
        both.has_path(&["send", "fault", "main"], &line);
        let line = both.line();
        assert!(
            line.contains("(SIGSEGV), in MPI_Send, called from send at "),
            "{line}"
        );
    }
}

/// The first thread gets a stack on which a handler has room.
#[test]
fn a_full_stack_leaves_its_path() {
    for family in Family::ALL {
        let both = both(family, Language::C, "overflow");
        let fault = both.fault();
        let path = fault["path"].as_array().expect("a path");
        assert!(path.len() > 8, "{}: {fault}", both.what);
        let in_it = path.iter().filter(|step| step["function"] == "overflow");
        assert!(in_it.count() > 8, "{}: {fault}", both.what);
    }
}

#[test]
fn faults_in_fortran_leave_their_paths() {
    for family in Family::ALL {
        let segv = both(family, Language::Fortran, "segv");
        segv.has_path(
            &["touch"],
            &marked_line("faults", Language::Fortran, "segv"),
        );
        // Its library takes all handlers away before it ends the program.
        let abort = both(family, Language::Fortran, "abort");
        assert!(abort.line().contains("(SIGABRT), outside MPI"));
    }
}

/// The path of a rank that runs Python names its functions, and not the interpreter's.
#[test]
fn faults_in_python_leave_their_paths() {
    for family in Family::ALL {
        for (way, function, signal) in [("aborts", "give_up", 6), ("reads", "read", 11)] {
            let what = format!("{way}, {family:?}, Python");
            let both = both_of(family, what, &python::known_calls(way));
            let line = python::marked_line("solve.py", way);
            both.has_path(&[function, "fault", "main", "<module>"], &line);
            let fault = both.fault();
            assert_eq!(fault["signal"], signal, "{}: {fault}", both.what);
            let path = fault["path"].as_array().expect("a path");
            let files = path.iter().filter_map(|step| step["file"].as_str());
            assert!(
                files.filter(|file| file.contains("ython3")).count() == 0,
                "{}: {fault}",
                both.what
            );
        }
    }
}

/// Handlers that live with faults, and children that do not, are as without us.
#[test]
fn faults_that_end_no_rank_are_not_reported() {
    for family in Family::ALL {
        for way in ["lives", "child"] {
            let both = both(family, Language::C, way);
            assert_eq!(both.observed.code(), 0, "{}", both.what);
            assert!(both.observed.report().ended.is_empty(), "{}", both.what);
        }
    }
}

/// The rank's own parent sees the same signal, and a core where there was one.
#[test]
fn a_parent_sees_the_same_end() {
    for family in Family::ALL {
        let both = both(family, Language::C, "watched");
        let said = both.bare.stdout().concat();
        assert!(said.contains("signal 11, core "), "{}: {said}", both.what);
    }
}
