//! Promises of node and root, one by one: heartbeats, limits, refusals, beginning and end.

use invivo_proto::control::results::{Coverage, JobStatus};
use invivo_proto::control::tree::{
    Acks, Command, Down, Ended, JobInfo, Order, Partial, Query, RankEnded, Up, Verb,
};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::{CommandId, Rank, WaveId, WorldRank};
use invivo_tbon::layout::{FanIn, Layout, Policy};
use invivo_tbon::limits::{
    ASKERS_MAX, COMMANDS_MAX, GONE_NS, HEARTBEAT_NS, REMEMBERED_MAX, SILENCE_NS_MAX, START_NS_MAX,
    WAVE_NS_PER_LAYER, WAVES_MAX,
};
use invivo_tbon::merge::Mismatch;
use invivo_tbon::node::{Action, Input, Node, Position};
use invivo_tbon::root::{Ask, AskId, Refusal, Root, RootAction, RootInput};

type MergeFn = fn(&mut Partial, Partial) -> Result<(), Mismatch>;

fn keep(_: &mut Partial, _: Partial) -> Result<(), Mismatch> {
    Ok(())
}

/// Eight ranks, two places, a root.
fn layout() -> Layout {
    Layout::for_app(8, FanIn::new(&[4]).unwrap(), Policy::Tail).unwrap()
}

fn place() -> Node<MergeFn> {
    Node::new(
        0,
        Position::of(&layout(), WorldRank(8)).unwrap(),
        keep as MergeFn,
    )
}

fn root() -> Root<MergeFn> {
    Root::new(
        0,
        Position::of(&layout(), layout().root()).unwrap(),
        keep as MergeFn,
    )
}

fn command(id: u64, verb: Verb) -> Command {
    Command {
        id: CommandId(id),
        verb,
    }
}

fn order(id: u64, order: Order) -> Ask {
    Ask::Command {
        id: CommandId(id),
        order,
    }
}

fn ask(root: &mut Root<MergeFn>, ask: u64, what: Ask) -> Vec<RootAction> {
    root.step(
        0,
        RootInput::Ask {
            ask: AskId(ask),
            what,
        },
    )
}

fn refusal(actions: &[RootAction]) -> Option<Refusal> {
    actions.iter().find_map(|action| match action {
        RootAction::Refused { refusal, .. } => Some(*refusal),
        _ => None,
    })
}

fn answer(wave: u64) -> Up {
    let coverage = Coverage {
        ranks: 4,
        ranks_reporting: 4,
        ..Coverage::default()
    };
    let partial = Partial::Status(JobStatus::default());
    Up::Partial {
        wave: WaveId(wave),
        partial,
        coverage,
        missing: Vec::new(),
    }
}

#[test]
fn seats_follow_the_layout() {
    let position = |world| Position::of(&layout(), WorldRank(world));
    assert_eq!(position(0), None);
    assert_eq!(position(11), None);
    assert_eq!(
        position(9),
        Some(Position {
            me: WorldRank(9),
            process: WorldRank(9),
            height: 1,
            local: Some(4),
            children: vec![],
            is_beside_root: false
        })
    );
    let children = vec![(WorldRank(8), 4), (WorldRank(9), 4)];
    assert_eq!(
        position(10),
        Some(Position {
            me: WorldRank(10),
            process: WorldRank(10),
            height: 2,
            local: None,
            children,
            is_beside_root: false
        })
    );
}

#[test]
fn the_root_says_that_it_is_alive_whatever_else_happens() {
    let mut root = root();
    let beats = |actions: Vec<RootAction>| {
        actions
            .iter()
            .filter(|a| {
                matches!(
                    a,
                    RootAction::Down {
                        message: Down::Heartbeat,
                        ..
                    }
                )
            })
            .count()
    };
    assert_eq!(beats(root.step(0, RootInput::Tick)), 2);
    assert_eq!(root.next_tick_ns(), Some(HEARTBEAT_NS));
    assert_eq!(beats(root.step(HEARTBEAT_NS - 1, RootInput::Tick)), 0);
    // Not only a tick: a root that is always busy is alive too.
    assert_eq!(
        beats(root.step(
            HEARTBEAT_NS,
            RootInput::Up {
                from: WorldRank(8),
                message: Up::Drained
            }
        )),
        2
    );
    root.step(2 * HEARTBEAT_NS, RootInput::Shutdown);
    assert_eq!(beats(root.step(9 * HEARTBEAT_NS, RootInput::Tick)), 0);
    assert_eq!(root.next_tick_ns(), None);
}

