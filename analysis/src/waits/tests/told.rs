//! What places tell each other of scans.

use super::known::two;
use super::*;
use invivo_proto::control::meetings::{STEPS_MAX, Step};

/// What is told of scans takes its room in messages.
#[test]
fn large_meetings_go_in_several_messages() {
    let step = |member| Step {
        member,
        enter_ns: member.into(),
        rank: Rank(0),
    };
    let arrived = |ordinal| Arrived {
        of: Collective {
            comm: CommId::WORLD,
            ordinal,
        },
        size: 9,
        meeting: Meeting {
            arrivals: 1,
            steps: (0..STEPS_MAX as u32).map(step).collect(),
            ..Meeting::default()
        },
    };
    let mut outgoing = Outgoing::default();
    for ordinal in 0..100 {
        assert!(outgoing.arrived(3, arrived(ordinal)));
    }
    let place_of: PlaceOf = Box::new(|_| None);
    let mut told = 0;
    for _ in 0..2 {
        let taken = outgoing.take(&place_of, 5, |_| true);
        let [(3, message)] = &taken[..] else {
            panic!("{taken:?}");
        };
        assert!(message.len() <= MEETINGS_MAX && message.resets == 5);
        told += message.arrived.len();
    }
    assert_eq!((told, outgoing.len()), (100, 0));
    // As many as find room, and not one more.
    let items = arrived(0).meeting.items();
    for ordinal in 0..OUTGOING_MAX as u64 {
        let has_room = outgoing.arrived(3, arrived(ordinal));
        assert_eq!(has_room, ordinal < OUTGOING_MAX.div_ceil(items) as u64);
    }
}

/// Steps that no scan can have are no use.
#[test]
fn steps_from_elsewhere_are_looked_at() {
    let step = |member, enter_ns, rank| Step {
        member,
        enter_ns,
        rank: Rank(rank),
    };
    let too_many = (0..=STEPS_MAX as u32).map(|of| step(of, of.into(), 0));
    for steps in [
        Vec::from([step(1, 5, 0), step(0, 6, 1)]),
        Vec::from([step(0, 5, 0), step(1, 5, 1)]),
        Vec::from([step(0, 5, RANKS)]),
        too_many.collect(),
    ] {
        let meeting = Meeting {
            arrivals: 1,
            steps,
            ..Meeting::default()
        };
        let of = Collective::default();
        let arrived = Meetings {
            arrived: Vec::from([Arrived {
                of,
                size: 2,
                meeting: meeting.clone(),
            }]),
            ..Meetings::default()
        };
        let met = Meetings {
            met: Vec::from([Met { of, meeting }]),
            ..Meetings::default()
        };
        let mut places = two(false);
        for told in [arrived, met] {
            assert!(places.places[0].waits.arrive(1, &told).is_err(), "{told:?}");
        }
    }
}
