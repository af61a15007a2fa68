//! Non-blocking collectives, windows, files, and ranks with several threads.

use super::*;
use invivo_proto::control::hang::MAKING;

fn begun(name: &str, ordinal: u64) -> Operation {
    Operation {
        side: Side::Collective {
            ordinal,
            region: region(name),
            root: peer::NONE,
        },
        ..operation(Side::Other, Partner::Unknown, ANY_TAG)
    }
}

/// A rank that has begun a collective and waits for it, or does this.
fn began(rank: u32, doing: Doing, waited: bool) -> Pending {
    let operations = vec![Operation {
        waited,
        ..begun("MPI_Iallreduce", 4)
    }];
    Pending {
        operations,
        passed: [(CommId::WORLD, 5)].into(),
        ..pending(rank, doing)
    }
}

fn waits_for_sum() -> Doing {
    Doing::Collective(collective("MPI_Iallreduce", 4, peer::NONE))
}

#[test]
fn a_non_blocking_collective_lacks_who_has_not_begun_it() {
    let late = Pending {
        passed: [(CommId::WORLD, 4)].into(),
        ..pending(2, Doing::Computing)
    };
    let waits = of(
        [
            began(0, waits_for_sum(), true),
            // This one has begun it, and does something else.
            began(1, Doing::Computing, false),
            late,
        ],
        &[],
    );
    says(
        &waits,
        Verdict::Waiting,
        "no deadlock is known: 1 of 3 ranks waits in MPI_Iallreduce (a.c:7) for rank 2, which \
         computes",
    );
}

#[test]
fn all_that_began_a_collective_are_under_way() {
    let all = (0..2).map(|rank| began(rank, waits_for_sum(), true));
    assert_eq!(diagnose(&of(all, &[])).verdict, Verdict::Moving);
}

#[test]
fn a_wait_for_collective_and_message_needs_both() {
    // Rank 1 receives from rank 0, which waits for it in a collective that it has not begun.
    let mut first = began(0, Doing::Messages(region("MPI_Waitall")), true);
    first
        .operations
        .push(operation(Side::Recv, Partner::Nobody, 3));
    let second = Pending {
        passed: [(CommId::WORLD, 4)].into(),
        ..message(1, "MPI_Recv", Side::Recv, 0, 3)
    };
    let found = diagnose(&of([first, second], &[]));
    assert_eq!((found.verdict, found.stuck), (Verdict::Deadlock, 2));
}

#[test]
fn a_file_is_left_by_some_before_others_come() {
    let write = CollectiveCall {
        shared: 1,
        ..collective("MPI_File_write_all", 2, peer::NONE)
    };
    let at = |rank, doing, next| Pending {
        passed_shared: [((CommId::WORLD, 1), next)].into(),
        ..pending(rank, doing)
    };
    // Rank 1 is through and waits for rank 0, which waits for rank 2.
    let through = Pending {
        passed_shared: [((CommId::WORLD, 1), 3)].into(),
        ..message(1, "MPI_Recv", Side::Recv, 0, 3)
    };
    let writes = Doing::Collective(write);
    let waits = of(
        [
            at(0, writes, 2),
            through.clone(),
            at(2, Doing::Computing, 2),
        ],
        &[],
    );
    assert_eq!(diagnose(&waits).verdict, Verdict::Waiting);
    let stuck = Pending {
        passed_shared: [((CommId::WORLD, 1), 2)].into(),
        ..message(2, "MPI_Recv", Side::Recv, 0, 3)
    };
    let waits = of([at(0, writes, 2), through, stuck], &[]);
    assert_eq!(diagnose(&waits).verdict, Verdict::Deadlock);
}

#[test]
fn different_calls_on_one_file_do_not_fit() {
    let on = |rank, name| {
        let call = CollectiveCall {
            shared: 1,
            ..collective(name, 2, peer::NONE)
        };
        Pending {
            passed_shared: [((CommId::WORLD, 1), 2), ((CommId::WORLD, MAKING), 1)].into(),
            ..pending(rank, Doing::Collective(call))
        }
    };
    says(
        &of([on(0, "MPI_Win_fence"), on(1, "MPI_Win_free")], &[]),
        Verdict::Deadlock,
        "deadlock: MPI_Win_fence of rank 0 (a.c:7) and MPI_Win_free of rank 1 (a.c:7) do not fit \
         together as call 3 on window or file 1 of MPI_COMM_WORLD",
    );
}

fn needs_part(rank: u32, part: u32) -> Pending {
    let mut lock = operation(
        Side::Window { shared: 1 },
        Partner::Rank(Rank(part)),
        ANY_TAG,
    );
    lock.waited = true;
    Pending {
        operations: vec![lock],
        ..pending(rank, Doing::Messages(region("MPI_Win_lock")))
    }
}

#[test]
fn a_window_is_waited_for_where_it_is_locked() {
    let holds = |one: Pending| Pending {
        locked: vec![(CommId::WORLD, 1, Rank(0))],
        ..one
    };
    let idle = pending(
        0,
        Doing::Collective(collective("MPI_Barrier", 0, peer::NONE)),
    );
    let computes = holds(pending(1, Doing::Computing));
    let found = diagnose(&of([needs_part(2, 0), computes, idle.clone()], &[]));
    assert_eq!(found.verdict, Verdict::Waiting);
    let waits_for = found.findings.iter().find_map(|finding| match finding {
        Finding::Unmatched { link, .. } => Some((link.rank, link.waits_for)),
        _ => None,
    });
    assert_eq!(waits_for, Some((Rank(2), Some(Rank(1)))), "{found:?}");
    // The holder waits for the one that waits for it.
    let receives = holds(message(1, "MPI_Recv", Side::Recv, 2, 3));
    let found = diagnose(&of([needs_part(2, 0), receives, idle.clone()], &[]));
    assert_eq!(found.verdict, Verdict::Deadlock, "{}", found.sentence);
    // Two that have it in name alone: one of them gets it.
    let waits = of(
        [holds(needs_part(1, 0)), holds(needs_part(2, 0)), idle],
        &[],
    );
    assert_ne!(diagnose(&waits).verdict, Verdict::Deadlock);
}

#[test]
fn other_threads_may_help_where_they_may_call_mpi() {
    let send = |rank, may_go_on| Pending {
        threads: Threads {
            in_mpi: 0,
            outside: 2,
            may_go_on,
        },
        ..message(rank, "MPI_Ssend", Side::Send, 1 - rank, 5)
    };
    let both = |may_go_on| diagnose(&of([send(0, may_go_on), send(1, may_go_on)], &[]));
    assert_eq!(both(false).verdict, Verdict::Deadlock);
    let found = both(true);
    assert_eq!((found.verdict, found.stuck), (Verdict::Waiting, 0));
    assert!(
        found.sentence.starts_with(
            "no deadlock is known: rank 0 waits in MPI_Ssend (a.c:7) for rank 1 to receive its \
             message with tag 5 while 2 other threads of it are in its own code, rank 1 waits"
        ),
        "{}",
        found.sentence
    );
}