#[test]
fn a_lost_root_is_reported_once_per_silence() {
    let mut place = place();
    let lost =
        |place: &mut Node<MergeFn>, now| place.step(now, Input::Tick).contains(&Action::RootLost);
    place.step(0, Input::Down(Down::Heartbeat));
    assert!(!lost(&mut place, SILENCE_NS_MAX - 1));
    assert!(lost(&mut place, SILENCE_NS_MAX));
    assert!(!lost(&mut place, 2 * SILENCE_NS_MAX));
    // It was only slow.
    let heard = 3 * SILENCE_NS_MAX;
    assert!(
        place
            .step(heard, Input::Down(Down::Heartbeat))
            .contains(&Action::Local(Down::Heartbeat))
    );
    assert!(!lost(&mut place, heard + SILENCE_NS_MAX - 1));
    // What the parent says by itself does not tell that the root lives.
    let time = Down::Time {
        asked_ns: 0,
        job_ns: 0,
        error_ns: 0,
        parent_ns: 0,
        here: Whereabouts::default(),
    };
    place.step(heard + SILENCE_NS_MAX - 1, Input::Down(time));
    place.step(
        heard + SILENCE_NS_MAX - 1,
        Input::Down(Down::Groups([].into())),
    );
    assert!(lost(&mut place, heard + SILENCE_NS_MAX));
}

#[test]
fn a_root_that_starts_slowly_is_not_lost() {
    let mut place = place();
    let lost =
        |place: &mut Node<MergeFn>, now| place.step(now, Input::Tick).contains(&Action::RootLost);
    // The parent is there before the root is.
    place.step(1, Input::Down(Down::Groups([].into())));
    assert!(!lost(&mut place, 10 * SILENCE_NS_MAX));
    assert_eq!(
        place.clone().step(START_NS_MAX, Input::Tick)[0],
        Action::RootLost,
        "but not for ever"
    );
    // From its first word on it is listened to.
    let first = 11 * SILENCE_NS_MAX;
    place.step(first, Input::Down(Down::Job(JobInfo::default())));
    assert!(!lost(&mut place, first + SILENCE_NS_MAX - 1));
    assert!(lost(&mut place, first + SILENCE_NS_MAX));
}

#[test]
fn what_waits_unread_is_not_late() {
    let mut root = root();
    ask(&mut root, 0, Ask::Query(Query::Status));
    // The driver comes back long after the time-out, with both answers in its hands.
    let late = 10 * WAVE_NS_PER_LAYER;
    root.step(
        late,
        RootInput::Up {
            from: WorldRank(8),
            message: answer(0),
        },
    );
    let actions = root.step(
        late,
        RootInput::Up {
            from: WorldRank(9),
            message: answer(0),
        },
    );
    let complete = actions
        .iter()
        .any(|a| matches!(a, RootAction::Answer { coverage, .. } if coverage.ranks_reporting == 8));
    assert!(complete, "{actions:?}");
}

#[test]
fn a_node_in_trouble_answers_its_oldest_wave_early() {
    let mut place = place();
    let query = |wave| {
        Input::Down(Down::Query {
            wave: WaveId(wave),
            query: Query::Matrix {
                side_max: 8,
                past: None,
            },
        })
    };
    for wave in 0..WAVES_MAX as u64 {
        assert_eq!(place.step(wave, query(wave)).len(), 1);
    }
    let actions = place.step(100, query(99));
    assert!(matches!(
        &actions[1..],
        [Action::Up(Up::Partial {
            wave: WaveId(0),
            coverage,
            missing,
            partial: Partial::Matrix(_),
        })] if coverage.members_missing == 1 && coverage.ranks == 4 && missing[..] == [WorldRank(8)]
    ));
}

#[test]
fn a_root_that_is_full_refuses() {
    let mut root = root();
    for n in 0..WAVES_MAX as u64 {
        assert_eq!(refusal(&ask(&mut root, n, Ask::Query(Query::Status))), None);
    }
    assert_eq!(
        refusal(&ask(&mut root, 99, Ask::Query(Query::Status))),
        Some(Refusal::TooManyWaves)
    );
    for id in 0..COMMANDS_MAX as u64 {
        assert_eq!(
            refusal(&ask(&mut root, 100 + id, order(id, Order::Resume))),
            None
        );
    }
    let one_more = order(77, Order::Resume);
    assert_eq!(
        refusal(&ask(&mut root, 200, one_more)),
        Some(Refusal::TooManyCommands)
    );
    // One that is under way may still be joined, by so many.
    for n in 1..ASKERS_MAX as u64 {
        assert_eq!(
            refusal(&ask(&mut root, 300 + n, order(3, Order::Resume))),
            None
        );
    }
    let crowd = ask(&mut root, 400, order(3, Order::Resume));
    assert_eq!(
        refusal(&crowd),
        Some(Refusal::TooManyAskers { id: CommandId(3) })
    );
    // Whoever still waits learns that nothing will come.
    let told = root.step(0, RootInput::Shutdown);
    let told = told
        .iter()
        .filter(|a| {
            matches!(
                a,
                RootAction::Refused {
                    refusal: Refusal::ShutDown,
                    ..
                }
            )
        })
        .count();
    assert_eq!(told, WAVES_MAX + COMMANDS_MAX + ASKERS_MAX - 1);
    assert_eq!(
        refusal(&ask(&mut root, 500, Ask::Query(Query::Status))),
        Some(Refusal::ShutDown)
    );
}

