//! Windows and files.

use super::{is_healthy, lacks_rank_2, line, says, started};
use invivo_e2e::clients::number;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::Language;
use serde_json::Value;

#[test]
fn a_fence_that_one_rank_never_enters() {
    for family in Family::ALL {
        lacks_rank_2(family, Language::C, "fence", "MPI_Win_fence", "fence 0 1 3");
    }
}

#[test]
fn a_fence_never_entered_in_fortran() {
    let mark = "fence 0 1 3";
    for family in Family::ALL {
        lacks_rank_2(family, Language::Fortran, "fence", "MPI_Win_fence", mark);
    }
}

#[test]
fn a_window_that_one_rank_never_frees() {
    for family in Family::ALL {
        lacks_rank_2(
            family,
            Language::C,
            "winfree",
            "MPI_Win_free",
            "winfree 0 1 3",
        );
    }
}

#[test]
fn a_file_that_one_rank_never_opens() {
    for family in Family::ALL {
        lacks_rank_2(family, Language::C, "open", "MPI_File_open", "open 0 1 3");
    }
}

#[test]
fn a_collective_write_that_one_rank_never_makes() {
    for family in Family::ALL {
        let mark = "write 0 1 3";
        lacks_rank_2(family, Language::C, "write", "MPI_File_write_at_all", mark);
    }
}

#[test]
fn a_window_that_another_rank_has_locked() {
    for family in Family::ALL {
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
        assert_eq!(
            (number(&rank, "/rank"), number(&rank, "/waits_for")),
            (2, 1),
            "{hang}"
        );
        assert_eq!(rank["message"]["side"], "window", "{hang}");
    }
}

#[test]
fn a_wait_for_unnamed_ranks_is_said_to_be_one() {
    for family in Family::ALL {
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
}

#[test]
fn windows_and_files_of_late_ranks_are_healthy() {
    for family in Family::ALL {
        for way in ["fence", "winfree", "lock", "pscw", "open", "write"] {
            is_healthy(family, way);
        }
    }
}
