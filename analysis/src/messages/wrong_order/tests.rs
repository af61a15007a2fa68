use super::*;
use alloc::vec;
use invivo_proto::ids::{CommId, Rank, RegionId, SiteId};
use proptest::prelude::*;

/// A wait for a long time, of which only the end is known.
fn wait(number: u64) -> Late {
    Late {
        state: WaitState::LateSender,
        waiter: Rank(0),
        causer: Rank(1),
        comm: CommId::WORLD,
        region: RegionId(1),
        site: SiteId(2),
        from_ns: number,
        before_ns: 0,
        ns: 1,
        error_ns: 0,
    }
}

fn passed(received_ns: u64, sent_ns: u64) -> Passed {
    Passed {
        received_ns,
        sent_ns,
    }
}

/// All messages in this order, the late ones by their numbers; those told.
fn told_of(all: &[(Passed, Option<u64>)]) -> Vec<u64> {
    let (mut order, mut told) = (WrongOrder::default(), Vec::new());
    let mut each = |late: Late| {
        if late.state == WaitState::LateSenderWrongOrder {
            told.push(late.from_ns);
        }
    };
    for (of, late) in all {
        order.received(*of, &mut each);
        if let Some(number) = late {
            order.late(*of, 0, &wait(*number), &mut each);
        }
    }
    order.settle(&mut each);
    told.sort_unstable();
    told
}

#[test]
fn a_message_that_was_there_makes_it_wrong() {
    // It waited until 50 for the first; the second had been sent at 10.
    let late = (passed(60, 50), Some(1));
    let there = (passed(70, 10), None);
    assert_eq!(told_of(&[late, there]), [1]);
    assert_eq!(told_of(&[there, late]), [1]);
    // Sent later, received before, or in the same call.
    for other in [passed(70, 55), passed(30, 10), passed(60, 10)] {
        assert_eq!(told_of(&[late, (other, None)]), [0; 0], "{other:?}");
        assert_eq!(told_of(&[(other, None), late]), [0; 0], "{other:?}");
    }
    // Once, however many there were.
    assert_eq!(told_of(&[late, there, (passed(80, 20), None)]), [1]);
}

#[test]
fn it_is_said_for_how_long_the_other_was_there() {
    // Waited from 20 to 50 for it.
    let late = Late {
        from_ns: 20,
        ns: 30,
        ..wait(0)
    };
    for (sent, expected) in [(35, (35, 15)), (10, (20, 30))] {
        for is_known in [false, true] {
            let (mut order, mut told) = (WrongOrder::default(), Vec::new());
            let mut each = |late: Late| told.push((late.state, late.from_ns, late.ns));
            let other = passed(70, sent);
            if is_known {
                order.received(other, &mut each);
                order.settle(&mut each);
            }
            order.late(passed(60, 50), 0, &late, &mut each);
            if !is_known {
                order.settle(&mut each);
                order.received(other, &mut each);
            }
            order.settle(&mut each);
            let (from_ns, ns) = expected;
            assert_eq!(
                told,
                [
                    (WaitState::LateSenderWrongOrder, 20, 30),
                    (WaitState::LateSenderOtherThere, from_ns, ns)
                ]
            );
        }
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let mut order = WrongOrder::default();
    for number in 0..8000 {
        let of = passed(2 * number + 10, 2 * number + 5);
        order.received(of, |_| panic!("in order"));
        order.late(of, 0, &wait(number), |_| panic!("in order"));
        let kept = (order.late.len(), order.received.len());
        assert!(kept.0 <= LATE_MAX && kept.1 <= RECEIVED_MAX, "{kept:?}");
    }
    // The newest are kept.
    let mut told = Vec::new();
    let mut each = |late: Late| told.push((late.state, late.from_ns));
    order.received(passed(99_999, 0), &mut each);
    order.settle(&mut each);
    told.retain(|(state, _)| *state == WaitState::LateSenderWrongOrder);
    let mut told: Vec<u64> = told.into_iter().map(|(_, number)| number).collect();
    told.sort_unstable();
    let kept = told.len() as u64;
    assert!(kept >= LATE_MAX as u64 / 3 * 2, "{kept}");
    assert_eq!(told, Vec::from_iter(8000 - kept..8000));
}

proptest! {
    /// In whatever order they are found, and however much later it is known that somebody
    /// waited, as long as all have room. Senders' clocks may be off by so much.
    #[test]
    fn the_order_of_finding_does_not_matter(
        (all, order) in proptest::collection::vec(
            (0u64..40, 10u64..50, 0u64..6, any::<bool>()),
            1..50,
        )
        .prop_flat_map(|all| {
            let events = (0..2 * all.len()).collect::<Vec<usize>>();
            (Just(all), Just(events).prop_shuffle())
        }),
        often in 1..20usize,
    ) {
        type Message = (u64, u64, u64, bool);
        let (mut found, mut told) = (WrongOrder::default(), Vec::new());
        let mut there = vec![0; all.len()];
        // Who waits is named by its number, and waited from 0 on.
        let mut each = |late: Late| match late.state {
            WaitState::LateSenderWrongOrder => told.push(u64::from(late.waiter.0)),
            _ => there[late.waiter.0 as usize] += late.ns,
        };
        // The message itself, and then that it was waited for.
        let mut seen = vec![false; all.len()];
        for (at, event) in order.into_iter().enumerate() {
            if at % often == 0 {
                found.settle(&mut each);
            }
            let number = event / 2;
            let (received, sent, off, is_late): Message = all[number];
            if !core::mem::replace(&mut seen[number], true) {
                found.received(passed(received, sent + off), &mut each);
            } else if is_late {
                let of = passed(received, sent - off);
                let wait = Late {
                    waiter: Rank(number as u32),
                    ns: sent,
                    ..wait(0)
                };
                found.late(of, 2 * off, &wait, &mut each);
            }
        }
        found.settle(&mut each);
        told.sort_unstable();
        // When the first of the others was sent.
        let first = |&(received, sent, off, is_late): &Message| {
            let others = all.iter().filter(|other| is_late && other.0 > received);
            let others = others.map(|other| other.1 + other.2);
            others.filter(|other| *other < sent - off).min()
        };
        let naive = (0u64..).zip(&all).filter(|(_, of)| first(of).is_some());
        let naive: Vec<u64> = naive.map(|(number, _)| number).collect();
        prop_assert_eq!(told, naive);
        let longest = all.iter().map(|of| first(of).map_or(0, |other| of.1 - other));
        prop_assert_eq!(there, longest.collect::<Vec<u64>>());
    }
}
