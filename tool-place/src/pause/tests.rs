use super::*;

const MS: u64 = 1_000_000;
const START: u64 = 50_000 * MS;

fn place(present: &[u32]) -> Pauses {
    let mut pauses = Pauses::new(4..8);
    for &rank in present {
        assert_eq!(pauses.attached(START, Rank(rank)), []);
    }
    pauses
}

fn pause(id: u64, lease_ms: u64) -> Command {
    Command {
        id: CommandId(id),
        verb: Verb::Pause {
            lease_ns: lease_ms * MS,
        },
    }
}

fn resume(id: u64) -> Command {
    Command {
        id: CommandId(id),
        verb: Verb::Resume,
    }
}

fn acks(actions: &[PauseAction]) -> &Acks {
    match actions {
        [.., PauseAction::Ack { acks, .. }] => acks,
        other => panic!("no acknowledgement in {other:?}"),
    }
}

#[test]
fn a_pause_is_acknowledged_when_every_rank_has_answered() {
    let mut pauses = place(&[4, 5, 6, 7]);
    let actions = pauses.command(START, &pause(1, 60_000));
    let ranks = (4..8).map(Rank).collect();
    assert_eq!(
        actions,
        [PauseAction::Close {
            ranks,
            generation: 1,
            until_ns: START + HOLD_NS
        }]
    );
    assert_eq!(pauses.acted(START + MS, Rank(4), 1, &Outcome::Stopped), []);
    assert_eq!(
        pauses.acted(START + 2 * MS, Rank(5), 1, &Outcome::HeldInMpi),
        []
    );
    assert_eq!(
        pauses.acted(START + 3 * MS, Rank(6), 1, &Outcome::Partly { running: 2 }),
        []
    );
    // The same rank twice, or the answer to an earlier pause, counts for nobody else.
    assert_eq!(
        pauses.acted(START + 3 * MS, Rank(6), 1, &Outcome::Stopped),
        []
    );
    assert_eq!(
        pauses.acted(START + 3 * MS, Rank(7), 0, &Outcome::Stopped),
        []
    );
    let actions = pauses.acted(START + 4 * MS, Rank(7), 1, &Outcome::Stopped);
    let expected = Acks {
        targets: 4,
        done: 4,
        held_in_mpi: 1,
        partly: 1,
        slowest: Some((Rank(7), 4 * MS)),
        ..Acks::default()
    };
    assert_eq!(
        actions,
        [PauseAction::Ack {
            command: CommandId(1),
            acks: expected
        }]
    );
    let status = pauses.status(START + 10_000 * MS).unwrap();
    assert_eq!(
        (status.command, status.lease_left_ns),
        (CommandId(1), 50_000 * MS)
    );

    let actions = pauses.command(START + 5 * MS, &resume(2));
    assert_eq!(
        actions,
        [PauseAction::Open {
            generation: 1,
            keep: vec![]
        }]
    );
    assert_eq!(pauses.status(START + 5 * MS), None);
    for rank in 4..7 {
        assert_eq!(
            pauses.acted(START + 6 * MS, Rank(rank), 1, &Outcome::Running),
            []
        );
    }
    assert_eq!(
        acks(&pauses.acted(START + 6 * MS, Rank(7), 1, &Outcome::Gone)).done,
        4
    );
}

/// Heartbeats push the gate on up to the lease and no further.
#[test]
fn heartbeats_push_the_gate_up_to_the_lease() {
    let mut pauses = place(&[4]);
    pauses.command(START, &pause(1, 5_000));
    let mut at = START;
    let mut closed_until = START + HOLD_NS;
    while at < START + 5_000 * MS {
        assert_eq!(
            pauses.tick(at),
            [],
            "the gate opened {} ms after the start",
            (at - START) / MS
        );
        assert!(
            closed_until > at,
            "the ranks opened the gate before the lease was over"
        );
        at += 250 * MS;
        if at < START + 5_000 * MS {
            let [PauseAction::Push { until_ns, .. }] = pauses.heartbeat(at)[..] else {
                panic!("not pushed on")
            };
            assert!(until_ns <= START + 5_000 * MS);
            closed_until = until_ns;
        }
        // The supervisor never answers: that is told once, after a second.
        if at == START + 1_250 * MS {
            assert_eq!(acks(&pauses.tick(at)).failures.len(), 4);
        }
    }
    assert_eq!(
        pauses.tick(at),
        [PauseAction::Open {
            generation: 1,
            keep: vec![]
        }]
    );
    assert_eq!(pauses.tick(at), []);
}

#[test]
fn a_pause_ends_with_the_root() {
    let mut pauses = place(&[4]);
    pauses.command(START, &pause(1, 60_000));
    pauses.acted(START, Rank(4), 1, &Outcome::Stopped);
    assert_eq!(
        pauses.end_all(),
        [PauseAction::Open {
            generation: 1,
            keep: vec![]
        }]
    );
    assert_eq!(pauses.status(START), None);
    assert_eq!(pauses.end_all(), []);
    // A root that was only slow is the root again, without the pause.
    assert_eq!(pauses.heartbeat(START + MS), []);
}

/// Ranks that are not there are named and those that are through are done.
#[test]
fn absent_ranks_are_named_and_finished_ones_done() {
    let mut pauses = place(&[4, 5]);
    assert_eq!(pauses.finished(START, Rank(4)), []);
    let actions = pauses.command(START, &pause(1, 60_000));
    assert_eq!(
        actions,
        [PauseAction::Close {
            ranks: vec![Rank(5)],
            generation: 1,
            until_ns: START + HOLD_NS
        }]
    );
    let actions = pauses.finished(START + MS, Rank(5));
    let acks = acks(&actions);
    assert_eq!((acks.targets, acks.done), (4, 2));
    assert_eq!(
        acks.failures
            .iter()
            .map(|(rank, _)| rank.0)
            .collect::<Vec<_>>(),
        [6, 7]
    );
    // One that comes late is held at once.
    let actions = pauses.attached(START + 2 * MS, Rank(6));
    assert_eq!(
        actions,
        [PauseAction::Close {
            ranks: vec![Rank(6)],
            generation: 1,
            until_ns: START + 2 * MS + HOLD_NS
        }]
    );
}

#[test]
fn a_second_command_concludes_the_first() {
    let mut pauses = place(&[4, 5]);
    pauses.command(START, &pause(1, 60_000));
    pauses.acted(START, Rank(4), 1, &Outcome::Stopped);
    let actions = pauses.command(START + MS, &pause(2, 1_000));
    let [
        PauseAction::Ack {
            command: CommandId(1),
            acks,
        },
        PauseAction::Close {
            generation: 2,
            until_ns,
            ..
        },
    ] = &actions[..]
    else {
        panic!("{actions:?}")
    };
    assert_eq!((acks.done, acks.failures.len()), (1, 3));
    assert_eq!(*until_ns, START + MS + 1_000 * MS);
    // An answer to the first does not count for the second.
    assert_eq!(
        pauses.acted(START + 2 * MS, Rank(5), 1, &Outcome::Stopped),
        []
    );
}

#[test]
fn to_resume_what_runs_is_done_at_once() {
    let mut pauses = place(&[4, 5]);
    assert_eq!(acks(&pauses.command(START, &resume(1))).done, 4);
    pauses.command(START, &pause(2, 60_000));
    pauses.acted(START, Rank(4), 1, &Outcome::Running);
    let actions = pauses.acted(START, Rank(5), 1, &Outcome::Stopped);
    let acks = acks(&actions);
    assert_eq!((acks.done, acks.failures.len()), (1, 3));
}
