use super::*;
use crate::groups::Members;
use alloc::string::{String, ToString};
use alloc::vec;
use invivo_proto::control::hang::{
    CollectiveCall, Finding, Operation, Partner, Side, Threads, Verdict,
};
use invivo_proto::ids::{CommId, RegionId};
use invivo_proto::mpi::{ANY_TAG, FUNCTIONS, peer};
use proptest::prelude::*;

mod kinds;
mod tiny;

pub fn region(name: &str) -> RegionId {
    let at = FUNCTIONS.iter().position(|function| function.name == name);
    RegionId(at.expect("a function of MPI") as u16)
}

fn collective(name: &str, ordinal: u64, root: i32) -> CollectiveCall {
    CollectiveCall {
        comm: CommId::WORLD,
        ordinal,
        region: region(name),
        root,
        shared: 0,
    }
}

fn pending(rank: u32, doing: Doing) -> Pending {
    Pending {
        rank: Rank(rank),
        doing,
        since_ns: 2 * SETTLED_NS,
        quiet_ns: 2 * SETTLED_NS,
        threads: Threads::default(),
        any: false,
        operations: Vec::new(),
        more_operations: false,
        passed: [(CommId::WORLD, 0)].into(),
        passed_shared: [].into(),
        locked: Vec::new(),
        site: Some("a.c:7".to_string()),
    }
}

fn operation(side: Side, peer: Partner, tag: i32) -> Operation {
    Operation {
        waited: true,
        side,
        peer,
        comm: CommId::WORLD,
        tag,
    }
}

/// A rank that waits in this call for this message.
fn message(rank: u32, name: &str, side: Side, peer: u32, tag: i32) -> Pending {
    Pending {
        operations: vec![operation(side, Partner::Rank(Rank(peer)), tag)],
        ..pending(rank, Doing::Messages(region(name)))
    }
}

fn of(all: impl IntoIterator<Item = Pending>, others: &[(u32, Doing)]) -> Hang {
    let mut waits = Hang::default();
    for one in all {
        add_pending(&mut waits, one);
    }
    for &(rank, doing) in others {
        add(&mut waits, Rank(rank), doing, 30 * SETTLED_NS);
    }
    waits
}

fn diagnose(waits: &Hang) -> invivo_proto::control::hang::Diagnosis {
    let around = Surroundings {
        ranks: waits.ranks,
        members: &|_| None::<Members>,
    };
    explain(waits, &around)
}

#[track_caller]
fn says(waits: &Hang, verdict: Verdict, sentence: &str) {
    let found = diagnose(waits);
    assert_eq!(
        (found.verdict, found.sentence.as_str()),
        (verdict, sentence)
    );
}

#[test]
fn two_that_send_to_each_other() {
    let waits = of(
        [
            message(0, "MPI_Ssend", Side::Send, 1, 5),
            message(1, "MPI_Ssend", Side::Send, 0, 5),
        ],
        &[],
    );
    says(
        &waits,
        Verdict::Deadlock,
        "deadlock: rank 0 waits in MPI_Ssend (a.c:7) for rank 1 to receive its message with tag 5, \
         rank 1 waits in MPI_Ssend (a.c:7) for rank 0 to receive its message with tag 5",
    );
    assert_eq!(diagnose(&waits).stuck, 2);
}

#[test]
fn a_message_under_way_is_no_deadlock() {
    let waits = of(
        [
            message(0, "MPI_Send", Side::Send, 1, 5),
            message(1, "MPI_Recv", Side::Recv, 0, ANY_TAG),
        ],
        &[],
    );
    says(
        &waits,
        Verdict::Moving,
        "nobody is known to wait in vain: 1 rank is in MPI_Send, 1 rank is in MPI_Recv",
    );
    // Another tag is another message.
    let waits = of(
        [
            message(0, "MPI_Send", Side::Send, 1, 5),
            message(1, "MPI_Recv", Side::Recv, 0, 6),
        ],
        &[],
    );
    assert_eq!(diagnose(&waits).verdict, Verdict::Deadlock);
}

