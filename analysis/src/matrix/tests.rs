use super::*;
use crate::testing::{self, RANKS, Recorded, all_groups, peers_on};
use proptest::prelude::*;

fn define(leaf: &mut MatrixLeaf, rank: Rank) {
    for definition in testing::definitions(rank) {
        leaf.learn(rank, &definition);
    }
}

/// Message by message, with written-out groups.
fn naive(all: &[Recorded], side_max: u32) -> Matrix {
    // The smallest blocks of which so many suffice.
    let block_ranks =
        (1..=RANKS).find(|size| (0..RANKS).step_by(*size as usize).count() <= side_max as usize);
    let block_ranks = block_ranks.expect("one block is enough for all");
    let mut matrix = Matrix {
        block_ranks,
        ..Matrix::default()
    };

    for recorded in all {
        for facts in recorded.facts().filter(|facts| facts.peer >= 0) {
            let peer = peers_on(recorded.rank, facts.comm)
                .get(facts.peer as usize)
                .copied();
            let (side, bytes) = match facts.kind {
                RecordKind::Send | RecordKind::PostSend => (&mut matrix.sent, facts.bytes_out),
                RecordKind::Recv | RecordKind::CompletedRecv => {
                    (&mut matrix.received, facts.bytes_in)
                }
                _ => continue,
            };
            let sends = matches!(facts.kind, RecordKind::Send | RecordKind::PostSend);
            let own = recorded.rank.0 / block_ranks;
            let cell = match peer.map(|peer| peer.0 / block_ranks) {
                Some(peer) if sends => side.entry((own, peer)).or_default(),
                Some(peer) => side.entry((peer, own)).or_default(),
                None => &mut matrix.unresolved,
            };
            cell.messages += 1;
            cell.bytes += bytes;
        }
    }

    matrix
}

fn all_messages(matrix: &Matrix) -> Traffic {
    let cells = matrix.sent.values().chain(matrix.received.values());
    let mut sum = matrix.unresolved;
    cells.for_each(|cell| sum.add(*cell));
    sum
}

proptest! {
    #[test]
    fn the_matrix_equals_a_count_over_written_out_groups(
        all in testing::recorded(),
        side_max in 1u32..9,
    ) {
        let mut leaf = MatrixLeaf::default();
        for r in &all {
            leaf.record(r.rank, &r.call, &r.parts);
        }

        // Definitions and groups may come after the records that need them.
        for rank in 0..RANKS {
            define(&mut leaf, Rank(rank));
        }

        leaf.learn_groups(all_groups());
        let expected = naive(&all, side_max);
        prop_assert_eq!(leaf.to_partial(RANKS, side_max), expected.clone());
        // In two pieces it is the same.
        leaf.take();
        prop_assert!(leaf.rows().is_empty());
        let (first, second) = all.split_at(all.len() / 3);
        for r in first {
            leaf.record(r.rank, &r.call, &r.parts);
        }
        let mut cells = leaf.take();
        for r in second {
            leaf.record(r.rank, &r.call, &r.parts);
        }
        cells.add(&leaf.rows());
        prop_assert_eq!(leaf.table(&cells, RANKS, side_max), expected.clone());
        leaf.reset();
        prop_assert_eq!(all_messages(&leaf.to_partial(RANKS, side_max)), Traffic::default());
        // What was told about communicators is told once and outlives the reset.
        for r in &all {
            leaf.record(r.rank, &r.call, &r.parts);
        }

        prop_assert_eq!(leaf.to_partial(RANKS, side_max), expected);
    }

    #[test]
    fn what_is_wanted_is_what_is_missing(all in testing::recorded()) {
        let mut leaf = MatrixLeaf::default();
        for rank in 0..RANKS {
            define(&mut leaf, Rank(rank));
        }

        for r in &all {
            leaf.record(r.rank, &r.call, &r.parts);
        }
        let before = all_messages(&leaf.to_partial(RANKS, RANKS));
        let wanted = leaf.wanted();
        let mut groups = all_groups();
        groups.retain(|id, _| wanted.contains(id));
        prop_assert_eq!(groups.len(), wanted.len(), "each is asked for once, and exists");
        leaf.learn_groups(groups);
        prop_assert_eq!(leaf.to_partial(RANKS, RANKS), naive(&all, RANKS));
        prop_assert_eq!(all_messages(&leaf.to_partial(RANKS, RANKS)), before);
        // Peers that no group has are for ever unknown, and asked for; others are not.
        let beyond = |r: &Recorded| {
            let facts = r.facts().filter(|f| (2..5).contains(&f.comm.0) && moves(f.kind));
            facts.filter(|f| f.peer >= peers_on(r.rank, f.comm).len() as i32).count()
        };

        prop_assert_eq!(leaf.wanted().is_empty(), all.iter().map(beyond).sum::<usize>() == 0);
    }
}

