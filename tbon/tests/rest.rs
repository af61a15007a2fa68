//! When a node may rest for long, and whom it can wake.

use invivo_proto::control::results::{Coverage, JobStatus};
use invivo_proto::control::tree::{Acks, Command, Down, JobInfo, Partial, Query, Up, Verb};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::{CommandId, WaveId, WorldRank};
use invivo_tbon::limits::{ALERT_NS, CLOCK_ALERT_NS};
use invivo_tbon::merge::Mismatch;
use invivo_tbon::node::{Action, Input, Node, Position};

type MergeFn = fn(&mut Partial, Partial) -> Result<(), Mismatch>;

const CHILD: WorldRank = WorldRank(4);

fn here(pid: u32) -> Whereabouts {
    Whereabouts {
        system: 9,
        time_space: 1,
        pid_space: 1,
        pid,
    }
}

/// A node with one child, whose job has begun.
fn node() -> Node<MergeFn> {
    let position = Position {
        me: WorldRank(6),
        process: WorldRank(6),
        is_beside_root: false,
        height: 2,
        local: None,
        children: vec![(CHILD, 4)],
    };
    let merge: MergeFn = |_, _| Ok(());
    let mut node = Node::new(0, position, merge).located(here(60));
    node.step(1, Input::Down(Down::Job(JobInfo::default())));
    node
}

fn up(node: &mut Node<MergeFn>, now_ns: u64, message: Up) {
    node.step(
        now_ns,
        Input::Up {
            from: CHILD,
            message,
        },
    );
}

/// A node that has nothing to do: its member is there, and its own clock is known.
fn calm(above: Whereabouts, below: Whereabouts) -> (Node<MergeFn>, u64) {
    let mut node = node();
    up(&mut node, 2, Up::Hello { ranks: 4 });
    let asked = node.step(3, Input::Tick);
    assert!(
        matches!(asked[..], [Action::Up(Up::WhatTime { .. })]),
        "{asked:?}"
    );
    let time = Down::Time {
        asked_ns: 3,
        job_ns: 5,
        error_ns: 0,
        parent_ns: 5,
        here: above,
    };
    node.step(6, Input::Down(time));
    let time = Up::WhatTime {
        asked_ns: 6,
        here: below,
    };
    up(&mut node, 7, time);
    let now_ns = 7 + CLOCK_ALERT_NS;
    assert!(!node.is_alert(now_ns), "the start itself is nobody's look");
    (node, now_ns)
}

#[test]
fn it_rests_with_neighbours_that_can_wake_it() {
    let (node, _) = calm(here(50), here(40));
    assert!(node.is_woken_by_all());
    assert_eq!(
        (node.parent_pid(), node.child_pid(CHILD)),
        (Some(50), Some(40))
    );
    assert_eq!(node.child_pid(WorldRank(5)), None);
    assert_eq!(
        node.clock().error_ns(u64::MAX),
        0,
        "the parent's clock is its own"
    );
    assert!(!calm(here(50), far()).0.is_woken_by_all());
    assert!(!calm(here(50), here(0)).0.is_woken_by_all());
}

/// Somewhere where nobody can be woken from here.
fn far() -> Whereabouts {
    Whereabouts {
        system: 8,
        ..here(50)
    }
}

/// Orders a command, and has it acknowledged by the member.
fn command_and_ack(node: &mut Node<MergeFn>, now_ns: u64) {
    let resume = Command {
        id: CommandId(1),
        verb: Verb::Resume,
    };
    node.step(now_ns, Input::Down(Down::Command(resume)));
    assert!(node.is_alert(now_ns + 3 * ALERT_NS), "it is under way");
    let acks = Acks::default();
    let command = CommandId(1);
    up(node, now_ns, Up::Ack { command, acks });
}

#[test]
fn commands_keep_it_alert_while_they_are_under_way() {
    let (mut node, now_ns) = calm(here(50), here(40));
    for message in [Down::Heartbeat, Down::Groups(Default::default())] {
        node.step(now_ns, Input::Down(message));
        assert!(!node.is_alert(now_ns));
    }
    command_and_ack(&mut node, now_ns);
    assert!(!node.is_alert(now_ns), "who has more to say wakes it");
}

#[test]
fn it_waits_for_more_of_those_who_cannot_wake_it() {
    let (mut node, now_ns) = calm(here(50), far());
    command_and_ack(&mut node, now_ns);
    assert!(node.is_alert(now_ns + ALERT_NS - 1));
    assert!(!node.is_alert(now_ns + ALERT_NS));
}

#[test]
fn questions_that_nobody_asked_keep_it_alert_until_answered() {
    let (mut node, now_ns) = calm(here(50), far());
    let wave = WaveId(3);
    // The watchdog's, and the governor's.
    for (query, partial) in [
        (Query::Hang { older_ns: 5 }, Partial::Hang(Box::default())),
        (Query::Status, Partial::Status(JobStatus::default())),
    ] {
        node.step(now_ns, Input::Down(Down::Query { wave, query }));
        assert!(node.is_alert(now_ns));
        let answer = Up::Partial {
            wave,
            partial,
            coverage: Coverage::default(),
            missing: Vec::new(),
        };
        up(&mut node, now_ns, answer);
        assert!(!node.is_alert(now_ns));
    }
    let query = Query::Analyses;
    node.step(now_ns, Input::Down(Down::Query { wave, query }));
    assert!(node.is_alert(now_ns + ALERT_NS - 1));
}

#[test]
fn a_child_that_measures_it_finds_it_awake() {
    let far = Whereabouts {
        system: 8,
        ..here(40)
    };
    let (mut node, now_ns) = calm(here(50), far);
    let asked_ns = 1;
    up(
        &mut node,
        now_ns,
        Up::WhatTime {
            asked_ns,
            here: far,
        },
    );
    assert!(node.is_alert(now_ns + CLOCK_ALERT_NS - 1) && !node.is_alert(now_ns + CLOCK_ALERT_NS));
}
