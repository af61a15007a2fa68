//! Ranks of which a second thread has called MPI.

use super::{is_healthy, kind_is, line, ranks_of, says, started};
use invivo_e2e::clients::number;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::Language;

fn two_sends(family: Family, way: &str, verdict: &str) {
    let mut running = started(family, Language::C, &[way], []);
    let hang = says(&mut running, |hang| kind_is(hang, verdict, "cycle"));
    let finding = &hang["findings"][0];
    assert_eq!(ranks_of(finding), [0, 1], "{hang}");
    for rank in finding["ranks"].as_array().expect("ranks") {
        assert_eq!(rank["site"], line(Language::C, "threads 0 1"), "{hang}");
        let others = (
            number(rank, "/threads_in_mpi"),
            number(rank, "/threads_outside"),
        );
        assert_eq!(others, (0, 1), "{hang}");
    }
    let sentence = hang["sentence"].as_str().unwrap_or_default();
    assert!(
        sentence.contains("rank 0 waits in MPI_Ssend")
            && sentence.contains("1 other thread of it is in its own code"),
        "{sentence}"
    );
}

/// No other thread may call MPI while one is in it.
#[test]
fn threads_that_take_turns_are_stuck_together() {
    two_sends(Family::Ompi, "threads-serialized", "deadlock");
}

/// The other thread may still receive the message.
#[test]
fn the_thread_that_is_blocked_is_named() {
    two_sends(Family::Ompi, "threads-multiple", "waiting");
}

#[test]
fn ranks_with_several_threads_are_healthy() {
    is_healthy(Family::Ompi, ["threads-multiple"]);
}

#[test]
#[ignore = "long: the same with MPICH"]
fn threads_of_mpich() {
    two_sends(Family::Mpich, "threads-serialized", "deadlock");
    two_sends(Family::Mpich, "threads-multiple", "waiting");
    is_healthy(Family::Mpich, ["threads-multiple"]);
    is_healthy(Family::Mpich, ["threads-serialized"]);
}