fn moves(kind: RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::Send | RecordKind::PostSend | RecordKind::Recv | RecordKind::CompletedRecv
    )
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
        facts(RecordKind::PostSend, 1, 10, 0),
        facts(RecordKind::PostRecv, 1, 0, 99),
        facts(RecordKind::PostSend, 1, 20, 0),
    ];
    leaf.record(Rank(0), &Call::default(), &posts.map(part));
    leaf.record(
        Rank(0),
        &Call::default(),
        &[part(facts(RecordKind::CompletedRecv, 1, 0, 7))],
    );
    let matrix = leaf.to_partial(2, 2);
    assert_eq!(
        matrix.sent,
        [(
            (0, 1),
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
            (1, 0),
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
            kind: RecordKind::Send,
            peer,
            bytes_out: 2,
            ..Facts::default()
        },
        ..Call::default()
    };

    let peers = CELLS_MAX as u32 + 10;
    for _ in 0..2 {
        for peer in 0..peers {
            leaf.record(Rank(0), &send(peer as i32), &[]);
        }
    }

    assert!(leaf.cells.len() <= CELLS_MAX + 1);
    let matrix = leaf.to_partial(peers, u32::MAX);
    assert_eq!(matrix.block_ranks, peers.div_ceil(SIDE_MAX));
    assert!(matrix.sent.len() <= SIDE_MAX as usize);
    let sent: u64 = matrix.sent.values().map(|t| t.messages).sum();
    assert_eq!(sent, 2 * CELLS_MAX as u64);
    assert_eq!(
        matrix.unresolved,
        Traffic {
            messages: 20,
            bytes: 40
        }
    );
}

/// What goes to spawned processes is in no cell, and nobody is asked for their group.
#[test]
fn traffic_with_processes_outside_is_told_apart() {
    let (rank, outside, unknown) = (Rank(1), CommLocal(9), CommLocal(10));
    let mut leaf = MatrixLeaf::default();
    let send = |comm, bytes| Facts {
        kind: RecordKind::Send,
        comm,
        peer: 0,
        bytes_out: bytes,
        ..Facts::default()
    };
    // Met before it is defined, and behind that.
    leaf.moved(rank, &send(outside, 5));
    leaf.learn(rank, &Definition::Outside { local: outside });
    leaf.moved(rank, &send(outside, 7));
    leaf.moved(rank, &send(unknown, 11));
    let matrix = leaf.to_partial(RANKS, 4);
    let traffic = |messages, bytes| Traffic { messages, bytes };
    assert_eq!(
        (matrix.outside, matrix.unresolved),
        (traffic(2, 12), traffic(1, 11))
    );
    assert!(matrix.sent.is_empty() && leaf.wanted().is_empty());
    let mut sum = matrix.clone();
    merge(&mut sum, matrix).expect("the same blocks");
    assert_eq!(sum.outside, traffic(4, 24));
}

#[test]
fn the_largest_matrix_fits_into_a_message() {
    let most = Traffic {
        messages: u64::MAX,
        bytes: u64::MAX,
    };

    let cells = || (0..SIDE_MAX * SIDE_MAX).map(|n| ((n / SIDE_MAX, n % SIDE_MAX), most));
    let matrix = Matrix {
        block_ranks: u32::MAX,
        sent: cells().collect(),
        received: cells().collect(),
        unresolved: most,
        outside: most,
        past: None,
    };

    let bytes = invivo_proto::control::encode(&matrix)
        .expect("it fits")
        .len();
    assert!(
        bytes < invivo_proto::control::MESSAGE_BYTES_MAX * 9 / 10,
        "{bytes}"
    );
}
