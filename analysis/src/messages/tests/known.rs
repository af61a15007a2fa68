//! Single cases of which the answer is known beforehand.

use super::*;
use invivo_proto::control::peer::SendEndpoint;
use invivo_proto::ids::{CommLocal, RegionId, SiteId};
use invivo_proto::mpi::{ANY_TAG, peer};
use invivo_proto::record::Facts;

/// Ranks 0 and 1 below one place, 2 below another.
pub fn two_places() -> Places {
    Places::new(&[true, false, true])
}

pub fn facts(kind: RecordKind, peer: i32) -> Facts {
    Facts {
        kind,
        peer,
        bytes_out: 8,
        bytes_in: 8,
        ..Facts::default()
    }
}

pub fn call(facts: Facts, begin: u64, end: u64) -> Record {
    let call = Call {
        facts,
        end,
        duration: end - begin,
        ..Call::default()
    };
    (call, Vec::new())
}

pub fn send(places: &mut Places, to: i32, begin: u64, end: u64, epoch: u32) {
    places.record(
        0,
        &call(facts(RecordKind::Send, to), begin, end),
        epoch,
        ALWAYS,
    );
}

pub fn receive(places: &mut Places, rank: usize, begin: u64, end: u64, epoch: u32) {
    places.record(
        rank,
        &call(facts(RecordKind::Recv, 0), begin, end),
        epoch,
        ALWAYS,
    );
}

#[test]
fn what_is_on_its_way_is_unmatched_and_no_more() {
    let mut places = two_places();
    send(&mut places, 2, 10, 20, 0);
    let sums = places.sums();
    assert_eq!((sums.sent.messages, sums.matched.messages), (1, 0));
    assert_eq!(sums.unmatched, EMPTY.unmatched);
}

#[test]
fn receives_are_matched_in_the_order_of_posting() {
    let mut places = two_places();
    let post = |request, peer, tag, at| {
        let mut record = call(
            Facts {
                tag,
                ..facts(RecordKind::PostRecv, peer)
            },
            at,
            at + 1,
        );
        record.0.request = request;
        record
    };

    let done = |request, posted, at| {
        let part = Part {
            facts: facts(RecordKind::CompletedRecv, 0),
            request,
            posted,
        };
        (
            call(facts(RecordKind::Plain, peer::NONE), at - 1, at).0,
            Vec::from([part]),
        )
    };

    // One that takes anything, then one for this channel; the second is completed first.
    places.record(1, &post(7, peer::ANY, ANY_TAG, 10), 0, ALWAYS);
    places.record(1, &post(8, 0, 0, 20), 0, ALWAYS);
    send(&mut places, 1, 30, 31, 0);
    send(&mut places, 1, 1030, 1031, 0);
    places.record(1, &done(8, 20, 1100), 0, ALWAYS);
    assert_eq!(places.sums().matched.messages, 0);
    places.record(1, &done(7, 10, 2000), 0, ALWAYS);
    let sums = places.sums();
    assert_eq!(sums.matched.messages, 2);
    // 30 to 2000 and 1030 to 1100: the other way round both would be longer and shorter.
    assert_eq!(
        (sums.transfer.max_ns, sums.transfer.min_ns),
        (3 * 1970, 3 * 70)
    );
}

#[test]
fn a_cancelled_receive_lets_those_behind_it_go() {
    let mut places = two_places();
    let mut post = call(facts(RecordKind::PostRecv, 0), 10, 11);
    post.0.request = 7;
    places.record(1, &post, 0, ALWAYS);
    send(&mut places, 1, 20, 21, 0);
    receive(&mut places, 1, 22, 25, 0);
    assert_eq!(places.sums().matched.messages, 0);
    let part = Part {
        facts: facts(RecordKind::CompletedNothing, peer::NONE),
        request: 7,
        posted: 10,
    };

    let record = (
        call(facts(RecordKind::Plain, peer::NONE), 30, 31).0,
        Vec::from([part]),
    );
    places.record(1, &record, 0, ALWAYS);
    assert_eq!(places.sums().matched.messages, 1);
}

