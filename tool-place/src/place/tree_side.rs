//! The place's leaf of the tree: hands inputs to the tree's node, and its outputs to the place.

use crate::time_point::Now;
use invivo_analysis::merge::Mismatch;
use invivo_proto::control::tree::{Down, Partial, Up};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_tbon::job_time::JobClock;
use invivo_tbon::node::{Action, Input, Node, Position};

/// Merges two partial results.
type MergeFn = fn(&mut Partial, Partial) -> Result<(), Mismatch>;

/// What the tree hands to the place.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "handed on once: a box would cost more than the copy"
)]
pub enum FromTree {
    Message(Down),
    /// Nothing has been heard of the root for too long.
    RootLost,
}

/// The place's node, and what waits for the parent.
pub struct TreeSide {
    node: Node<MergeFn>,
    up: Vec<Up>,
}

impl TreeSide {
    pub fn new(now: Now, position: Position) -> TreeSide {
        TreeSide {
            node: Node::new(now.ns, position, invivo_analysis::merge::merge as MergeFn),
            up: Vec::new(),
        }
    }

    /// In a process that runs here, of which the parent is told.
    pub fn located(self, here: Whereabouts) -> TreeSide {
        TreeSide {
            node: self.node.located(here),
            ..self
        }
    }

    /// See [`Node::is_followed`].
    pub fn is_followed(&self, now: Now) -> bool {
        self.node.is_followed(now.ns)
    }

    /// Whether something is under way in the tree, or came lately; see [`Node::is_alert`].
    pub fn is_alert(&self, now: Now) -> bool {
        self.node.is_alert(now.ns)
    }

    /// Whether the parent can wake this process.
    pub fn is_woken_by_all(&self) -> bool {
        self.node.is_woken_by_all()
    }

    /// The parent's process, where it can be woken from here.
    pub fn parent_pid(&self) -> Option<u32> {
        self.node.parent_pid()
    }

    /// The job's clock, as well as it is known.
    pub fn clock(&self) -> &JobClock {
        self.node.clock()
    }

    /// Lets something happen to the node. What the place has to do about it, in order.
    pub fn step(&mut self, now: Now, input: Input) -> Vec<FromTree> {
        let mut for_place = Vec::new();
        for action in self.node.step(now.ns, input) {
            match action {
                Action::Up(message) => self.up.push(message),
                Action::Local(message) => for_place.push(FromTree::Message(message)),
                Action::RootLost => for_place.push(FromTree::RootLost),
                // A place is a leaf.
                Action::Down { .. } => {}
            }
        }
        for_place
    }

    /// What is to be sent to the parent.
    pub fn take_up(&mut self) -> Vec<Up> {
        std::mem::take(&mut self.up)
    }
}
