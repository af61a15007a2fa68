use super::*;
use invivo_proto::control::encode;
use invivo_proto::control::results::{Coverage, JobStatus};
use invivo_proto::control::tree::{Acks, Query};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::WaveId;
use invivo_tbon::layout::Layout;
use invivo_tbon::limits::SILENCE_NS_MAX;

const PLACES: [WorldRank; 2] = [WorldRank(8), WorldRank(9)];

/// The first of two nodes below the root of eight ranks, with two places.
fn branch() -> Branch {
    let layout: Layout = "8:2,2:tail".parse().unwrap();
    Branch::new(0, Position::of(&layout, WorldRank(12)).unwrap())
}

fn down(branch: &mut Branch, message: Down) -> Vec<BranchAction> {
    branch.down(5, &encode(&message).unwrap());
    branch.take_actions()
}

fn up(branch: &mut Branch, from: WorldRank, message: Up) -> Vec<BranchAction> {
    branch.up(5, from, &encode(&message).unwrap());
    branch.take_actions()
}

fn to_all(message: Down) -> Vec<BranchAction> {
    PLACES
        .map(|place| BranchAction::Down(place, message.clone()))
        .to_vec()
}

#[test]
fn it_merges_what_its_places_say_and_adds_itself() {
    let mut branch = branch();
    branch.down(0, &[0xff; 3]);
    branch.tick(
        1,
        SelfStats {
            cpu_ns: 30,
            refused_sends: 1,
            panics: 0,
        },
    );
    assert_eq!(
        branch.take_actions(),
        [BranchAction::Up(Up::WhatTime {
            asked_ns: 1,
            here: Whereabouts::default()
        })]
    );
    let query = Down::Query {
        wave: WaveId(3),
        query: Query::Status,
    };
    assert_eq!(down(&mut branch, query.clone()), to_all(query));
    let answer = |state: u32| Up::Partial {
        wave: WaveId(3),
        partial: Partial::Status(JobStatus {
            states: [0, state, 0, 0, 0, 0],
            ..JobStatus::default()
        }),
        coverage: Coverage {
            ranks: 2,
            ranks_reporting: 2,
            tool_cpu_ns: 100,
            ..Coverage::default()
        },
        missing: Vec::new(),
    };
    assert_eq!(up(&mut branch, PLACES[0], answer(1)), []);
    let actions = up(&mut branch, PLACES[1], answer(2));
    let [
        BranchAction::Up(Up::Partial {
            partial: Partial::Status(status),
            coverage,
            ..
        }),
    ] = &actions[..]
    else {
        panic!("{actions:?}")
    };
    assert_eq!(status.states[1], 3);
    assert_eq!(
        (coverage.ranks_reporting, coverage.tool_cpu_ns),
        (4, 230),
        "its own time counts, too"
    );
    assert_eq!(
        status.notes,
        [
            "tool process 12 could not read 1 messages from its parent: they were ignored",
            "tool process 12 could not send 1 messages: the other side takes none",
        ]
    );
}

#[test]
fn garbage_of_a_child_is_counted_and_harms_nothing() {
    let mut branch = branch();
    branch.up(0, PLACES[0], &[0xff; 9]);
    branch.up(0, WorldRank(3), &[0xff; 9]);
    assert_eq!(branch.take_actions(), []);
    let notes: Vec<String> = branch.node.notes().collect();
    assert!(
        notes.len() == 1 && notes[0].contains("tool process 8 sent garbage"),
        "{notes:?}"
    );
}

#[test]
fn it_leaves_when_it_is_told_to() {
    let mut branch = branch();
    assert_eq!(down(&mut branch, Down::Shutdown), to_all(Down::Shutdown));
    assert_eq!(branch.exit(), Some(Exit::Finalize));
}

#[test]
fn after_a_death_nobody_finalises() {
    let mut branch = branch();
    assert_eq!(down(&mut branch, Down::Release), to_all(Down::Release));
    assert_eq!(branch.exit(), None);
    down(&mut branch, Down::Shutdown);
    assert_eq!(branch.exit(), Some(Exit::Abandon));
}

#[test]
fn without_a_root_it_leaves_once_its_ranks_are_through() {
    let mut branch = branch();
    let stats = SelfStats::default();
    branch.tick(SILENCE_NS_MAX, stats);
    branch.tick(SILENCE_NS_MAX + 100 * WITHOUT_ROOT_NS, stats);
    assert_eq!(branch.exit(), None, "its ranks run on");
    // A root that comes back is not lost.
    down(&mut branch, Down::Heartbeat);
    for place in PLACES {
        up(&mut branch, place, Up::Drained);
    }
    branch.tick(SILENCE_NS_MAX, stats);
    assert_eq!(branch.exit(), None);
    let lost_ns = 200 * WITHOUT_ROOT_NS;
    branch.tick(lost_ns, stats);
    branch.tick(lost_ns + WITHOUT_ROOT_NS, stats);
    assert_eq!(branch.exit(), None);
    branch.tick(lost_ns + WITHOUT_ROOT_NS + 1, stats);
    assert_eq!(branch.exit(), Some(Exit::RootLost));
}

#[test]
fn it_rests_once_a_shutdown_is_acknowledged_that_was_done() {
    for done in [0, 1] {
        let mut branch = branch();
        let command = Down::Command(Command {
            id: CommandId(4),
            verb: Verb::Shutdown,
        });
        assert_eq!(down(&mut branch, command.clone()), to_all(command));
        let ack = |targets, done| Up::Ack {
            command: CommandId(4),
            acks: Acks {
                targets,
                done,
                ..Acks::default()
            },
        };
        assert_eq!(up(&mut branch, PLACES[0], ack(2, done)), []);
        assert!(!branch.is_shut_down());
        let all = [BranchAction::Up(ack(4, done))];
        assert_eq!(up(&mut branch, PLACES[1], ack(2, 0)), all);
        assert_eq!(branch.is_shut_down(), done > 0);
    }
}
