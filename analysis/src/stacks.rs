//! Merges call paths of all ranks into one prefix tree.
//!
//! Places make a tree of each rank's paths; the tree of processes adds them up, and the answer does
//! not grow with the job.
//!
//! ```text
//! Path     the frames of one thread, outermost first            named by its place
//! Tree     functions below their callers, with counts           merged here
//! Stacks   the same as a list, each node before its callees     on its way
//! ```
//!
//! A function is one node however many lines of it call on: ranks that compute in a loop are in
//! other instructions at each moment, and their lines are listed with the node. What is cut is the
//! last in an order that all agree on (deep levels first, then later paths; higher ranks; later
//! lines), so that the shape of the tree of processes makes no difference. Ranks of two partial
//! results are different ones.

use crate::call_paths::{Callees, of_list, shortened};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::stacks::{
    FUNCTION_BYTES_MAX, Frame, LINE_BYTES_MAX, LINES_MAX, MODULE_BYTES_MAX, NAMED_MAX, NODES_MAX,
    NoPython, Node, Stacks, Way, Whose,
};
use invivo_proto::ids::Rank;

/// One thread's path: what it is in with its line, if that is known; outermost first.
pub type Path = Vec<(Frame, Option<String>)>;

/// What is seen of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// How it was seen.
    pub way: Way,
    /// Its path; empty where nothing is known.
    pub path: Path,
    /// How long it stood still for that, in ns.
    pub stop_ns: u64,
    /// A frame of its path has no name yet.
    pub unnamed: bool,
    /// Why the Python functions of its path are not in it.
    pub no_python: Option<NoPython>,
}

/// Adds a rank with its threads and with how many of them are left out.
pub fn add(into: &mut Stacks, rank: Rank, threads: Vec<Thread>, left_out: u64) {
    add_within(NODES_MAX, into, rank, threads, left_out);
}

fn add_within(
    nodes_max: usize,
    into: &mut Stacks,
    rank: Rank,
    threads: Vec<Thread>,
    left_out: u64,
) {
    let mut one = Stacks {
        ranks: 1,
        left_out,
        ..Stacks::default()
    };

    let mut tree = Tree::default();
    for thread in threads {
        let way = one.ways.entry(thread.way).or_default();
        let without = thread
            .no_python
            .map(|why| one.no_python.entry(why).or_default());
        for whose in [way].into_iter().chain(without) {
            (whose.ranks, whose.named) = (1, [rank].into());
            whose.threads += 1;
        }
        one.unnamed += u64::from(thread.unnamed);
        let stop = (thread.stop_ns, rank);
        if thread.stop_ns > 0
            && one
                .longest_stop
                .is_none_or(|longest| order(stop) > order(longest))
        {
            one.longest_stop = Some(stop);
        }
        tree.add(rank, bounded(thread.path));
    }

    one.nodes = tree.into_nodes();
    merge_within(nodes_max, into, one);
}

/// Adds the tree of other ranks.
pub fn merge(into: &mut Stacks, from: Stacks) {
    merge_within(NODES_MAX, into, from);
}

fn merge_within(nodes_max: usize, into: &mut Stacks, from: Stacks) {
    into.ranks = into.ranks.saturating_add(from.ranks);
    into.left_out = into.left_out.saturating_add(from.left_out);
    into.unnamed = into.unnamed.saturating_add(from.unnamed);
    let longest = [into.longest_stop, from.longest_stop].into_iter().flatten();
    into.longest_stop = longest.max_by_key(|stop| order(*stop));
    for (way, from) in from.ways {
        add_whose(into.ways.entry(way).or_default(), from);
    }
    for (why, from) in from.no_python {
        add_whose(into.no_python.entry(why).or_default(), from);
    }

    let mut tree = Tree::of(core::mem::take(&mut into.nodes));
    tree.absorb(Tree::of(from.nodes));
    tree.keep_first(nodes_max);
    into.nodes = tree.into_nodes();
}

/// The longest stop, and of equal ones that of the lowest rank, is the greatest.
fn order((ns, rank): (u64, Rank)) -> (u64, Reverse<Rank>) {
    (ns, Reverse(rank))
}

fn add_whose(into: &mut Whose, from: Whose) {
    into.ranks = into.ranks.saturating_add(from.ranks);
    into.threads = into.threads.saturating_add(from.threads);
    add_named(&mut into.named, from.named);
}

