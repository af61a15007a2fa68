//! Who waits for whom, of which the answer is known beforehand.

use super::known::{call, facts, receive, send, two_places};
use super::*;
use invivo_proto::ids::{CommId, SiteId};

#[test]
fn a_late_sender_is_waited_for() {
    for to in [1, 2] {
        let mut places = two_places();
        // The receiver is there 300 ticks before the sender.
        receive(&mut places, to, 1000, 1400, 0);
        send(&mut places, to as i32, 1300, 1350, 0);
        // Here the sender is first.
        send(&mut places, to as i32, 1500, 1550, 0);
        receive(&mut places, to, 1600, 1700, 0);
        places.settle();
        let sums = places.sums();
        assert_eq!(
            sums.matched,
            Traffic {
                messages: 2,
                bytes: 16
            }
        );
        assert_eq!((sums.sent, sums.received), (sums.matched, sums.matched));
        assert_eq!((sums.late_sender.count, sums.late_sender.sum_ns), (1, 900));
        assert_eq!(sums.late_sender.max_rank, Rank(to as u32));
        assert_eq!((sums.transfer.min_ns, sums.transfer.max_ns), (300, 600));
        assert_eq!(sums.unmatched, EMPTY.unmatched);
    }
}

/// A sender waits until the receive is posted, not until it is complete; one that has left before
/// did not wait.
#[test]
fn a_late_receiver_is_waited_for() {
    for to in [1, 2] {
        let mut places = two_places();
        for (function, begin, end) in [
            ("MPI_Send", 1000, 1400),
            ("MPI_Send", 2000, 2100),
            ("MPI_Rsend", 3000, 3400),
            ("MPI_Ssend", 4000, 4400),
        ] {
            let mut sends = call(facts(RecordKind::Send, to as i32), begin, end);
            sends.0.facts.region = job::region(function);
            sends.0.facts.site = SiteId(7);
            places.record(0, &sends, 0, ALWAYS);
            // Each is received 300 ticks later.
            receive(&mut places, to, begin + 300, end + 400, 0);
        }
        places.settle();
        let mut heard = Vec::new();
        for place in &mut places.places {
            place.messages.take_late(|late| heard.push(*late));
        }
        let late = |function, begin| Late {
            state: WaitState::LateReceiver,
            waiter: Rank(0),
            causer: Rank(to as u32),
            comm: CommId::WORLD,
            region: job::region(function),
            site: SiteId(7),
            from_ns: job_ns(begin),
            before_ns: 0,
            ns: 900,
            error_ns: 0,
        };
        assert_eq!(heard, [late("MPI_Send", 1000), late("MPI_Ssend", 4000)]);
    }
}

/// Rank 1 waits for rank 0 until 1300, and then takes what rank 2, below the other place, sent at
/// 1100; between the two `between` happens. For how long it waited in wrong order, in ticks.
fn wrong_order(error_ns: u64, between: impl FnOnce(&mut Places)) -> u64 {
    let mut places = two_places();
    for place in &mut places.places {
        place.messages.set_clock_error(error_ns);
    }
    send(&mut places, 1, 1300, 1310, 0);
    receive(&mut places, 1, 1000, 1350, 0);
    between(&mut places);
    // It is left behind a reset.
    let sends = call(facts(RecordKind::Send, 1), 1100, 1390);
    places.record(2, &sends, 0, ALWAYS);
    let receives = call(facts(RecordKind::Recv, 2), 1400, 1410);
    places.record(1, &receives, 0, ALWAYS);
    places.settle();
    wrong_orders(&mut places).values().sum::<u64>() / 3
}

#[test]
fn wrong_orders_are_told_as_far_as_clocks_do() {
    assert_eq!(wrong_order(0, |_| {}), 300);
    // By twice that the send of the other place may have been later than it seems.
    assert_eq!(wrong_order(299, |_| {}), 300);
    assert_eq!(wrong_order(300, |_| {}), 0);
}

#[test]
fn what_was_before_a_reset_is_in_no_wrong_order() {
    let each = |places: &mut Places, forget: fn(&mut Messages)| {
        places
            .places
            .iter_mut()
            .for_each(|place| forget(&mut place.messages));
    };
    let reset = |places: &mut Places| each(places, |messages| messages.reset(job_ns(1360)));
    assert_eq!(wrong_order(0, reset), 0);
    // Messages of before job time was known are compared with those behind it.
    let learn = |places: &mut Places| each(places, |messages| messages.learn_time(0, 0));
    assert_eq!(wrong_order(0, learn), 300);
    let anew = |places: &mut Places| each(places, |messages| messages.begin_anew(0));
    assert_eq!(wrong_order(0, anew), 0);
    let forget = |places: &mut Places| {
        each(places, |messages| messages.follow_orders(false));
        each(places, |messages| messages.follow_orders(true));
    };
    assert_eq!(wrong_order(0, forget), 0);
}
