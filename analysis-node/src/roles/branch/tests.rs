//! An inner node between a slow parent and places that send all at once.

use super::*;
use invivo_mpi_link::Message;
use invivo_mpi_link::credit::{Account, CREDITS, PASSED_ON_MAX, Received};
use invivo_proto::control::tree::{Ended, RankEnded, Up};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::control::{decode, encode};
use invivo_proto::ids::Rank;
use invivo_tbon::layout::Layout;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::rc::Rc;

/// A node, its parent and its sixteen places of 64 ranks each, with ordered wires between them.
struct Scene {
    parent: WorldRank,
    children: Vec<WorldRank>,
    /// The node's side of its channels, by the process at the other end and the tag that it is
    /// written to with.
    accounts: BTreeMap<(WorldRank, i32), Account>,
    /// The other sides.
    others: BTreeMap<WorldRank, Account>,
    to_node: BTreeMap<i32, VecDeque<Message>>,
    from_node: BTreeMap<WorldRank, VecDeque<Vec<u8>>>,
    read: usize,
}

/// The role, and the clock that it reads.
struct TestedRole {
    role: BranchRole<Box<dyn Fn() -> u64>>,
    clock: Rc<Cell<u64>>,
}

impl Scene {
    fn new() -> (Scene, TestedRole) {
        let layout: Layout = "2048:64,16:tail".parse().unwrap();
        let node = WorldRank(2048 + 32);
        let position = Position::of(&layout, node).unwrap();
        let children: Vec<WorldRank> = position.children.iter().map(|&(child, _)| child).collect();
        assert_eq!(children.len(), 16);
        let scene = Scene {
            parent: layout.parent(node).unwrap(),
            children,
            accounts: BTreeMap::new(),
            others: BTreeMap::new(),
            to_node: BTreeMap::new(),
            from_node: BTreeMap::new(),
            read: 0,
        };
        let clock = Rc::new(Cell::new(0));
        let of_role = clock.clone();
        let now_ns: Box<dyn Fn() -> u64> = Box::new(move || of_role.get());
        let role = BranchRole::new(position, scene.parent, now_ns);
        (scene, TestedRole { role, clock })
    }

    fn say(&mut self, child: WorldRank, message: &Up) {
        let bytes = encode(message).unwrap();
        self.others.entry(child).or_default().submit_surely(bytes);
    }

    /// Lets another process send what it may.
    fn pump(&mut self, other: WorldRank) {
        let tag = if other == self.parent {
            TAG_DOWN
        } else {
            TAG_UP
        };
        while let Some(bytes) = self.others.entry(other).or_default().next_to_send() {
            let message = Message { from: other, bytes };
            self.to_node.entry(tag).or_default().push_back(message);
        }
    }

    /// Lets another process read one message.
    fn hear(&mut self, other: WorldRank) -> Option<Up> {
        let bytes = self.from_node.entry(other).or_default().pop_front()?;
        let received = self.others.entry(other).or_default().receive(bytes);
        self.pump(other);
        match received {
            Received::Message(bytes) if other == self.parent => Some(decode(&bytes).unwrap()),
            _ => None,
        }
    }

    fn children_go_on(&mut self) {
        for child in self.children.clone() {
            self.pump(child);
            while self
                .from_node
                .get(&child)
                .is_some_and(|wire| !wire.is_empty())
            {
                self.hear(child);
            }
        }
    }

    fn dispatch(&mut self, to: WorldRank, tag: i32) {
        while let Some(bytes) = self.accounts.entry((to, tag)).or_default().next_to_send() {
            self.from_node.entry(to).or_default().push_back(bytes);
        }
    }

    /// A turn of the loop at this time.
    fn turn(&mut self, role: &mut TestedRole, now_ns: u64) {
        role.clock.set(now_ns);
        let mut guard = PanicGuard::new();
        role.role.receive(self, &mut guard).unwrap();
        role.role.tick(self, &mut guard);
        role.role.send(self, &mut guard).unwrap();
        assert_eq!(guard.panics(), 0);
    }
}

impl Transport for Scene {
    type Error = Infallible;

    fn packets(&mut self, _: impl FnMut(WorldRank, Option<&[u8]>)) -> Result<usize, Infallible> {
        Ok(0)
    }

