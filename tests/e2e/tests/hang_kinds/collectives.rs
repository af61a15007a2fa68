//! Non-blocking collectives.

use super::{is_healthy, kind_is, lacks_rank_2, line, ranks_of, says, started};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::Language;

fn never_begun(family: Family) {
    let mark = "icoll 0 1 3";
    lacks_rank_2(family, Language::C, "icoll", "MPI_Iallreduce", mark);
}

fn in_different_orders(family: Family) {
    let mut running = started(family, Language::C, &["iorder"], []);
    let hang = says(&mut running, |hang| kind_is(hang, "deadlock", "cycle"));
    let finding = &hang["findings"][0];
    assert!(ranks_of(finding).contains(&0), "{hang}");
    let site = &finding["ranks"][0]["site"];
    assert_eq!(site, &line(Language::C, "iorder 0 1 2 3"), "{hang}");
}

fn with_different_roots(family: Family) {
    let mut running = started(family, Language::C, &["iroot"], []);
    let hang = says(&mut running, |hang| kind_is(hang, "deadlock", "mismatch"));
    let sentence = hang["sentence"].as_str().unwrap_or_default();
    assert!(
        sentence.contains("MPI_Igather with root 0 of")
            && sentence.contains("MPI_Igather with root 1 of"),
        "{sentence}"
    );
}

#[test]
fn a_collective_that_one_rank_never_begins() {
    never_begun(Family::Ompi);
}

#[test]
fn collectives_begun_in_different_orders() {
    in_different_orders(Family::Ompi);
}

#[test]
fn collectives_begun_with_different_roots() {
    with_different_roots(Family::Ompi);
}

#[test]
fn collectives_that_are_begun_late_are_healthy() {
    is_healthy(Family::Ompi, ["icoll", "iorder"]);
}

#[test]
#[ignore = "long: the same with MPICH"]
fn non_blocking_collectives_of_mpich() {
    never_begun(Family::Mpich);
    in_different_orders(Family::Mpich);
    with_different_roots(Family::Mpich);
    is_healthy(Family::Mpich, ["icoll", "iorder"]);
}
