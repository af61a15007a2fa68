use super::super::HOLD_NS;
use super::*;
use invivo_proto::control::local::Outcome;
use invivo_proto::control::tree::{Acks, Command, Verb};

const MS: u64 = 1_000_000;
const START: u64 = 50_000 * MS;

fn command(id: u64, verb: Verb) -> Command {
    Command {
        id: CommandId(id),
        verb,
    }
}

fn hold(id: u64, lease_ms: u64) -> Command {
    command(
        id,
        Verb::Hold {
            lease_ns: lease_ms * MS,
        },
    )
}

fn closed(ranks: &[u32], generation: u32, until_ns: u64) -> PauseAction {
    PauseAction::Hold {
        ranks: ranks.iter().copied().map(Rank).collect(),
        generation,
        until_ns,
    }
}

fn free(ranks: &[u32]) -> PauseAction {
    PauseAction::Free {
        ranks: ranks.iter().copied().map(Rank).collect(),
    }
}

fn acks(actions: &[PauseAction], id: u64) -> Acks {
    match actions {
        [.., PauseAction::Ack { command, acks }] if command.0 == id => acks.clone(),
        other => panic!("no acknowledgement of {id} in {other:?}"),
    }
}

/// A place of two ranks that are held from the start, for ten seconds.
fn held() -> Pauses {
    let mut pauses = Pauses::new(4..6);
    assert_eq!(
        pauses.attached(START, Rank(4)),
        [],
        "nobody knows yet what the gate is to do"
    );
    let lease = 10_000 * MS;
    assert_eq!(
        pauses.begin(START, lease),
        [closed(&[4], 1, START + HOLD_NS)]
    );
    assert_eq!(pauses.stood(START, Rank(4), Stand::Before), []);
    assert_eq!(
        pauses.attached(START, Rank(5)),
        [closed(&[5], 1, START + HOLD_NS)]
    );
    assert_eq!(pauses.stood(START, Rank(5), Stand::Behind), []);
    pauses
}

#[test]
fn held_from_the_start_until_resumed() {
    let mut pauses = held();
    let now = START + 1_000 * MS;
    assert_eq!(
        pauses.heartbeat(now),
        [PauseAction::Push {
            ranks: vec![Rank(4), Rank(5)],
            until_ns: now + HOLD_NS
        }]
    );
    // To wait for it is to hold once more.
    let actions = pauses.command(now, &hold(1, 10_000));
    assert_eq!(actions, [closed(&[4, 5], 1, now + HOLD_NS)]);
    assert_eq!(pauses.awaited(), [Rank(4), Rank(5)]);
    assert_eq!(pauses.stood(now, Rank(5), Stand::Behind), []);
    assert_eq!(pauses.stood(now, Rank(4), Stand::Before), []);
    assert_eq!(pauses.awaited(), [Rank(4)]);
    let done = acks(&pauses.stood(now + 30 * MS, Rank(4), Stand::Behind), 1);
    assert_eq!(
        (done.targets, done.done, done.slowest),
        (2, 2, Some((Rank(4), 30 * MS)))
    );
    let actions = pauses.command(now, &command(2, Verb::Resume));
    assert_eq!(actions[0], free(&[4, 5]));
    assert_eq!(acks(&actions, 2).done, 2);
    assert_eq!(pauses.heartbeat(now), []);
    assert_eq!(
        pauses.stood(now, Rank(4), Stand::Behind),
        [],
        "the hold is over"
    );
}

#[test]
fn without_a_hold_a_new_rank_finds_its_gate_open() {
    let mut pauses = Pauses::new(4..6);
    assert_eq!(pauses.attached(START, Rank(4)), []);
    assert_eq!(pauses.begin(START, 0), [free(&[4])]);
    assert_eq!(pauses.attached(START, Rank(5)), [free(&[5])]);
    let mut late = held();
    late.command(START, &command(1, Verb::Resume));
    let mut pauses = Pauses::new(4..6);
    pauses.begin(START, 10_000 * MS);
    pauses.command(START, &command(1, Verb::Resume));
    assert_eq!(pauses.attached(START, Rank(4)), [free(&[4])]);
}