fn add_named(into: &mut Vec<Rank>, from: Vec<Rank>) {
    into.extend(from);
    into.sort_unstable();
    into.dedup();
    into.truncate(NAMED_MAX);
}

/// The path within the bounds of an answer: of a deeper one the outer and the inner frames.
fn bounded(path: Path) -> Path {
    let mut path = shortened(path, (Frame::LeftOut, None));
    for (frame, line) in &mut path {
        if let Frame::Function { module, name } | Frame::Python { file: module, name } = frame {
            cut(module, MODULE_BYTES_MAX);
            cut(name, FUNCTION_BYTES_MAX);
        }
        if let Some(line) = line {
            cut(line, LINE_BYTES_MAX);
        }
    }

    path
}

/// Text of so many bytes at most; one that was longer ends so that it shows.
fn cut(text: &mut String, bytes_max: usize) {
    const MORE: &str = "...";
    if text.len() > bytes_max {
        let mut bytes = bytes_max - MORE.len();
        while !text.is_char_boundary(bytes) {
            bytes -= 1;
        }
        text.truncate(bytes);
        text.push_str(MORE);
    }
}

/// A node with those below it; the first stands for nobody and holds the outermost frames.
#[derive(Default)]
struct Tree {
    below: BTreeMap<Frame, Tree>,
    whose: Whose,
    ends: u64,
    lines: BTreeMap<String, u64>,
}

impl Tree {
    /// Adds a thread.
    fn add(&mut self, rank: Rank, path: Path) {
        if path.is_empty() {
            return;
        }
        let mut at = self;
        for (frame, line) in path {
            at = at.below.entry(frame).or_default();
            // One rank only: its threads share nodes, and each node counts the rank once.
            at.whose.ranks = 1;
            at.whose.threads += 1;
            at.whose.named = [rank].into();
            if let Some(line) = line {
                *at.lines.entry(line).or_default() += 1;
            }
        }

        at.ends += 1;
    }

    /// Of a list.
    fn of(nodes: Vec<Node>) -> Tree {
        of_list(nodes.into_iter().map(|node| {
            let whose = Whose {
                ranks: node.ranks,
                threads: node.threads,
                named: node.named,
            };
            let one = Tree {
                below: BTreeMap::new(),
                whose,
                ends: node.ends,
                lines: node.lines,
            };
            (node.depth, node.frame, one)
        }))
    }

    /// Adds another one; both are `DEPTH_MAX` deep at most.
    fn absorb(&mut self, from: Tree) {
        self.whose.ranks = self.whose.ranks.saturating_add(from.whose.ranks);
        self.whose.threads = self.whose.threads.saturating_add(from.whose.threads);
        self.ends = self.ends.saturating_add(from.ends);
        add_named(&mut self.whose.named, from.whose.named);
        for (line, threads) in from.lines {
            let all = self.lines.entry(line).or_default();
            *all = all.saturating_add(threads);
        }
        for (frame, one) in from.below {
            self.put(frame, one);
        }
    }

    /// Cuts the tree, level by level, and the lines of each node.
    fn keep_first(&mut self, nodes_max: usize) {
        // Breadth first, so that outer frames survive inner ones.
        let mut left = nodes_max;
        let mut level = Vec::from([self]);
        while !level.is_empty() {
            let mut next = Vec::new();
            for node in level {
                while node.lines.len() > LINES_MAX {
                    node.lines.pop_last();
                }
                while node.below.len() > left {
                    node.below.pop_last();
                }
                left -= node.below.len();
                next.extend(node.below.values_mut());
            }
            level = next;
        }
    }

    fn into_nodes(self) -> Vec<Node> {
        let mut nodes = Vec::new();
        // Preorder without recursion: the depth comes from a message and must not decide on stack
        // use.
        let mut levels = Vec::from([self.below.into_iter()]);
        while let Some(level) = levels.last_mut() {
            let Some((frame, one)) = level.next() else {
                levels.pop();
                continue;
            };
            nodes.push(Node {
                // No deeper than `DEPTH_MAX`.
                depth: (levels.len() - 1) as u8,
                frame,
                ranks: one.whose.ranks,
                threads: one.whose.threads,
                ends: one.ends,
                named: one.whose.named,
                lines: one.lines,
            });
            levels.push(one.below.into_iter());
        }

        nodes
    }
}

impl Callees for Tree {
    fn put(&mut self, frame: Frame, from: Tree) {
        match self.below.get_mut(&frame) {
            Some(into) => into.absorb(from),
            None => {
                self.below.insert(frame, from);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