#[test]
fn halves_of_different_epochs_never_match() {
    // The receive is the newer, the send is the newer, in both orders of arrival.
    for (sent_in, received_in) in [(0, 1), (1, 0)] {
        for first in [Side::Send, Side::Receive] {
            let mut places = two_places();
            for side in [
                first,
                if first == Side::Send {
                    Side::Receive
                } else {
                    Side::Send
                },
            ] {
                match side {
                    Side::Send => send(&mut places, 1, 10, 11, sent_in),
                    Side::Receive => receive(&mut places, 1, 20, 21, received_in),
                }
            }
            assert_eq!(
                (places.sums().matched.messages, places.sums().unmatched.cut),
                (0, 1)
            );
            // The newer half is not given up: one of its own epoch takes it.
            let newer = sent_in.max(received_in);
            if sent_in < received_in {
                send(&mut places, 1, 12, 13, newer);
            } else {
                receive(&mut places, 1, 30, 31, newer);
            }
            assert_eq!(
                (places.sums().matched.messages, places.sums().unmatched.cut),
                (1, 1)
            );
        }
    }
}

/// Ping-pong of rounds: a message, then its receive, before the next.
fn rounds(places: &mut Places, rounds: core::ops::Range<u64>, lost: impl Fn(u64, Side) -> bool) {
    for round in rounds {
        let at = 1000 * round;
        if !lost(round, Side::Send) {
            send(places, 1, at, at + 10, 0);
        }
        if !lost(round, Side::Receive) {
            receive(places, 1, at + 20, at + 30, 0);
        }
    }
}

#[test]
fn a_lost_send_costs_one_pair() {
    let mut places = two_places();
    rounds(&mut places, 1..101, |round, side| {
        round == 50 && side == Side::Send
    });
    let sums = places.sums();
    assert_eq!((sums.matched.messages, sums.unmatched.missing), (99, 1));
    assert_eq!((sums.transfer.min_ns, sums.transfer.max_ns), (90, 90));
}

#[test]
fn a_lost_receive_costs_its_pair_once_it_is_known() {
    let mut places = two_places();
    let lost = |round, side| round == 50 && side == Side::Receive;
    rounds(&mut places, 1..51, lost);
    let place = &mut places.places[0];
    place
        .messages
        .lost(Rank(1), job_ns(50_500), &place.communicators);
    rounds(&mut places, 51..101, lost);
    let sums = places.sums();
    assert_eq!((sums.matched.messages, sums.unmatched.missing), (99, 1));
    assert_eq!((sums.transfer.min_ns, sums.transfer.max_ns), (90, 90));
}

#[test]
fn clocks_that_are_off_do_not_part_a_pair() {
    let endpoint = |begin_ns| SendEndpoint {
        destination: Rank(1),
        sender: Rank(0),
        comm: invivo_proto::ids::CommId::WORLD,
        source: 0,
        tag: 0,
        bytes: 8,
        begin_ns,
        end_ns: begin_ns + 1,
        posted: 0,
        epoch: 0,
        region: RegionId(0),
        site: SiteId::NONE,
        clipping: Clipping::Whole,
    };

    // The error told is that of the clock that is off the most, where it was used.
    for (ahead_ns, matched, told_ns) in [(400, 1, 300), (600, 0, 0)] {
        let mut places = two_places();
        let messages = &mut places.places[0].messages;
        messages.set_clock_error(200);
        // By its own clock the sender began after the receive had ended.
        let end_ns = job_ns(100);
        let endpoints = Endpoints::new(
            WorldRank(101),
            300,
            Vec::from([endpoint(end_ns + ahead_ns)]),
        );
        messages.arrive(&endpoints).expect("usable");
        receive(&mut places, 1, 50, 100, 0);
        let sums = places.sums();
        assert_eq!(
            (sums.matched.messages, sums.clock_error_ns),
            (matched, told_ns)
        );
        assert_eq!(sums.unmatched.missing, 1 - matched);
        assert_eq!(sums.transfer.sum_ns, 0);
    }
}