#[test]
fn a_repeated_command_joins_or_is_answered_from_memory() {
    let mut root = root();
    let pause = order(1, Order::Pause { lease_ns: 5 });
    assert_eq!(
        ask(&mut root, 1, pause.clone())
            .iter()
            .filter(|a| matches!(a, RootAction::Down { .. }))
            .count(),
        4
    );
    assert_eq!(ask(&mut root, 2, pause.clone()), []);
    let ack = |from| RootInput::Up {
        from: WorldRank(from),
        message: Up::Ack {
            command: CommandId(1),
            acks: Acks {
                targets: 4,
                done: 4,
                ..Acks::default()
            },
        },
    };
    assert_eq!(root.step(1, ack(8)), []);
    let acks = Acks {
        targets: 8,
        done: 8,
        ..Acks::default()
    };
    let acked = |ask| RootAction::Acked {
        ask: AskId(ask),
        acks: acks.clone(),
    };
    assert_eq!(root.step(1, ack(9)), [acked(1), acked(2)]);
    assert_eq!(ask(&mut root, 3, pause), [acked(3)]);
    // The id names that command and no other.
    let other = ask(&mut root, 4, order(1, Order::Resume));
    assert_eq!(refusal(&other), Some(Refusal::IdTaken { id: CommandId(1) }));
}

#[test]
fn memory_of_commands_is_bounded() {
    let mut place = place();
    let mut give = |id: u64| {
        let told = place.step(0, Input::Down(Down::Command(command(id, Verb::Resume))));
        place.step(
            0,
            Input::Local(Up::Ack {
                command: CommandId(id),
                acks: Acks::default(),
            }),
        );
        told
    };
    for id in 0..=REMEMBERED_MAX as u64 {
        assert!(matches!(give(id)[..], [Action::Local(Down::Command(_))]));
    }
    assert!(
        matches!(give(1)[..], [Action::Up(Up::Ack { .. })]),
        "remembered"
    );
    assert!(
        matches!(give(0)[..], [Action::Local(Down::Command(_))]),
        "forgotten"
    );
}

#[test]
fn beginning_and_end_are_said_once() {
    let mut root = root();
    let up = |from, message| RootInput::Up {
        from: WorldRank(from),
        message,
    };
    let ended = RankEnded {
        rank: Rank(6),
        how: Ended::Code(3),
        inside: None,
    };
    root.step(0, RootInput::Tick);
    assert_eq!(root.step(0, up(8, Up::Hello { ranks: 4 })), []);
    assert_eq!(
        root.step(0, up(9, Up::Hello { ranks: 4 })),
        [RootAction::Present { ranks: 8 }]
    );
    assert_eq!(
        root.step(0, up(9, Up::RankEnded(ended.clone()))),
        [RootAction::RankEnded(ended)]
    );
    assert_eq!(root.step(0, up(9, Up::Drained)), []);
    assert_eq!(root.step(0, up(9, Up::Drained)), []);
    // However long a place says nothing: the job does not end without it.
    let late = 2 * GONE_NS;
    let late = root.step(late, RootInput::Tick);
    assert!(!late.contains(&RootAction::Drained), "{late:?}");
    assert_eq!(root.step(0, up(8, Up::Drained)), [RootAction::Drained]);
    let down = |message: Down| {
        [8, 9].map(|to| RootAction::Down {
            to: WorldRank(to),
            message: message.clone(),
        })
    };
    assert_eq!(root.step(0, RootInput::Release), down(Down::Release));
    assert_eq!(root.step(0, RootInput::Shutdown), down(Down::Shutdown));

    let mut place = place();
    assert_eq!(
        place.step(0, Input::Local(Up::Hello { ranks: 4 })),
        [Action::Up(Up::Hello { ranks: 4 })]
    );
    assert_eq!(
        place.step(0, Input::Local(Up::Drained)),
        [Action::Up(Up::Drained)]
    );
    assert_eq!(
        place.step(0, Input::Down(Down::Shutdown)),
        [Action::Local(Down::Shutdown)]
    );
    assert_eq!(place.step(0, Input::Down(Down::Heartbeat)), []);
    assert_eq!(
        (place.next_tick_ns(), place.ignored().after_shutdown),
        (None, 1)
    );
}

#[test]
fn refusals_are_sentences() {
    let id = CommandId(7);
    let all = [
        Refusal::TooManyWaves,
        Refusal::TooManyCommands,
        Refusal::TooManyAskers { id },
        Refusal::IdTaken { id },
        Refusal::Window { id },
        Refusal::ShuttingDown { id },
        Refusal::ShutDown,
    ];
    assert!(
        all.iter()
            .all(|refusal| refusal.to_string().split(' ').count() > 6)
    );
    assert_eq!(
        Refusal::IdTaken { id }.to_string(),
        "command 7 was given before and does something else; choose a new id"
    );
}
