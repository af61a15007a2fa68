//! Windows and files.

use super::{is_healthy, lacks_rank_2, line, says, started};
use invivo_e2e::clients::number;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::Language;
use serde_json::Value;

/// Ways in which rank 2 is missing, and the function in which the others wait.
const MISSING: [(&str, &str, &str); 4] = [
    ("fence", "MPI_Win_fence", "fence 0 1 3"),
    ("open", "MPI_File_open", "open 0 1 3"),
    ("write", "MPI_File_write_at_all", "write 0 1 3"),
    ("winfree", "MPI_Win_free", "winfree 0 1 3"),
];
/// One that is late in each of these.
const LATE: [&str; 6] = ["fence", "winfree", "lock", "pscw", "open", "write"];

fn locked(family: Family) {
    let mut running = started(family, Language::C, &["lock"], []);
    // The others wait for both to free the window.
    let unmatched = |hang: &Value| {
        let findings = hang["findings"].as_array().cloned().unwrap_or_default();
        let mut findings = findings.into_iter();
        findings.find(|finding| finding["kind"] == "unmatched")
    };
    let hang = says(&mut running, |hang| unmatched(hang).is_some());
    assert_eq!(hang["verdict"], "waiting", "{family:?}: {hang}");
    let rank = unmatched(&hang).expect("seen above")["ranks"][0].clone();
    let who = (number(&rank, "/rank"), number(&rank, "/waits_for"));
    assert_eq!(who, (2, 1), "{hang}");
    assert_eq!(rank["message"]["side"], "window", "{hang}");
}

fn of_unnamed_ranks(family: Family) {
    let mut running = started(family, Language::C, &["pscw"], []);
    let hang = says(&mut running, |hang| {
        let classes = hang["classes"].as_array().cloned().unwrap_or_default();
        let site = line(Language::C, "pscw 0");
        classes
            .iter()
            .any(|class| class["function"] == "MPI_Win_wait" && class["site"] == site)
    });
    assert_ne!(hang["verdict"], "deadlock", "{hang}");
}

#[test]
fn windows_and_files_that_one_rank_never_comes_to() {
    for &(way, function, mark) in &MISSING[..3] {
        lacks_rank_2(Family::Ompi, Language::C, way, function, mark);
    }
}

#[test]
fn a_fence_never_entered_in_fortran() {
    let (way, function, mark) = MISSING[0];
    lacks_rank_2(Family::Ompi, Language::Fortran, way, function, mark);
}

#[test]
fn a_window_that_another_rank_has_locked() {
    locked(Family::Ompi);
}

#[test]
fn a_wait_for_unnamed_ranks_is_said_to_be_one() {
    of_unnamed_ranks(Family::Ompi);
}

#[test]
fn windows_and_files_of_late_ranks_are_healthy() {
    is_healthy(Family::Ompi, LATE);
}

#[test]
#[ignore = "long: the same with MPICH, and in Fortran"]
fn windows_and_files_of_mpich_and_fortran() {
    let (way, function, mark) = MISSING[0];
    lacks_rank_2(Family::Mpich, Language::Fortran, way, function, mark);
    let (way, function, mark) = MISSING[3];
    lacks_rank_2(Family::Ompi, Language::C, way, function, mark);
    for (way, function, mark) in MISSING {
        lacks_rank_2(Family::Mpich, Language::C, way, function, mark);
    }
    // Its `MPI_Win_lock` may come back at once.
    locked(Family::Mpich);
    of_unnamed_ranks(Family::Mpich);
    is_healthy(Family::Mpich, LATE);
}