#[test]
fn records_before_job_time_was_known_get_it_later() {
    let ahead_ns = 1_000_000_000_000;
    let mut places = two_places();
    for place in &mut places.places {
        place.messages.set_clock_error(u64::MAX);
    }

    // One pair by the node's own clock, one send that waits here, and one that waits for its way.
    send(&mut places, 1, 10, 20, 0);
    receive(&mut places, 1, 30, 40, 0);
    send(&mut places, 1, 50, 60, 0);
    send(&mut places, 2, 70, 80, 0);
    for place in &mut places.places {
        place.messages.learn_time(ahead_ns, 100);
        place.messages.set_clock_error(100);
    }

    let endpoint = |begin| Endpoint {
        begin_ns: job_ns(begin) + ahead_ns as u64,
        end_ns: job_ns(begin + 10) + ahead_ns as u64,
        bytes: 8,
        epoch: 0,
        error_ns: 100,
        who: 0,
        region: RegionId(0),
        posted: 0,
        marks: Marks::new(Side::Send, SiteId::NONE, Clipping::Whole),
    };

    let first: Vec<Endpoint> = places.places[0]
        .messages
        .matcher
        .waiting()
        .iter()
        .map(|(_, _, endpoint)| endpoint)
        .collect();
    assert_eq!(first, [endpoint(50)]);
    let sent = places.places[0]
        .messages
        .take_batches(WorldRank(100), |_| true);
    assert_eq!(sent[0].1.sends[0].begin_ns, endpoint(70).begin_ns);
    let sums = places.sums();
    assert_eq!((sums.matched.messages, sums.untimed), (1, 0));
    assert_eq!(sums.transfer.sum_ns, 3 * 30);
}

#[test]
fn messages_of_other_versions_or_for_others_are_refused() {
    let mut places = two_places();
    let messages = &mut places.places[0].messages;
    let mut endpoints = Endpoints::new(WorldRank(101), 0, Vec::new());
    endpoints.version += 1;
    assert_eq!(
        messages.arrive(&endpoints),
        Err(Refused::Version(VERSION + 1))
    );
    let endpoint = SendEndpoint {
        destination: Rank(2),
        sender: Rank(0),
        comm: invivo_proto::ids::CommId::WORLD,
        source: 0,
        tag: 0,
        bytes: 8,
        begin_ns: 5,
        end_ns: 6,
        posted: 0,
        epoch: 0,
        region: RegionId(0),
        site: SiteId::NONE,
        clipping: Clipping::Whole,
    };

    let endpoints = Endpoints::new(WorldRank(101), 0, Vec::from([endpoint; 2]));
    assert_eq!(messages.arrive(&endpoints), Err(Refused::Foreign(2)));
    let endpoints = Endpoints::new(WorldRank(101), 0, Vec::from([endpoint; ENDPOINTS_MAX + 1]));
    assert_eq!(
        messages.arrive(&endpoints),
        Err(Refused::Long(ENDPOINTS_MAX + 1))
    );
    assert_eq!(messages.matcher.waiting().len(), 0);
}

#[test]
fn every_queue_is_bounded_and_counts_its_losses() {
    let mut places = two_places();
    let more = 1000;
    // Receives of messages that never come.
    let total = (WAITING_MAX + more) as u64;
    for at in 1..=total {
        receive(&mut places, 1, 10 * at, 10 * at + 5, 0);
    }

    let sums = places.sums();
    let waiting = places.places[0].messages.matcher.waiting().len() as u64;
    assert!(waiting <= WAITING_MAX as u64 && waiting > WAITING_MAX as u64 / 3);
    assert_eq!(sums.unmatched.limit + waiting, total);
    // A send from the time of what was given up is given up too; a new one finds its receive.
    send(&mut places, 1, 15, 16, 0);
    assert_eq!(places.sums().unmatched.limit, sums.unmatched.limit + 1);
    send(&mut places, 1, 10 * total, 10 * total + 1, 0);
    assert_eq!(places.sums().matched.messages, 1);

    // Sends to a place that gives no credit.
    let mut places = two_places();
    for at in 1..=(OUTBOX_MAX + more) as u64 {
        send(&mut places, 2, 10 * at, 10 * at + 5, 0);
    }

    assert_eq!(places.sums().unmatched.limit, more as u64);
    let mut credit = 3;
    let batches = places.places[0].messages.take_batches(WorldRank(5), |_| {
        credit -= 1;
        credit >= 0
    });
    assert_eq!(batches.len(), 3);
    assert!(
        batches
            .iter()
            .all(|(_, endpoints)| endpoints.sends.len() == ENDPOINTS_MAX)
    );

    // Sends on a communicator that nobody defines.
    let mut places = two_places();
    let unknown = Facts {
        comm: CommLocal(5),
        ..facts(RecordKind::Send, 1)
    };

    for at in 1..=(UNRESOLVED_MAX + more) as u64 {
        places.record(0, &call(unknown, 10 * at, 10 * at + 5), 0, ALWAYS);
    }
    assert_eq!(
        places.sums().unmatched.unresolved,
        (UNRESOLVED_MAX + more) as u64
    );

    // Receives that are posted and never completed stand before all that are completed.
    let mut places = two_places();
    for request in 1..=(POSTED_MAX + more) as u64 {
        let mut post = call(
            facts(RecordKind::PostRecv, 0),
            10 * request,
            10 * request + 5,
        );
        post.0.request = request;
        places.record(1, &post, 0, ALWAYS);
    }

    for at in 1..=(HELD_MAX + more) as u64 {
        let at = 10 * (at + 100_000);
        send(&mut places, 1, at, at + 1, 0);
        receive(&mut places, 1, at + 2, at + 3, 0);
    }

    let held = places.places[0].messages.ranks[1].receives.held().count();
    assert!(held <= HELD_MAX);
    assert_eq!(
        places.sums().matched.messages,
        (HELD_MAX + more - held) as u64
    );
}