    fn receive(&mut self, tag: i32) -> Result<Option<Message>, Infallible> {
        let back = if tag == TAG_UP { TAG_DOWN } else { TAG_UP };
        while let Some(Message { from, bytes }) = self.to_node.entry(tag).or_default().pop_front() {
            let received = self
                .accounts
                .entry((from, back))
                .or_default()
                .receive(bytes);
            self.dispatch(from, back);
            // Whoever is given credit goes on at once.
            self.children_go_on();
            if let Received::Message(bytes) = received {
                self.read += 1;
                return Ok(Some(Message { from, bytes }));
            }
        }
        Ok(None)
    }

    fn has_room(&self, to: WorldRank, tag: i32) -> bool {
        self.accounts.get(&(to, tag)).is_none_or(Account::has_room)
    }

    fn is_free(&self, to: WorldRank, tag: i32) -> bool {
        self.accounts.get(&(to, tag)).is_none_or(Account::is_free)
    }

    fn progress(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn refused_sends(&self) -> u64 {
        0
    }

    fn send_latest(
        &mut self,
        to: WorldRank,
        tag: i32,
        kind: Option<u8>,
        bytes: Vec<u8>,
    ) -> Result<bool, Infallible> {
        let taken = self
            .accounts
            .entry((to, tag))
            .or_default()
            .submit(kind, bytes);
        self.dispatch(to, tag);
        Ok(taken)
    }

    fn send_surely(&mut self, to: WorldRank, tag: i32, bytes: Vec<u8>) -> Result<(), Infallible> {
        self.accounts
            .entry((to, tag))
            .or_default()
            .submit_surely(bytes);
        self.dispatch(to, tag);
        Ok(())
    }
}

fn ended(rank: u32) -> Up {
    Up::RankEnded(RankEnded {
        rank: Rank(rank),
        how: Ended::Signal(9),
        inside: None,
    })
}

/// A thousand deaths arrive through a slow parent before the end.
#[test]
fn a_slow_parent_hears_of_a_thousand_deaths() {
    let (mut scene, mut role) = Scene::new();
    for (child, first) in scene.children.clone().into_iter().zip((0..).step_by(64)) {
        (first..first + 64).for_each(|rank| scene.say(child, &ended(rank)));
        scene.say(child, &Up::Drained);
    }
    scene.children_go_on();
    let (parent, mut heard) = (scene.parent, Vec::new());
    // Long after every time-out of the node.
    for turn in 0..20_000 {
        scene.turn(&mut role, turn * 10_000_000);
        let waiting = scene.accounts[&(parent, TAG_UP)].waiting();
        assert!(
            waiting <= PASSED_ON_MAX + 1,
            "{waiting} messages wait, its own question among them"
        );
        if turn % 5 == 0 {
            heard.extend(scene.hear(parent));
        }
    }
    heard.retain(|message| !matches!(message, Up::WhatTime { .. }));
    assert_eq!(heard.len(), 1025);
    let mut dead: Vec<u32> = heard
        .iter()
        .filter_map(|message| match message {
            Up::RankEnded(ended) => Some(ended.rank.0),
            _ => None,
        })
        .collect();
    dead.sort_unstable();
    assert_eq!(dead, (0..1024).collect::<Vec<_>>());
    assert_eq!(heard.last(), Some(&Up::Drained));
}

#[test]
fn a_child_that_goes_on_talking_keeps_nobody_waiting() {
    let (mut scene, mut role) = Scene::new();
    let busy = scene.children[0];
    for asked_ns in 0..100_000 {
        scene.say(
            busy,
            &Up::WhatTime {
                asked_ns,
                here: Whereabouts::default(),
            },
        );
    }
    scene.children_go_on();
    let parent = scene.parent;
    scene.turn(&mut role, 1);
    assert!(
        scene.read <= at_a_time(16),
        "{} messages read in one turn",
        scene.read
    );
    // The node's own word has gone out.
    assert!(matches!(
        scene.hear(parent),
        Some(Up::WhatTime { asked_ns: 1, .. })
    ));
    assert!(scene.read > CREDITS as usize);
}
