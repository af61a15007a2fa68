//! Promises about members: silent ones, those that send garbage, what time it is.

use invivo_proto::control::results::{Coverage, JobStatus, Ledger};
use invivo_proto::control::tree::{Acks, Command, Down, Partial, Query, Up, Verb};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::{CommandId, WaveId, WorldRank};
use invivo_tbon::job_time::UNKNOWN_NS;
use invivo_tbon::layout::Layout;
use invivo_tbon::limits::{GONE_NS, WAVE_NS_PER_LAYER};
use invivo_tbon::merge::Mismatch;
use invivo_tbon::node::{Action, Input, Node, Position};
use invivo_tbon::root::{Root, RootAction, RootInput};

type MergeFn = fn(&mut Partial, Partial) -> Result<(), Mismatch>;

fn keep(_: &mut Partial, _: Partial) -> Result<(), Mismatch> {
    Ok(())
}

/// Eight ranks; places 8 to 11, nodes 12 and 13, root 14.
fn layout() -> Layout {
    "8:2,2:tail".parse().unwrap()
}

const ONE: WorldRank = WorldRank(8);
const OTHER: WorldRank = WorldRank(9);

fn node() -> Node<MergeFn> {
    Node::new(
        0,
        Position::of(&layout(), WorldRank(12)).unwrap(),
        keep as MergeFn,
    )
}

fn query(wave: u64) -> Input {
    Input::Down(Down::Query {
        wave: WaveId(wave),
        query: Query::Status,
    })
}

fn answer(from: WorldRank, wave: u64) -> Input {
    let coverage = Coverage {
        ranks: 2,
        ranks_reporting: 2,
        ..Coverage::default()
    };
    Input::Up {
        from,
        message: Up::Partial {
            wave: WaveId(wave),
            partial: Partial::Status(JobStatus::default()),
            coverage,
            missing: Vec::new(),
        },
    }
}

/// Whom the questions among the actions go to.
fn asked(actions: &[Action]) -> Vec<WorldRank> {
    let to = |action: &Action| match action {
        Action::Down {
            to,
            message: Down::Query { .. } | Down::Command(_),
        } => Some(*to),
        _ => None,
    };
    actions.iter().filter_map(to).collect()
}

/// Of the status that goes up: the missing, and the notes.
fn status(actions: &[Action]) -> Option<(Vec<WorldRank>, Vec<String>)> {
    actions.iter().find_map(|action| match action {
        Action::Up(Up::Partial {
            partial: Partial::Status(status),
            missing,
            ..
        }) => Some((missing.clone(), status.notes.clone())),
        _ => None,
    })
}

#[test]
fn a_silent_member_is_asked_again_when_heard() {
    let mut node = node();
    assert_eq!(asked(&node.step(0, query(1))), [ONE, OTHER]);
    node.step(1, answer(ONE, 1));
    let late = 2 * WAVE_NS_PER_LAYER;
    let (missing, notes) = status(&node.step(late, Input::Tick)).unwrap();
    assert_eq!(missing, [OTHER]);
    assert_eq!(
        notes,
        ["tool process 9 does not answer: its 2 ranks are missing until it does"]
    );
    // It is named at once, and nobody waits.
    assert_eq!(asked(&node.step(late, query(2))), [ONE]);
    assert_eq!(
        status(&node.step(late, answer(ONE, 2))).unwrap(),
        (vec![OTHER], notes)
    );
    // A command goes to it all the same.
    let command = Command {
        id: CommandId(1),
        verb: Verb::Resume,
    };
    assert_eq!(
        asked(&node.step(late, Input::Down(Down::Command(command)))),
        [ONE, OTHER]
    );
    // Garbage is no sign of life; a late answer is.
    node.step(late, Input::Garbage(OTHER));
    assert_eq!(asked(&node.step(late, query(3))), [ONE]);
    node.step(late, answer(OTHER, 1));
    assert_eq!(asked(&node.step(late, query(4))), [ONE, OTHER]);
    node.step(late, answer(ONE, 4));
    let (missing, _) = status(&node.step(late, answer(OTHER, 4))).unwrap();
    assert_eq!(missing, []);
}

fn books(entered: u64) -> Ledger {
    Ledger {
        entered,
        kept: entered,
        ..Ledger::default()
    }
}

/// An answer with books.
fn honest(from: WorldRank, wave: u64, entered: u64) -> Input {
    let Input::Up { from, mut message } = answer(from, wave) else {
        unreachable!("an answer comes from a child")
    };
    if let Up::Partial { coverage, .. } = &mut message {
        coverage.ledger = books(entered);
    }
    Input::Up { from, message }
}