#[test]
fn a_missing_participant() {
    let barrier = Doing::Collective(collective("MPI_Barrier", 0, peer::NONE));
    let waits = of(
        [0, 1, 3].map(|rank| pending(rank, barrier)),
        &[(2, Doing::Computing)],
    );
    says(
        &waits,
        Verdict::Waiting,
        "no deadlock is known: 3 of 4 ranks wait in MPI_Barrier (a.c:7) for rank 2, which computes",
    );
    let waits = of(
        [0, 1, 3].map(|rank| pending(rank, barrier)),
        &[(2, Doing::Finished)],
    );
    says(
        &waits,
        Verdict::Deadlock,
        "deadlock: rank 0 waits in MPI_Barrier (a.c:7) for rank 2 (2 more likewise), and rank 2 \
         has finished",
    );
}

#[test]
fn a_mismatched_root() {
    let gather = |root| Doing::Collective(collective("MPI_Gather", 3, root));
    let mut all = vec![pending(0, gather(0)), pending(1, gather(1))];
    for one in &mut all {
        one.passed = [(CommId::WORLD, 3)].into();
    }

    for rank in [2, 3] {
        let mut one = pending(
            rank,
            Doing::Collective(collective("MPI_Barrier", 4, peer::NONE)),
        );
        one.passed = [(CommId::WORLD, 4)].into();
        all.push(one);
    }

    let waits = of(all, &[]);
    says(
        &waits,
        Verdict::Deadlock,
        "deadlock: MPI_Gather with root 0 of rank 0 (a.c:7) and MPI_Gather with root 1 of rank 1 \
         (a.c:7) \
         do not fit together as collective 4 of MPI_COMM_WORLD",
    );
    assert_eq!(diagnose(&waits).stuck, 4);
    assert!(
        matches!(&diagnose(&waits).findings[..], [Finding::Mismatch { calls }] if calls.len() == 2)
    );
}

#[test]
fn a_receive_without_a_send() {
    let recv = message(0, "MPI_Recv", Side::Recv, 1, 9);
    says(
        &of([recv.clone()], &[(1, Doing::Finished)]),
        Verdict::Deadlock,
        "deadlock: rank 0 waits in MPI_Recv (a.c:7) for a message of rank 1 with tag 9, and rank 1 \
         has finished",
    );
    says(
        &of([recv.clone()], &[(1, Doing::Computing)]),
        Verdict::Waiting,
        "no deadlock is known: rank 0 waits in MPI_Recv (a.c:7) for a message of rank 1 with tag \
         9, \
         and rank 1 computes",
    );
    let barrier = pending(
        1,
        Doing::Collective(collective("MPI_Barrier", 0, peer::NONE)),
    );
    says(
        &of([recv, barrier], &[]),
        Verdict::Deadlock,
        "deadlock: rank 0 waits in MPI_Recv (a.c:7) for a message of rank 1 with tag 9, \
         rank 1 waits in MPI_Barrier (a.c:7) for rank 0",
    );
}

#[test]
fn a_job_that_computes() {
    let waits = of(
        [],
        &[
            (0, Doing::Computing),
            (1, Doing::Computing),
            (2, Doing::Finished),
        ],
    );
    says(
        &waits,
        Verdict::Computing,
        "nobody is known to wait in vain: 2 ranks compute, 1 rank has finished",
    );
    assert_eq!(diagnose(&waits).quiet_ns, 30 * SETTLED_NS);
}

#[test]
fn a_young_call_may_come_back() {
    let young = |one: Pending| Pending {
        since_ns: SETTLED_NS - 1,
        ..one
    };
    let first = message(0, "MPI_Ssend", Side::Send, 1, 5);
    let waits = of(
        [first, young(message(1, "MPI_Ssend", Side::Send, 0, 5))],
        &[],
    );
    assert_eq!(diagnose(&waits).verdict, Verdict::Moving);
}

