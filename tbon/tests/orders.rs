//! Promises about commands: where the root lays their cuts, and how long nodes wait for them.

use invivo_proto::control::selection::{Fits, Rule, Selection};
use invivo_proto::control::tree::{Acks, Command, Cut, Down, JobInfo, Order, Partial, Up, Verb};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::{CommandId, WorldRank};
use invivo_tbon::layout::Layout;
use invivo_tbon::limits::{COMMAND_NS_PER_LAYER, CUT_AHEAD_NS_PER_LAYER};
use invivo_tbon::merge::Mismatch;
use invivo_tbon::node::{Action, Input, Node, Position};
use invivo_tbon::root::{Ask, AskId, Refusal, Root, RootAction, RootInput};

type MergeFn = fn(&mut Partial, Partial) -> Result<(), Mismatch>;

fn keep(_: &mut Partial, _: Partial) -> Result<(), Mismatch> {
    Ok(())
}

/// Eight ranks; places 8 to 11, nodes 12 and 13, root 14.
fn layout() -> Layout {
    "8:2,2:tail".parse().unwrap()
}

const AHEAD_NS: u64 = 3 * CUT_AHEAD_NS_PER_LAYER;
const NOW_NS: u64 = 7_000_000_000;

fn root() -> Root<MergeFn> {
    let mut root = Root::new(
        NOW_NS,
        Position::of(&layout(), WorldRank(14)).unwrap(),
        keep as MergeFn,
    );
    root.step(NOW_NS, RootInput::Tick);
    root
}

fn give(root: &mut Root<MergeFn>, now_ns: u64, id: u64, order: Order) -> Vec<RootAction> {
    let what = Ask::Command {
        id: CommandId(id),
        order,
    };
    root.step(
        now_ns,
        RootInput::Ask {
            ask: AskId(id),
            what,
        },
    )
}

fn selection() -> Selection {
    Selection {
        replaces: true,
        rules: vec![Rule {
            include: false,
            fits: Fits::Name("tiny_*".to_owned()),
        }],
    }
}

fn verbs(actions: &[RootAction]) -> Vec<Verb> {
    let verb = |action: &RootAction| match action {
        RootAction::Down {
            message: Down::Command(command),
            ..
        } => Some(command.verb.clone()),
        _ => None,
    };
    actions.iter().filter_map(verb).collect()
}

#[test]
fn cuts_lie_ahead_of_the_order_for_everybody_alike() {
    let at_ns = NOW_NS + AHEAD_NS;
    let to_ns = at_ns + 5;
    let meant = [
        (Order::Pause { lease_ns: 4 }, Verb::Pause { lease_ns: 4 }),
        (Order::Resume, Verb::Resume),
        (Order::Hold { lease_ns: 4 }, Verb::Hold { lease_ns: 4 }),
        (Order::Reset, Verb::Reset { at_ns }),
        (
            Order::Record { on: false },
            Verb::Record {
                on: false,
                epoch: 0,
                at_ns,
            },
        ),
        (
            Order::Window { length_ns: 5 },
            Verb::Window {
                from_ns: at_ns,
                to_ns,
                epoch: 1,
            },
        ),
        (
            Order::Window {
                length_ns: u64::MAX,
            },
            Verb::Window {
                from_ns: at_ns,
                to_ns: u64::MAX,
                epoch: 1,
            },
        ),
        (Order::Shutdown, Verb::Shutdown),
        (
            Order::Select(selection()),
            Verb::Select {
                selection: selection(),
                at_ns,
            },
        ),
    ];
    for (order, verb) in meant {
        let given = verbs(&give(&mut root(), NOW_NS, 1, order));
        assert_eq!(given, [verb.clone(), verb]);
    }
}

/// Both children have done a command.
fn done(root: &mut Root<MergeFn>, id: u64) {
    for from in [12, 13] {
        let acks = Acks {
            targets: 4,
            done: 4,
            ..Acks::default()
        };
        let message = Up::Ack {
            command: CommandId(id),
            acks,
        };
        let from = WorldRank(from);
        root.step(NOW_NS, RootInput::Up { from, message });
    }
}

fn refusal(actions: &[RootAction]) -> Option<Refusal> {
    match actions {
        [RootAction::Refused { refusal, .. }] => Some(*refusal),
        _ => None,
    }
}