fn ledger(actions: &[Action]) -> Option<Ledger> {
    actions.iter().find_map(|action| match action {
        Action::Up(Up::Partial { coverage, .. }) => Some(coverage.ledger),
        _ => None,
    })
}

#[test]
fn a_member_not_heard_for_long_is_gone() {
    let mut node = node();
    node.step(0, query(1));
    node.step(0, honest(ONE, 1, 5));
    assert_eq!(ledger(&node.step(0, honest(OTHER, 1, 7))), Some(books(12)));
    // A hold waits for it as long as the lease, unless it is gone.
    let hold = Command {
        id: CommandId(1),
        verb: Verb::Hold {
            lease_ns: 20 * GONE_NS,
        },
    };
    node.step(0, Input::Down(Down::Command(hold)));
    let time = Input::Up {
        from: ONE,
        message: Up::WhatTime {
            asked_ns: 1,
            here: Whereabouts::default(),
        },
    };
    node.step(GONE_NS - 1, time);
    let acks = |actions: &[Action]| {
        actions.iter().find_map(|action| match action {
            Action::Up(Up::Ack { acks, .. }) => Some((acks.targets, acks.missing.clone())),
            _ => None,
        })
    };
    let done = Up::Ack {
        command: CommandId(1),
        acks: Acks {
            targets: 2,
            done: 2,
            ..Acks::default()
        },
    };
    let done = |from| Input::Up {
        from,
        message: done.clone(),
    };
    assert_eq!(acks(&node.step(GONE_NS - 1, done(ONE))), None);
    // Where not everything could be handed in nobody is late.
    assert_eq!(acks(&node.step(GONE_NS, Input::Backlog)), None);
    assert_eq!(
        acks(&node.step(GONE_NS, Input::Tick)),
        Some((4, vec![OTHER]))
    );
    // What it held counts as dropped.
    node.step(GONE_NS, query(2));
    let actions = node.step(GONE_NS, honest(ONE, 2, 6));
    let dropped = Ledger {
        entered: 13,
        kept: 6,
        dropped_by_place: 7,
        ..Ledger::default()
    };
    assert_eq!(ledger(&actions), Some(dropped));
    let note = "tool process 9 has been silent for 30 s: what it held of its 2 ranks counts as \
        dropped until it is heard";
    assert_eq!(status(&actions), Some((vec![OTHER], vec![note.to_owned()])));
    // It was only slow: its books are what they are.
    node.step(GONE_NS, done(OTHER));
    assert_eq!(asked(&node.step(GONE_NS, query(3))), [ONE, OTHER]);
    node.step(GONE_NS, honest(ONE, 3, 6));
    assert_eq!(
        ledger(&node.step(GONE_NS, honest(OTHER, 3, 9))),
        Some(books(15))
    );
}

#[test]
fn without_time_what_has_come_is_the_answer() {
    let mut node = node();
    node.step(0, query(1));
    assert_eq!(status(&node.step(1, answer(ONE, 1))), None);
    let (missing, _) = status(&node.step(2, Input::Enough)).unwrap();
    assert_eq!(missing, [OTHER]);
    assert_eq!(node.step(3, Input::Enough), []);
}

#[test]
fn a_silent_member_is_given_commands_and_not_waited_for() {
    let mut node = node();
    node.step(0, query(1));
    node.step(1, answer(ONE, 1));
    let late = 2 * WAVE_NS_PER_LAYER;
    node.step(late, Input::Tick);
    let command = Command {
        id: CommandId(1),
        verb: Verb::Resume,
    };
    assert_eq!(
        asked(&node.step(late, Input::Down(Down::Command(command)))),
        [ONE, OTHER]
    );
    let acks = Acks {
        targets: 2,
        done: 2,
        ..Acks::default()
    };
    let done = Input::Up {
        from: ONE,
        message: Up::Ack {
            command: CommandId(1),
            acks,
        },
    };
    let all = Acks {
        targets: 4,
        done: 2,
        missing: vec![OTHER],
        ..Acks::default()
    };
    assert_eq!(
        node.step(late, done),
        [Action::Up(Up::Ack {
            command: CommandId(1),
            acks: all
        })]
    );
}

