use super::*;
use crate::groups;
use crate::testing::{self, RANKS, Recorded};
use alloc::vec::Vec;
use invivo_proto::definition::Runs;
use proptest::prelude::*;

/// The communicators of a small job, written out: what peers on each of a rank's local numbers really are.
/// 2: everybody, reversed. 3: the rank's parity. 4: an intercommunicator to the other parity. 5: one of which
/// no definition ever comes.
fn peers_on(rank: Rank, comm: CommLocal) -> Vec<Rank> {
    let parity = |odd: u32| (0..RANKS).filter(|r| r % 2 == odd).map(Rank).collect();
    match comm.0 {
        0 => (0..RANKS).map(Rank).collect(),
        1 => Vec::from([rank]),
        2 => (0..RANKS).rev().map(Rank).collect(),
        3 => parity(rank.0 % 2),
        4 => parity(1 - rank.0 % 2),
        _ => Vec::new(),
    }
}

/// The same as ranks tell it: ids, and groups run by run.
fn define(leaf: &mut MatrixLeaf, rank: Rank) {
    let reversed = CommId {
        leader: Rank(RANKS - 1),
        counter: 1,
    };
    let split = |odd| CommId {
        leader: Rank(odd),
        counter: 2,
    };
    let own = rank.0 % 2;
    let communicator = |local, id, remote| Definition::Communicator {
        local: CommLocal(local),
        id,
        rank: 0,
        size: RANKS / 2,
        remote,
    };
    leaf.learn(rank, &communicator(2, reversed, None));
    leaf.learn(rank, &communicator(3, split(own), None));
    let bridge = |odd| CommId {
        leader: Rank(odd),
        counter: 3,
    };
    leaf.learn(rank, &communicator(4, bridge(own), Some(bridge(1 - own))));
}

fn all_groups() -> Groups {
    let mut known = Groups::new();
    let mut told = |leader, counter, first, stride, count| {
        let mut bytes = [0u8; 64];
        let mut at = 0;
        let run = invivo_proto::definition::Run {
            first: Rank(first),
            stride,
            count,
        };
        Runs::encode(run, &mut bytes, &mut at).expect("room");
        let id = CommId {
            leader: Rank(leader),
            counter,
        };
        let definition = Definition::Group {
            id,
            start: 0,
            runs: Runs(&bytes[..at]),
        };
        groups::learn(&mut known, &definition).expect("well-formed");
    };
    told(RANKS - 1, 1, RANKS - 1, -1, RANKS);
    for odd in [0, 1] {
        told(odd, 2, odd, 2, RANKS / 2);
        told(odd, 3, odd, 2, RANKS / 2);
    }
    known
}

/// Message by message, with written-out groups.
fn naive(all: &[Recorded]) -> Matrix {
    let mut matrix = Matrix::default();
    for recorded in all {
        for facts in recorded.facts().filter(|facts| facts.peer >= 0) {
            let peer = peers_on(recorded.rank, facts.comm)
                .get(facts.peer as usize)
                .copied();
            let (side, bytes) = match facts.kind {
                Kind::Send | Kind::PostSend => (&mut matrix.sent, facts.bytes_out),
                Kind::Recv | Kind::CompletedRecv => (&mut matrix.received, facts.bytes_in),
                _ => continue,
            };
            let sends = matches!(facts.kind, Kind::Send | Kind::PostSend);
            let cell = match peer {
                Some(peer) if sends => side.entry((recorded.rank, peer)).or_default(),
                Some(peer) => side.entry((peer, recorded.rank)).or_default(),
                None => &mut matrix.unresolved,
            };
            cell.messages += 1;
            cell.bytes += bytes;
        }
    }
    matrix
}

proptest! {
    #[test]
    fn the_resolved_matrix_equals_a_count_over_written_out_groups(all in testing::recorded()) {
        let mut leaf = MatrixLeaf::default();
        for r in &all {
            leaf.record(r.rank, &r.call, &r.parts);
        }
        // Definitions may come after the records that need them.
        for rank in 0..RANKS {
            define(&mut leaf, Rank(rank));
        }
        prop_assert_eq!(resolve(&leaf.to_partial(), &all_groups(), RANKS), naive(&all));
    }

    #[test]
    fn what_lacks_its_group_is_counted_apart(all in testing::recorded()) {
        let mut leaf = MatrixLeaf::default();
        for r in &all {
            leaf.record(r.rank, &r.call, &r.parts);
        }
        let partial = leaf.to_partial();
        let matrix = resolve(&partial, &Groups::new(), RANKS);
        let sum = |cells: &mut dyn Iterator<Item = &Traffic>| {
            cells.fold((0, 0), |(m, b), t| (m + t.messages, b + t.bytes))
        };
        let before = sum(&mut partial.sent.values().chain(partial.received.values()));
        let cells = matrix.sent.values().chain(matrix.received.values());
        prop_assert_eq!(before, sum(&mut cells.chain([&matrix.unresolved])));
        let counted: usize = all.iter().flat_map(Recorded::facts).filter(|facts| facts.peer >= 0)
            .filter(|f| matches!(f.kind, Kind::Send | Kind::PostSend | Kind::Recv | Kind::CompletedRecv)).count();
        prop_assert_eq!(before.0, counted as u64);
    }
}

#[test]
fn startall_posts_in_parts_and_waitall_receives_in_parts() {
    let mut leaf = MatrixLeaf::default();
    let facts = |kind, peer, bytes_out, bytes_in| Facts {
        kind,
        peer,
        bytes_out,
        bytes_in,
        ..Facts::default()
    };
    let part = |facts| Part {
        facts,
        ..Part::default()
    };
    let posts = [
        facts(Kind::PostSend, 1, 10, 0),
        facts(Kind::PostRecv, 1, 0, 99),
        facts(Kind::PostSend, 1, 20, 0),
    ];
    leaf.record(Rank(0), &Call::default(), &posts.map(part));
    leaf.record(
        Rank(0),
        &Call::default(),
        &[part(facts(Kind::CompletedRecv, 1, 0, 7))],
    );
    let matrix = resolve(&leaf.to_partial(), &Groups::new(), 2);
    assert_eq!(
        matrix.sent,
        [(
            (Rank(0), Rank(1)),
            Traffic {
                messages: 2,
                bytes: 30
            }
        )]
        .into()
    );
    assert_eq!(
        matrix.received,
        [(
            (Rank(1), Rank(0)),
            Traffic {
                messages: 1,
                bytes: 7
            }
        )]
        .into()
    );
}

#[test]
fn a_full_table_loses_names_but_no_messages() {
    let mut leaf = MatrixLeaf::default();
    let send = |peer| Call {
        facts: Facts {
            kind: Kind::Send,
            peer,
            bytes_out: 2,
            ..Facts::default()
        },
        ..Call::default()
    };
    let peers = CELLS_MAX as i32 + 10;
    for _ in 0..2 {
        for peer in 0..peers {
            leaf.record(Rank(0), &send(peer), &[]);
        }
    }
    assert!(leaf.cells.len() <= CELLS_MAX + 1);
    let matrix = resolve(&leaf.to_partial(), &Groups::new(), u32::MAX);
    assert_eq!(matrix.sent.len(), CELLS_MAX);
    assert!(matrix.sent.values().all(|t| t.messages == 2));
    assert_eq!(
        matrix.unresolved,
        Traffic {
            messages: 20,
            bytes: 40
        }
    );
}