#[test]
fn a_window_excludes_whatever_else_forgets_until_it_is_done() {
    let mut root = root();
    let window = Order::Window { length_ns: 5 };
    let refused = Some(Refusal::Window { id: CommandId(7) });
    give(&mut root, NOW_NS, 7, window.clone());
    // However long its time is over: it is not known yet to be done everywhere.
    let later_ns = NOW_NS + AHEAD_NS + 1000;
    for (order, id) in [(Order::Reset, 8), (window.clone(), 9)] {
        assert_eq!(refusal(&give(&mut root, later_ns, id, order)), refused);
    }
    assert_eq!(
        give(&mut root, later_ns, 7, window.clone()),
        [],
        "the same command is no other window"
    );
    for (order, id) in [(Order::Record { on: false }, 10), (Order::Resume, 11)] {
        assert_eq!(verbs(&give(&mut root, later_ns, id, order)).len(), 2);
    }
    done(&mut root, 7);
    // What was refused was never given: its id is free.
    assert_eq!(verbs(&give(&mut root, later_ns, 8, window)).len(), 2);
}

#[test]
fn a_shutdown_under_way_is_not_begun_again() {
    let mut root = root();
    give(&mut root, NOW_NS, 1, Order::Shutdown);
    let again = give(&mut root, NOW_NS, 2, Order::Shutdown);
    assert_eq!(
        refusal(&again),
        Some(Refusal::ShuttingDown { id: CommandId(1) })
    );
    assert_eq!(give(&mut root, NOW_NS, 1, Order::Shutdown), [], "joined");
    done(&mut root, 1);
    assert_eq!(verbs(&give(&mut root, NOW_NS, 2, Order::Shutdown)).len(), 2);
}

#[test]
fn the_root_counts_epochs_in_the_order_of_commands() {
    let orders = [
        // (order, epoch of a job that is recorded from its start, and of one that is not)
        (Order::Record { on: true }, 0, 1),
        (Order::Record { on: false }, 0, 1),
        (Order::Record { on: false }, 0, 1),
        (Order::Record { on: true }, 1, 2),
        (Order::Record { on: true }, 1, 2),
        (Order::Window { length_ns: 5 }, 2, 3),
        // Whether the window is over where this comes is not known.
        (Order::Record { on: true }, 3, 4),
        (Order::Window { length_ns: 5 }, 4, 5),
        (Order::Record { on: false }, 4, 5),
        (Order::Window { length_ns: 5 }, 5, 6),
    ];
    for recording in [true, false] {
        let mut root = root();
        root.step(
            NOW_NS,
            RootInput::Job(JobInfo {
                recording,
                ..JobInfo::default()
            }),
        );
        for (id, (order, on, off)) in (0..).zip(orders.clone()) {
            let epoch = |actions: &[RootAction]| match verbs(actions)[..] {
                [Verb::Record { epoch, .. } | Verb::Window { epoch, .. }, _] => epoch,
                ref other => panic!("{other:?}"),
            };
            let given = give(&mut root, NOW_NS, id, order.clone());
            assert_eq!(
                epoch(&given),
                if recording { on } else { off },
                "{id}: {order:?}"
            );
            // Repeated and refused commands count nothing.
            assert_eq!(give(&mut root, NOW_NS, id, order), []);
            assert!(refusal(&give(&mut root, NOW_NS, id, Order::Reset)).is_some());
            done(&mut root, id);
        }
    }
}