#[test]
fn clocks_that_run_apart_are_named_in_every_status() {
    let mut node = node();
    for (asked_ns, job_ns) in [(0, 0), (10 * GONE_NS, 9 * GONE_NS)] {
        node.step(asked_ns, Input::Tick);
        let time = Down::Time {
            asked_ns,
            job_ns,
            error_ns: 0,
            parent_ns: 0,
            here: Whereabouts::default(),
        };
        node.step(asked_ns, Input::Down(time));
    }
    let note = "tool process 12 saw its clock and the root's run apart by up to 100000 ppm: job \
        time is stated with a larger error";
    assert!(
        node.notes().any(|told| told == note),
        "{:?}",
        node.notes().collect::<Vec<_>>()
    );
}

#[test]
fn a_place_asks_itself_however_late_its_ranks_are() {
    let mut place: Node<MergeFn> = Node::new(0, Position::of(&layout(), ONE).unwrap(), keep);
    let command = Command {
        id: CommandId(1),
        verb: Verb::Resume,
    };
    place.step(0, Input::Down(Down::Command(command)));
    place.step(1 << 40, Input::Tick);
    let actions = place.step(1 << 40, query(1));
    assert!(matches!(actions[..], [Action::Local(Down::Query { .. })]));
}

#[test]
fn garbage_is_named_in_every_status() {
    let mut node = node();
    node.step(0, Input::Garbage(OTHER));
    node.step(0, Input::Garbage(OTHER));
    node.step(0, Input::Garbage(WorldRank(3)));
    assert_eq!((node.ignored().garbage, node.ignored().strangers), (2, 1));
    // A member that claims to have more ranks than there are.
    let boast = Up::Ack {
        command: CommandId(7),
        acks: Acks {
            targets: 3,
            ..Acks::default()
        },
    };
    let command = Command {
        id: CommandId(7),
        verb: Verb::Resume,
    };
    node.step(0, Input::Down(Down::Command(command)));
    node.step(
        0,
        Input::Up {
            from: ONE,
            message: boast,
        },
    );
    node.step(0, query(1));
    node.step(0, answer(ONE, 1));
    let (_, notes) = status(&node.step(0, answer(OTHER, 1))).unwrap();
    assert_eq!(
        notes,
        [
            "tool process 8 sent garbage: 1 messages that cannot be read or cannot be true were \
             ignored",
            "tool process 9 sent garbage: 2 messages that cannot be read or cannot be true were \
             ignored",
        ]
    );
    assert_eq!(node.notes().collect::<Vec<_>>(), notes);
}

#[test]
fn time_is_measured_upward_and_told_downward() {
    let mut root: Root<MergeFn> =
        Root::new(0, Position::of(&layout(), WorldRank(14)).unwrap(), keep);
    let mut node = node();
    // A node that does not know yet says so.
    let ask = |from, asked_ns| Input::Up {
        from,
        message: Up::WhatTime {
            asked_ns,
            here: Whereabouts::default(),
        },
    };
    let told = |asked_ns, job_ns, error_ns, parent_ns| Down::Time {
        asked_ns,
        job_ns,
        error_ns,
        parent_ns,
        here: Whereabouts::default(),
    };
    assert_eq!(
        node.step(3, ask(ONE, 1)),
        [Action::Down {
            to: ONE,
            message: told(1, 3, UNKNOWN_NS, 3)
        }]
    );
    assert_eq!(
        node.step(100, Input::Tick),
        [Action::Up(Up::WhatTime {
            asked_ns: 100,
            here: Whereabouts::default()
        })]
    );
    assert_eq!(
        node.step(101, Input::Tick),
        [],
        "one question is on its way already"
    );
    // The root's clock is 5,000 when the node's is 150.
    root.step(4000, RootInput::Tick);
    let answer = root.step(
        5000,
        RootInput::Up {
            from: WorldRank(12),
            message: Up::WhatTime {
                asked_ns: 100,
                here: Whereabouts::default(),
            },
        },
    );
    let message = told(100, 5000, 0, 5000);
    assert_eq!(
        answer,
        [RootAction::Down {
            to: WorldRank(12),
            message: message.clone()
        }]
    );
    assert_eq!(
        node.step(200, Input::Down(message)),
        [Action::Up(Up::WhatTime {
            asked_ns: 200,
            here: Whereabouts::default()
        })],
        "the parent is awake: the next round"
    );
    assert_eq!(node.clock().job_ns(150), 5000);
    assert_eq!(node.clock().from_job(5000), 150);
    assert_eq!(
        node.clock().error_ns(200),
        51,
        "half the round trip, and drift"
    );
    assert_eq!(
        node.step(200, ask(OTHER, 170)),
        [Action::Down {
            to: OTHER,
            message: told(170, 5050, 51, 200)
        }]
    );
}
