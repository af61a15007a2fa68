use super::*;
use invivo_proto::definition::{Run, Runs};

const OURS: CommId = CommId {
    leader: Rank(4),
    counter: 1,
};
const THEIRS: CommId = CommId {
    leader: Rank(0),
    counter: 7,
};
const BRIDGE: CommLocal = CommLocal(2);

fn bridge() -> Definition<'static> {
    Definition::Communicator {
        local: BRIDGE,
        id: OURS,
        rank: 1,
        size: 2,
        remote: Some(THEIRS),
    }
}

fn group(start: u32, runs: &[(u32, u32)]) -> Group {
    let run = |&(first, count)| Run {
        first: Rank(first),
        stride: 1,
        count,
    };
    Group {
        pieces: [(start, runs.iter().map(run).collect())].into(),
    }
}

#[test]
fn peers_on_an_intercommunicator_are_in_the_remote_group() {
    let mut known = Communicators::default();
    known.define(Rank(5), &bridge());
    let membership = Membership {
        id: OURS,
        peers: THEIRS,
        rank: 1,
        size: Some(2),
    };

    assert_eq!(known.membership(Rank(5), BRIDGE), Some(membership));
    assert_eq!(known.peer(Rank(5), BRIDGE, 1), None);
    known.meet(Rank(5), BRIDGE, 1);
    assert_eq!(known.wanted(), [THEIRS]);
    // The first piece does not reach the peer that was met, so the rest is asked for.
    known.learn([(THEIRS, group(0, &[(0, 1)]))].into());
    assert_eq!(known.wanted(), [THEIRS]);
    assert!(known.is_missing(THEIRS) && !known.is_missing(OURS));
    known.learn([(THEIRS, group(1, &[(3, 1)]))].into());
    assert!(!known.is_missing(THEIRS));
    assert_eq!(known.wanted(), []);
    assert_eq!(known.peer(Rank(5), BRIDGE, 0), Some(Rank(0)));
    assert_eq!(known.peer(Rank(5), BRIDGE, 1), Some(Rank(3)));
    assert_eq!(known.peer(Rank(6), BRIDGE, 1), None);
}

#[test]
fn a_group_of_our_own_is_known_at_once() {
    let mut known = Communicators::default();
    let mut bytes = [0; 64];
    let mut at = 0;
    let run = Run {
        first: Rank(8),
        stride: -2,
        count: 3,
    };

    Runs::encode(run, &mut bytes, &mut at).expect("room");
    let definition = Definition::Communicator {
        local: BRIDGE,
        id: OURS,
        rank: 0,
        size: 3,
        remote: None,
    };

    known.define(Rank(8), &definition);
    let told = Definition::Group {
        id: OURS,
        start: 0,
        runs: Runs(&bytes[..at]),
    };

    known.define(Rank(8), &told);
    known.meet(Rank(8), BRIDGE, 2);
    assert_eq!(known.wanted(), []);
    assert_eq!(known.peer(Rank(8), BRIDGE, 2), Some(Rank(4)));
}

#[test]
fn the_world_and_self_need_no_definition() {
    let mut known = Communicators::default();
    for comm in [CommLocal::WORLD, CommLocal::SELF, CommLocal::NONE] {
        known.meet(Rank(5), comm, 9);
    }

    assert_eq!(known.wanted(), []);
    assert_eq!(known.peer(Rank(5), CommLocal::WORLD, 9), Some(Rank(9)));
    assert_eq!(known.peer(Rank(5), CommLocal::SELF, 0), Some(Rank(5)));
    assert_eq!(known.peer(Rank(5), CommLocal::SELF, 1), None);
    assert_eq!(known.peer(Rank(5), CommLocal::WORLD, peer_none()), None);
    let own = |rank| {
        known
            .membership(Rank(rank), CommLocal::SELF)
            .map(|of| of.id)
    };

    assert_ne!(own(5), own(6));
}

fn peer_none() -> i32 {
    invivo_proto::mpi::peer::NONE
}

#[test]
fn many_are_asked_for_in_turn() {
    let mut known = Communicators::default();
    let many = WANTED_MAX as u32 * 2 + 10;
    let id = |counter| CommId {
        leader: Rank(0),
        counter,
    };

    for counter in 0..many {
        let definition = Definition::Communicator {
            local: CommLocal(counter + 2),
            id: id(counter),
            rank: 0,
            size: 2,
            remote: None,
        };
        known.meet(Rank(1), CommLocal(counter + 2), 0);
        // Asked by a name, so the definition has to be there first.
        assert!(!known.wanted().contains(&id(counter)));
        known.define(Rank(1), &definition);
        if counter % 7 == 0 {
            assert!(known.wanted().len() <= WANTED_MAX);
        }
    }

    let mut asked = Vec::new();
    for _ in 0..3 {
        asked.extend(known.wanted());
    }

    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), many as usize);
}

#[test]
fn groups_beyond_the_limit_are_not_asked_for_for_ever() {
    let mut known = Communicators::default();
    known.define(Rank(5), &bridge());
    known.meet(Rank(5), BRIDGE, 1);
    let single = |n: u32| (2 * n, 1);
    let large: Vec<_> = (0..RUNS_MAX as u32).map(single).collect();
    known.learn([(OURS, group(0, &large))].into());
    assert_eq!(known.runs, RUNS_MAX);
    assert_eq!(known.wanted(), [THEIRS]);
    known.learn([(THEIRS, group(0, &[(0, 2)]))].into());
    assert_eq!((known.runs, known.wanted()), (RUNS_MAX, Vec::new()));
    assert_eq!(known.peer(Rank(5), BRIDGE, 1), None);
    // The same group told again takes no more memory.
    known.learn([(OURS, group(0, &large))].into());
    assert_eq!(known.runs, RUNS_MAX);
}