#[test]
fn a_wait_for_anybody_needs_everybody_gone() {
    let mut recv = message(0, "MPI_Recv", Side::Recv, 0, 5);
    recv.operations[0].peer = Partner::Any;
    assert_eq!(
        diagnose(&of(
            [recv.clone()],
            &[(1, Doing::Finished), (2, Doing::Computing)]
        ))
        .stuck,
        0
    );
    assert_eq!(
        diagnose(&of(
            [recv.clone()],
            &[(1, Doing::Finished), (2, Doing::Finished)]
        ))
        .stuck,
        1
    );
    let mut other = message(2, "MPI_Recv", Side::Recv, 0, 5);
    assert_eq!(
        diagnose(&of([recv.clone(), other.clone()], &[(1, Doing::Finished)])).stuck,
        2
    );
    // What it has posted beyond what it tells may be the message.
    other.more_operations = true;
    assert_eq!(
        diagnose(&of([recv, other], &[(1, Doing::Finished)])).stuck,
        0
    );
}

#[test]
fn a_long_ring_is_told_shortly() {
    let ring = (0..1000).map(|rank| message(rank, "MPI_Ssend", Side::Send, (rank + 1) % 1000, 5));
    let found = diagnose(&of(ring, &[]));
    assert_eq!(found.stuck, 1000);
    assert!(
        found.sentence.ends_with("and so on around 1000 ranks"),
        "{}",
        found.sentence
    );
    assert!(found.sentence.len() < 600);
}

fn doing() -> impl Strategy<Value = Doing> {
    prop_oneof![
        Just(Doing::Computing),
        Just(Doing::Finished),
        Just(Doing::Messages(RegionId(1))),
        (0u64..3).prop_map(|ordinal| Doing::Collective(CollectiveCall {
            comm: CommId::WORLD,
            ordinal,
            region: RegionId(9),
            root: -1,
            shared: 0,
        })),
    ]
}

/// What one of several places says; ranks are its own.
pub fn of_place() -> impl Strategy<Value = Vec<(Doing, u64, bool, Option<u8>)>> {
    prop::collection::vec(
        (doing(), 0u64..5, any::<bool>(), prop::option::of(0u8..3)),
        0..20,
    )
}

/// Adds what places say, each its own ranks.
pub fn hang_of(place: usize, said: &[(Doing, u64, bool, Option<u8>)]) -> Hang {
    let mut waits = Hang::default();
    for (n, (doing, since_ns, in_full, site)) in said.iter().enumerate() {
        let rank = Rank((n * 16 + place) as u32);
        if *in_full {
            add_pending(
                &mut waits,
                Pending {
                    since_ns: *since_ns,
                    site: site.map(|line| alloc::format!("a.c:{line}")),
                    ..pending(rank.0, *doing)
                },
            );
        } else {
            add(&mut waits, rank, *doing, *since_ns);
        }
    }

    waits
}

#[test]
fn what_is_told_is_bounded() {
    let mut all = Hang::default();
    for rank in 0..3000u32 {
        let ordinal = u64::from(rank % 300);
        let mut one = pending(
            rank,
            Doing::Collective(collective("MPI_Barrier", ordinal, peer::NONE)),
        );
        one.site = Some("ä".repeat(1000));
        one.operations = vec![operation(Side::Recv, Partner::Any, 1); 100];
        one.passed = (0..100)
            .map(|counter| {
                (
                    CommId {
                        leader: Rank(0),
                        counter,
                    },
                    1,
                )
            })
            .collect();
        let mut next = Hang::default();
        add_pending(&mut next, one);
        merge(&mut all, next);
    }

    assert_eq!(
        (all.ranks, all.classes.len(), all.pending.len()),
        (3000, CLASSES_MAX, PENDING_MAX)
    );
    let one = &all.pending[0];
    assert_eq!(
        (one.operations.len(), one.more_operations, one.passed.len()),
        (OPERATIONS_MAX, true, PASSED_MAX)
    );
    assert_eq!(one.site.as_ref().map(String::len), Some(SITE_BYTES_MAX));
    let bytes = invivo_proto::control::encode(&all).expect("fits").len();
    assert!(
        bytes < invivo_proto::control::MESSAGE_BYTES_MAX / 4,
        "{bytes} bytes"
    );
}