#[test]
fn a_reset_forgets_sums_and_keeps_the_order() {
    let mut places = two_places();
    send(&mut places, 1, 10, 20, 0);
    send(&mut places, 1, 30, 40, 0);
    receive(&mut places, 1, 50, 60, 0);
    for place in &mut places.places {
        place.messages.reset(job_ns(100));
    }

    assert_eq!(places.sums(), EMPTY);
    // The second message was sent before the cut; the third pair is whole.
    receive(&mut places, 1, 110, 120, 0);
    send(&mut places, 1, 130, 140, 0);
    receive(&mut places, 1, 150, 160, 0);
    let sums = places.sums();
    assert_eq!((sums.sent.messages, sums.received.messages), (1, 2));
    assert_eq!((sums.matched.messages, sums.unmatched.cut), (1, 1));
    assert_eq!(sums.transfer.sum_ns, 3 * 30);
}

proptest! {
    #[test]
    fn sums_are_merged_in_any_order(
        numbers in prop::collection::vec(any::<[u16; 8]>(), 1..9),
        rotate in 0usize..9,
    ) {
        let of = |n: &[u16; 8]| {
            let traffic = |n: u16| Traffic {
                messages: n.into(),
                bytes: u64::from(n) * 3,
            };
            let mut sums = EMPTY;
            (sums.sent, sums.received, sums.matched) = (
                traffic(n[0]),
                traffic(n[1]),
                traffic(n[2]),
            );
            sums.unmatched.unresolved = n[3].into();
            sums.unmatched.limit = n[4].into();
            sums.unmatched.cut = n[5].into();
            sums.unmatched.missing = n[6].into();
            sums.unmatched.outside = n[1].into();
            sums.clock_error_ns = n[7].into();
            moments::insert(&mut sums.transfer, n[0].into(), Rank(n[1].into()));
            moments::insert(&mut sums.late_sender, n[2].into(), Rank(n[3].into()));
            sums
        };

        let join = |all: &[[u16; 8]]| {
            let mut sums = EMPTY;
            all.iter().for_each(|n| merge(&mut sums, &of(n)));
            sums
        };

        let mut turned = numbers.clone();
        turned.rotate_left(rotate % numbers.len());
        let (a, b) = turned.split_at(rotate / 2 % numbers.len());
        let mut both = join(a);
        merge(&mut both, &join(b));
        let flat = join(&numbers);
        prop_assert!(same(&both, &flat));
        prop_assert_eq!(both.clock_error_ns, flat.clock_error_ns);
        let sent: u64 = numbers.iter().map(|n| u64::from(n[0])).sum();
        prop_assert_eq!((flat.sent.messages, flat.transfer.sum_ns), (sent, sent));
        let mut same_again = flat;
        merge(&mut same_again, &EMPTY);
        prop_assert_eq!(same_again, flat);
    }
}
