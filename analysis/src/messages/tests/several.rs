//! Calls that complete several receives, of which the answer is known beforehand.

use super::known::{call, facts, two_places};
use super::*;
use invivo_proto::ids::RegionId;
use invivo_proto::mpi::peer;

/// Rank 0 completes two receives of rank 1 in one call, of this function.
fn two_at_once(function: &str) -> Sums {
    let mut places = two_places();
    let region = job::region(function);
    let mut completes = call(facts(RecordKind::Plain, peer::NONE), 100, 900);
    completes.0.facts.region = region;
    completes.1 = Vec::from([1, 2].map(|request| Part {
        facts: Facts {
            tag: request,
            ..facts(RecordKind::CompletedRecv, 1)
        },
        request: request as u64,
        posted: 0,
    }));
    places.record(0, &completes, 0, ALWAYS);
    for (tag, begin) in [(1, 300), (2, 700)] {
        let mut send = call(facts(RecordKind::Send, 0), begin, begin + 10);
        send.0.facts.tag = tag;
        places.record(1, &send, 0, ALWAYS);
    }
    places.settle();
    let sums = places.sums();
    assert_eq!(sums.matched.messages, 2);
    sums
}

#[test]
fn a_call_that_completes_several_waits_once() {
    for function in ["MPI_Waitall", "MPI_Waitsome"] {
        let sums = two_at_once(function);
        let expected = (1, 3 * 600);
        assert_eq!((sums.late_sender.count, sums.late_sender.sum_ns), expected);
    }
}

#[test]
fn who_only_looks_does_not_wait() {
    for function in ["MPI_Testall", "MPI_Testsome", "MPI_Testany", "MPI_Test"] {
        let sums = two_at_once(function);
        assert_eq!((sums.transfer.count, sums.late_sender.count), (2, 0));
    }
}

/// What does not fit into a record is told behind it, and is of the same call.
#[test]
fn more_parts_of_a_call_are_no_other_call() {
    let mut places = two_places();
    let part = |request: i32| Part {
        facts: Facts {
            tag: request,
            ..facts(RecordKind::CompletedRecv, 1)
        },
        request: request as u64,
        posted: 0,
    };
    let (mut first, _) = call(facts(RecordKind::Plain, peer::NONE), 100, 900);
    first.facts.region = RegionId(1);
    let place = &mut places.places[0];
    let of = Of {
        rank: Rank(0),
        epoch: 0,
        begin: 100,
        end: 900,
        clipping: Clipping::Whole,
        communicators: &place.communicators,
        job_ns,
    };
    place.messages.record(&of, &first, &[part(1), part(2)]);
    place.messages.record_more(&of, &[part(3)]);
    let mut heard = Vec::new();
    for (tag, begin) in [(3, 800), (1, 300), (2, 700)] {
        let mut send = call(facts(RecordKind::Send, 0), begin, begin + 10);
        send.0.facts.tag = tag;
        places.record(1, &send, 0, ALWAYS);
        let messages = &mut places.places[0].messages;
        messages.take_late(|late| heard.push((late.causer, late.waiter, late.ns)));
    }
    assert_eq!(heard, [(Rank(1), Rank(0), 3 * 700)]);
}
