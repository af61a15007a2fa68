//! The state machine of a tool process: a node or the root.

use invivo_tbon::merge::Merge;
use invivo_tbon::node::{Ignored, Node};
use invivo_tbon::root::Root;

/// A node or the root.
#[derive(Debug)]
pub enum Machine<M> {
    /// A node below a parent.
    Node(Node<M>),
    Root(Root<M>),
}

impl<M: Merge> Machine<M> {
    /// When it wants a tick, by its own clock.
    pub fn next_tick_ns(&self) -> Option<u64> {
        match self {
            Machine::Node(node) => node.next_tick_ns(),
            Machine::Root(root) => root.next_tick_ns(),
        }
    }

    /// What it ignored.
    pub fn ignored(&self) -> Ignored {
        match self {
            Machine::Node(node) => node.ignored(),
            Machine::Root(root) => root.ignored(),
        }
    }

    /// Job time, as it knows it; the root's own clock is job time.
    pub fn job_ns(&self, local_ns: u64) -> u64 {
        match self {
            Machine::Node(node) => node.clock().job_ns(local_ns),
            Machine::Root(_) => local_ns,
        }
    }

    /// Own time at a job time.
    pub fn from_job(&self, job_ns: u64) -> u64 {
        match self {
            Machine::Node(node) => node.clock().from_job(job_ns),
            Machine::Root(_) => job_ns,
        }
    }

    /// How far its idea of job time may be off.
    pub fn clock_error_ns(&self, local_ns: u64) -> u64 {
        match self {
            Machine::Node(node) => node.clock().error_ns(local_ns),
            Machine::Root(_) => 0,
        }
    }
}