/// A rank that is past it is a failure and runs on.
#[test]
fn a_rank_past_initialisation_fails_the_hold() {
    let mut pauses = Pauses::new(4..8);
    pauses.begin(START, 0);
    pauses.attached(START, Rank(4));
    pauses.attached(START, Rank(5));
    pauses.attached(START, Rank(6));
    pauses.finished(START, Rank(6));
    assert_eq!(
        pauses.command(START, &hold(1, 5_000)),
        [closed(&[4, 5], 1, START + HOLD_NS)]
    );
    assert_eq!(pauses.stood(START, Rank(4), Stand::Past), [free(&[4])]);
    assert_eq!(pauses.stood(START, Rank(5), Stand::Before), []);
    assert_eq!(
        pauses.attached(START, Rank(7)),
        [closed(&[7], 1, START + HOLD_NS)]
    );
    assert_eq!(pauses.stood(START, Rank(7), Stand::Behind), []);
    let acks = acks(&pauses.finished(START, Rank(5)), 1);
    assert_eq!((acks.targets, acks.done), (4, 1));
    let failures: Vec<(u32, &str)> = acks
        .failures
        .iter()
        .map(|(rank, why)| (rank.0, &why[..]))
        .collect();
    assert_eq!(
        failures,
        [
            (6, "has ended"),
            (4, "is past MPI_Init; use pause"),
            (5, "has ended")
        ]
    );
}

/// A hold waits as long as its lease and ends with it.
#[test]
fn a_hold_lasts_as_long_as_its_lease() {
    let mut pauses = Pauses::new(4..6);
    pauses.begin(START, 0);
    pauses.attached(START, Rank(4));
    pauses.command(START, &hold(1, 5_000));
    pauses.stood(START, Rank(4), Stand::Behind);
    assert_eq!(pauses.tick(START + 4_999 * MS), []);
    let actions = pauses.tick(START + 5_000 * MS);
    assert_eq!(actions[1..], [free(&[4])]);
    let acks = acks(&actions[..1], 1);
    assert_eq!(
        (acks.done, acks.failures.len()),
        (1, 1),
        "rank 5 never came"
    );
    assert_eq!(pauses.tick(START + 6_000 * MS), []);
}

#[test]
fn pause_and_hold_share_the_gate() {
    let mut pauses = held();
    let now = START + 9_500 * MS;
    let pause = Verb::Pause {
        lease_ns: 1_000 * MS,
    };
    let actions = pauses.command(now, &command(1, pause.clone()));
    let [
        PauseAction::Close {
            generation: 2,
            until_ns,
            ranks,
        },
    ] = &actions[..]
    else {
        panic!("{actions:?}")
    };
    assert_eq!(
        *until_ns,
        now + 1_000 * MS,
        "the longer of both, and no other before it"
    );
    let push = PauseAction::Push {
        ranks: vec![Rank(4), Rank(5)],
        until_ns: now + 1_000 * MS,
    };
    assert_eq!(pauses.heartbeat(now + 400 * MS), [push]);
    assert_eq!(ranks.len(), 2);
    for rank in [4, 5] {
        pauses.acted(now, Rank(rank), 2, &Outcome::Stopped);
    }
    // The hold ends first: the pause keeps the gates closed.
    assert_eq!(pauses.tick(START + 10_000 * MS), []);
    let open = PauseAction::Open {
        generation: 2,
        keep: vec![],
    };
    assert_eq!(pauses.tick(now + 1_000 * MS), [open]);

    // The pause ends first: the hold keeps its ranks.
    let mut pauses = held();
    pauses.command(START, &command(1, pause.clone()));
    let actions = pauses.tick(START + 1_000 * MS);
    let Some(PauseAction::Open { keep, .. }) = actions.last() else {
        panic!("{actions:?}")
    };
    assert_eq!(keep, &[Rank(4), Rank(5)]);
    assert_eq!(
        pauses.command(START, &command(2, Verb::Resume))[0],
        free(&[4, 5])
    );

    // To resume ends both.
    let mut pauses = held();
    pauses.command(START, &command(1, pause));
    let actions = pauses.command(START, &command(2, Verb::Resume));
    let open = PauseAction::Open {
        generation: 2,
        keep: vec![],
    };
    assert!(actions.contains(&open), "{actions:?}");
    assert_eq!(pauses.heartbeat(START), []);
}

#[test]
fn nobody_is_held_without_a_root() {
    assert_eq!(held().end_all(), [free(&[4, 5])]);
    // Not even who was never asked for: its supervisor closed the gate.
    let mut pauses = Pauses::new(4..6);
    pauses.attached(START, Rank(5));
    assert_eq!(pauses.end_all(), [free(&[5])]);
    assert_eq!(pauses.end_all(), []);
    assert_eq!(pauses.attached(START, Rank(4)), [free(&[4])]);
}
