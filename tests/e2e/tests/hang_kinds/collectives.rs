//! Non-blocking collectives.

use super::{is_healthy, kind_is, lacks_rank_2, line, ranks_of, says, started};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::Language;

#[test]
fn a_collective_that_one_rank_never_begins() {
    for family in Family::ALL {
        lacks_rank_2(
            family,
            Language::C,
            "icoll",
            "MPI_Iallreduce",
            "icoll 0 1 3",
        );
    }
}

#[test]
fn one_that_is_never_begun_in_fortran() {
    let mark = "icoll 0 1 3";
    lacks_rank_2(
        Family::Ompi,
        Language::Fortran,
        "icoll",
        "MPI_Iallreduce",
        mark,
    );
    lacks_rank_2(
        Family::Mpich,
        Language::Fortran,
        "icoll",
        "MPI_Iallreduce",
        mark,
    );
}

#[test]
fn collectives_begun_in_different_orders() {
    for family in Family::ALL {
        let mut running = started(family, Language::C, &["iorder"], []);
        let hang = says(&mut running, |hang| kind_is(hang, "deadlock", "cycle"));
        let finding = &hang["findings"][0];
        assert!(ranks_of(finding).contains(&0), "{hang}");
        assert_eq!(
            finding["ranks"][0]["site"],
            line(Language::C, "iorder 0 1 2 3"),
            "{hang}"
        );
    }
}

#[test]
fn collectives_begun_with_different_roots() {
    for family in Family::ALL {
        let mut running = started(family, Language::C, &["iroot"], []);
        let hang = says(&mut running, |hang| kind_is(hang, "deadlock", "mismatch"));
        let sentence = hang["sentence"].as_str().unwrap_or_default();
        assert!(
            sentence.contains("MPI_Igather with root 0 of")
                && sentence.contains("MPI_Igather with root 1 of"),
            "{sentence}"
        );
    }
}

#[test]
fn collectives_that_are_begun_late_are_healthy() {
    for family in Family::ALL {
        is_healthy(family, "icoll");
        is_healthy(family, "iorder");
    }
}