#[test]
fn a_repeated_order_is_the_same_command_whenever_it_comes() {
    let mut root = root();
    assert_eq!(verbs(&give(&mut root, NOW_NS, 1, Order::Reset)).len(), 2);
    // Its cut would lie elsewhere now.
    assert_eq!(give(&mut root, NOW_NS + 1000, 1, Order::Reset), []);
    let other = give(&mut root, NOW_NS + 1000, 1, Order::Record { on: true });
    assert!(
        matches!(
            other[..],
            [RootAction::Refused {
                refusal: Refusal::IdTaken { id: CommandId(1) },
                ..
            }]
        ),
        "{other:?}"
    );
    let cut = Cut {
        earliest_ns: 5,
        latest_ns: 9,
        error_ns: 2,
    };
    let acks = Acks {
        targets: 4,
        done: 4,
        from: Some(cut),
        ..Acks::default()
    };
    let ack = |from| RootInput::Up {
        from: WorldRank(from),
        message: Up::Ack {
            command: CommandId(1),
            acks: acks.clone(),
        },
    };
    root.step(NOW_NS + 2000, ack(12));
    let done = root.step(NOW_NS + 2000, ack(13));
    assert!(
        matches!(&done[..], [RootAction::Acked { acks, .. }, RootAction::Acked { .. }]
            if acks.from == Some(cut) && acks.done == 8),
        "{done:?}"
    );
    // From memory, with what it was.
    let again = give(&mut root, NOW_NS + 3000, 1, Order::Reset);
    assert!(matches!(&again[..], [RootAction::Acked { acks, .. }] if acks.from == Some(cut)));
}

#[test]
fn a_cut_whose_end_lies_before_its_beginning_is_garbage() {
    let mut root = root();
    give(&mut root, NOW_NS, 1, Order::Reset);
    let cut = Cut {
        earliest_ns: 9,
        latest_ns: 5,
        error_ns: 2,
    };
    let acks = Acks {
        targets: 4,
        done: 4,
        from: Some(cut),
        ..Acks::default()
    };
    let message = Up::Ack {
        command: CommandId(1),
        acks,
    };
    root.step(
        NOW_NS,
        RootInput::Up {
            from: WorldRank(12),
            message,
        },
    );
    assert_eq!(root.ignored().garbage, 1);
}

/// When a place that gets this command at 10 s of its own time, 3 s of job time, gives up.
fn gives_up_ns(verb: Verb, knows_time: bool) -> u64 {
    const GIVEN_NS: u64 = 10_000_000_000;
    let mut place = Node::new(
        0,
        Position::of(&layout(), WorldRank(8)).unwrap(),
        keep as MergeFn,
    );
    if knows_time {
        place.step(GIVEN_NS, Input::Tick);
        let time = Down::Time {
            asked_ns: GIVEN_NS,
            job_ns: 3_000_000_000,
            error_ns: 0,
            parent_ns: 0,
            here: Whereabouts::default(),
        };
        place.step(GIVEN_NS, Input::Down(time));
    }
    let command = Command {
        id: CommandId(1),
        verb,
    };
    place.step(GIVEN_NS, Input::Down(Down::Command(command)));
    let acked = |now_ns| {
        let actions = place.clone().step(now_ns, Input::Tick);
        actions.iter().any(|action| {
            matches!(
                action,
                Action::Up(Up::Ack { acks, .. }) if acks.missing == [WorldRank(8)],
            )
        })
    };
    let (mut before, mut after) = (0, 1 << 50);
    while after - before > 1 {
        let middle = (before + after) / 2;
        if acked(middle) {
            after = middle
        } else {
            before = middle
        }
    }
    after - GIVEN_NS
}

#[test]
fn the_time_for_a_command_begins_when_it_is_due() {
    const S: u64 = 1_000_000_000;
    let usual = COMMAND_NS_PER_LAYER;
    for knows_time in [false, true] {
        assert_eq!(gives_up_ns(Verb::Resume, knows_time), usual);
        assert_eq!(
            gives_up_ns(Verb::Pause { lease_ns: 9 * S }, knows_time),
            usual
        );
        // Ranks may come to their MPI_Init as late as that.
        assert_eq!(
            gives_up_ns(Verb::Hold { lease_ns: 9 * S }, knows_time),
            9 * S + usual
        );
    }
    assert_eq!(gives_up_ns(Verb::Reset { at_ns: 4 * S }, true), S + usual);
    let window = Verb::Window {
        from_ns: 4 * S,
        to_ns: 60 * S,
        epoch: 1,
    };
    assert_eq!(gives_up_ns(window.clone(), true), 57 * S + usual);
    // One that is due already.
    assert_eq!(
        gives_up_ns(
            Verb::Record {
                on: true,
                epoch: 1,
                at_ns: S
            },
            true
        ),
        usual
    );
    // Without a clock, the length of the window is known all the same.
    let patience = gives_up_ns(window, false);
    assert!(
        (56 * S + usual..57 * S + usual).contains(&patience),
        "{patience}"
    );
}
