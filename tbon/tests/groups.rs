//! Promises about groups: asked for once, given to all who want them, in portions.

use invivo_proto::control::results::Group;
use invivo_proto::control::tree::{Down, Partial, Up};
use invivo_proto::definition::Run;
use invivo_proto::ids::{CommId, Rank, WorldRank};
use invivo_tbon::layout::Layout;
use invivo_tbon::limits::{ASK_GROUP_AGAIN_NS, GROUP_MESSAGE_RUNS_MAX};
use invivo_tbon::merge::Mismatch;
use invivo_tbon::node::{Action, Input, Node, Position};
use invivo_tbon::root::{Root, RootAction, RootInput};
use std::collections::BTreeMap;

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

fn id(leader: u32) -> CommId {
    CommId {
        leader: Rank(leader),
        counter: 1,
    }
}

fn group(leader: u32, runs: usize) -> BTreeMap<CommId, Group> {
    let run = Run {
        first: Rank(leader),
        stride: 1,
        count: 1,
    };
    let group = Group {
        pieces: [(0, vec![run; runs])].into(),
    };
    [(id(leader), group)].into()
}

#[test]
fn groups_are_asked_for_once_and_given_to_all() {
    let mut node = node();
    let want = |from, leaders: &[u32]| Input::Up {
        from,
        message: Up::WantGroups(leaders.iter().copied().map(id).collect()),
    };
    assert_eq!(
        node.step(0, want(ONE, &[4, 5])),
        [Action::Up(Up::WantGroups(vec![id(4), id(5)]))]
    );
    assert_eq!(
        node.step(0, want(OTHER, &[5, 6])),
        [Action::Up(Up::WantGroups(vec![id(6)]))]
    );
    let down = |to, told| Action::Down {
        to,
        message: Down::Groups(told),
    };
    assert_eq!(
        node.step(0, Input::Down(Down::Groups(group(5, 1)))),
        [down(ONE, group(5, 1)), down(OTHER, group(5, 1))]
    );
    assert_eq!(
        node.step(0, Input::Down(Down::Groups(group(5, 1)))),
        [],
        "nothing new"
    );
    // Repeated: it has been told. After a while the message is taken for lost, and what the parent
    // does not answer is asked again.
    assert_eq!(node.step(1, want(ONE, &[4, 5])), []);
    assert_eq!(
        node.clone().step(ASK_GROUP_AGAIN_NS, want(ONE, &[4, 5])),
        [
            down(ONE, group(5, 1)),
            Action::Up(Up::WantGroups(vec![id(4)]))
        ]
    );
    // What a member tells climbs on.
    let told = Input::Up {
        from: ONE,
        message: Up::Groups(group(2, 1)),
    };
    assert_eq!(node.step(0, told), [Action::Up(Up::Groups(group(2, 1)))]);

    let mut place: Node<MergeFn> = Node::new(0, Position::of(&layout(), ONE).unwrap(), keep);
    let wish = Up::WantGroups(vec![id(4)]);
    assert_eq!(
        place.step(0, Input::Local(wish.clone())),
        [Action::Up(wish)]
    );
    let told = Down::Groups(group(4, 1));
    assert_eq!(
        place.step(0, Input::Down(told.clone())),
        [Action::Local(told)]
    );
}

#[test]
fn the_root_answers_early_and_late_questions() {
    let mut root: Root<MergeFn> =
        Root::new(0, Position::of(&layout(), WorldRank(14)).unwrap(), keep);
    root.step(0, RootInput::Tick);
    let up = |from, message| RootInput::Up {
        from: WorldRank(from),
        message,
    };
    let down = |to, told| RootAction::Down {
        to: WorldRank(to),
        message: Down::Groups(told),
    };
    assert_eq!(root.step(0, up(12, Up::Groups(group(1, 2)))), []);
    let wish = Up::WantGroups(vec![id(1), id(3)]);
    assert_eq!(root.step(0, up(13, wish)), [down(13, group(1, 2))]);
    assert_eq!(
        root.step(0, up(12, Up::Groups(group(3, 1)))),
        [down(13, group(3, 1))]
    );
    // Long answers come in portions.
    root.step(0, up(12, Up::Groups(group(5, GROUP_MESSAGE_RUNS_MAX))));
    root.step(0, up(12, Up::Groups(group(6, GROUP_MESSAGE_RUNS_MAX))));
    let wish = Up::WantGroups(vec![id(5), id(6)]);
    assert_eq!(
        root.step(0, up(13, wish)),
        [
            down(13, group(5, GROUP_MESSAGE_RUNS_MAX)),
            down(13, group(6, GROUP_MESSAGE_RUNS_MAX))
        ]
    );
}
