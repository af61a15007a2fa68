//! Ways that messages have gone before: what they lead to may change.

use super::known::{call, facts, receive, send, two_places};
use super::*;
use invivo_proto::definition::Definition;
use invivo_proto::ids::{CommId, CommLocal};
use invivo_proto::mpi::peer;
use invivo_proto::record::Facts;

/// Ranks 0 and 2 have `local` as their number for a communicator of rank 0's, the `counter`-th.
fn define(places: &mut Places, local: CommLocal, counter: u32) {
    let id = CommId {
        leader: Rank(0),
        counter,
    };
    let place = &mut places.places[0];
    for (rank, own) in [(0, 0), (2, 1)] {
        let definition = Definition::Communicator {
            local,
            id,
            rank: own,
            size: 3,
            remote: None,
        };
        place.communicators.define(Rank(rank), &definition);
    }
    place.messages.learn();
}

#[test]
fn a_number_that_is_used_again_is_another_communicator() {
    let local = CommLocal(7);
    let mut places = Places::new(&[true, false, false]);
    places.learn();
    let with = |kind, peer| Facts {
        comm: local,
        ..facts(kind, peer)
    };
    define(&mut places, local, 2);
    // It is never received.
    let sends = call(with(RecordKind::Send, 1), 10, 20);
    places.record(0, &sends, 0, ALWAYS);
    define(&mut places, local, 3);
    let sends = call(with(RecordKind::Send, 1), 1000, 1010);
    places.record(0, &sends, 0, ALWAYS);
    let receives = call(with(RecordKind::Recv, 0), 990, 1100);
    places.record(2, &receives, 0, ALWAYS);
    let sums = places.sums();
    assert_eq!(
        (sums.matched.messages, sums.transfer.max_ns),
        (1, 3 * (1100 - 1000))
    );
}

#[test]
fn nothing_is_left_on_a_way_when_matching_begins_anew() {
    let mut places = two_places();
    send(&mut places, 1, 10, 20, 0);
    let at_ns = job_ns(50);
    (places.places.iter_mut()).for_each(|place| place.messages.begin_anew(at_ns));
    send(&mut places, 1, 1000, 1010, 0);
    receive(&mut places, 1, 990, 1100, 0);
    let sums = places.sums();
    assert_eq!((sums.matched.messages, sums.unmatched.cut), (1, 1));
    assert_eq!(sums.transfer.max_ns, 3 * (1100 - 1000));
}

/// A receive that was held back when recording went off comes before those behind that.
#[test]
fn what_was_held_back_goes_before_another_epoch() {
    for is_sent_first in [true, false] {
        let mut places = two_places();
        if is_sent_first {
            send(&mut places, 1, 30, 31, 0);
        }
        for (request, at) in [(7, 10), (8, 20)] {
            let mut post = call(facts(RecordKind::PostRecv, 0), at, at + 1);
            post.0.request = request;
            places.record(1, &post, 0, ALWAYS);
        }
        let part = Part {
            facts: facts(RecordKind::CompletedRecv, 0),
            request: 8,
            posted: 20,
        };
        let waits = call(facts(RecordKind::Plain, peer::NONE), 40, 50);
        places.record(1, &(waits.0, Vec::from([part])), 0, ALWAYS);
        assert_eq!(places.sums().matched.messages, 0, "it is held back");
        receive(&mut places, 1, 1000, 1100, 1);
        if !is_sent_first {
            send(&mut places, 1, 30, 31, 0);
        }
        send(&mut places, 1, 1020, 1030, 1);
        let sums = places.sums();
        assert_eq!((sums.matched.messages, sums.unmatched.cut), (2, 0));
    }
}
