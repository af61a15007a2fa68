//! Adds up samples of all ranks into one tree of call paths, with the time in each function.
//!
//! Samplers make a tree of each rank's samples; places and the tree of processes add them up, and
//! the answer does not grow with the job.
//!
//! ```text
//! Path       the frames of a sample, outermost first            named by its sampler
//! Tree       functions below their callers, with time           merged here
//! Profile    the same as a list, each node before its callees   on its way
//! ```
//!
//! A function is one node however many lines of it were seen. Where there are more nodes than an
//! answer may have, those with the least time are left out: their time stays in the nodes above
//! them, and is told.

use crate::call_paths::{Callees, of_list};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::named_ranks::NamedRanks;
use invivo_proto::control::profile::{
    KeptTime, LINES_MAX, NODES_MAX, NoSamples, Node, Past, Profile, Sampled,
};
use invivo_proto::control::stacks::{DEPTH_MAX, Frame};
use invivo_proto::ids::Rank;

/// Lines that a node keeps before an answer is made of it: those with the most time can still be
/// chosen when other ranks' are added.
const LINES_KEPT: usize = 64;

/// A path: what a sample was in with its line, if that is known; outermost first.
pub type Path = Vec<(Frame, Option<String>)>;

/// Ranks that are added up, one after the other.
#[derive(Debug, Default)]
pub struct Adding {
    /// All but the nodes.
    profile: Profile,
    tree: Tree,
}

impl Adding {
    /// Adds a rank with what its sampler saw, or why there is nothing.
    pub fn add(&mut self, rank: Rank, seen: Result<(Sampled, Vec<Node>), NoSamples>) {
        let mut one = Profile {
            ranks: 1,
            ..Profile::default()
        };
        match seen {
            Ok((seen, mut nodes)) => {
                // A sampler's word about other ranks is not asked for.
                nodes
                    .iter_mut()
                    .for_each(|node| node.most = (rank, node.ns));
                self.tree.absorb(Tree::of(nodes));
                (one.sampled, one.seen) = (1, seen);
            }
            Err(why) => {
                one.without.insert(why, NamedRanks::of(rank));
            }
        }
        merge(&mut self.profile, one);
    }

    /// What they are together.
    pub fn profile(self) -> Profile {
        self.profile_within(NODES_MAX)
    }

    fn profile_within(mut self, nodes_max: usize) -> Profile {
        (self.profile.nodes, _) = self.tree.nodes_within(nodes_max);
        note_left_out(&mut self.profile);
        self.profile
    }
}

/// What was seen and is in no node's own time is that of nodes that are left out, by whomever.
fn note_left_out(of: &mut Profile) {
    let own = of.nodes.iter().map(|node| node.own_ns);
    let own = own.fold(0, u64::saturating_add);
    of.left_out_ns = of.seen.cpu_ns.saturating_sub(own);
}

/// Adds what other ranks saw.
pub fn merge(into: &mut Profile, from: Profile) {
    merge_within(NODES_MAX, into, from);
}

fn merge_within(nodes_max: usize, into: &mut Profile, from: Profile) {
    into.ranks = into.ranks.saturating_add(from.ranks);
    into.sampled = into.sampled.saturating_add(from.sampled);
    for (why, from) in from.without {
        into.without.entry(why).or_default().merge(from);
    }
    add_seen(&mut into.seen, &from.seen);
    into.kept = match (into.kept, from.kept) {
        (Some(one), Some(other)) => Some(KeptTime {
            of: Past {
                from_ns: one.of.from_ns.min(other.of.from_ns),
                to_ns: one.of.to_ns.max(other.of.to_ns),
            },
            cut_ranks: one.cut_ranks.saturating_add(other.cut_ranks),
            gone_until_ns: one.gone_until_ns.max(other.gone_until_ns),
            not_kept: one.not_kept.saturating_add(other.not_kept),
        }),
        (one, other) => one.or(other),
    };
    if !from.nodes.is_empty() {
        let mut tree = Tree::of(core::mem::take(&mut into.nodes));
        tree.absorb(Tree::of(from.nodes));
        (into.nodes, _) = tree.nodes_within(nodes_max);
    }
    note_left_out(into);
}

fn add_seen(into: &mut Sampled, from: &Sampled) {
    for (into, from) in [
        (&mut into.samples, from.samples),
        (&mut into.lost, from.lost),
        (&mut into.cpu_ns, from.cpu_ns),
        (&mut into.elapsed_ns, from.elapsed_ns),
        (&mut into.sampler_cpu_ns, from.sampler_cpu_ns),
        (&mut into.unnamed, from.unnamed),
    ] {
        *into = into.saturating_add(from);
    }
    into.without_kernel = into.without_kernel.saturating_add(from.without_kernel);
    into.by_timer = into.by_timer.saturating_add(from.by_timer);
    into.untimed = into.untimed.saturating_add(from.untimed);
    // 0 is nobody's.
    into.frequency = match (into.frequency, from.frequency) {
        (of, (0, _)) => of,
        ((0, _), of) => of,
        ((low, high), (other_low, other_high)) => (low.min(other_low), high.max(other_high)),
    };
}

/// A node with those below it; the first stands for nobody and holds the outermost frames.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    below: BTreeMap<Frame, Tree>,
    ns: u64,
    own_ns: u64,
    most: Option<(Rank, u64)>,
    lines: BTreeMap<String, u64>,
}

/// The rank with more time, and of equal ones the lower, is greater.
fn order((rank, ns): (Rank, u64)) -> (u64, Reverse<Rank>) {
    (ns, Reverse(rank))
}

impl Tree {
    pub fn new() -> Tree {
        Tree::default()
    }

    /// Adds a sample of so many ns, and gives how many nodes are new. Frames deeper than
    /// [`DEPTH_MAX`] count as the last one.
    pub fn add(&mut self, path: &[(Frame, Option<String>)], ns: u64) -> usize {
        let (mut at, mut new) = (self, 0);
        for (frame, line) in path.iter().take(DEPTH_MAX) {
            // Frames are long, and most of them are there.
            if !at.below.contains_key(frame) {
                at.below.insert(frame.clone(), Tree::default());
                new += 1;
            }
            let Some(next) = at.below.get_mut(frame) else {
                return new;
            };
            at = next;
            at.ns = at.ns.saturating_add(ns);
            if let Some(line) = line {
                at.add_line(line, ns);
            }
        }
        at.own_ns = at.own_ns.saturating_add(ns);
        new
    }

    fn add_line(&mut self, line: &str, ns: u64) {
        match self.lines.get_mut(line) {
            Some(all) => *all = all.saturating_add(ns),
            None => {
                if self.lines.len() >= 2 * LINES_KEPT {
                    self.keep_lines(LINES_KEPT);
                }
                self.lines.insert(line.into(), ns);
            }
        }
    }

    /// Keeps the lines with the most time, of equal ones the first.
    fn keep_lines(&mut self, lines_max: usize) {
        if self.lines.len() <= lines_max {
            return;
        }
        let mut all: Vec<(String, u64)> = core::mem::take(&mut self.lines).into_iter().collect();
        all.sort_by_key(|(_, ns)| Reverse(*ns));
        all.truncate(lines_max);
        self.lines = all.into_iter().collect();
    }

    /// The nodes of a rank, `nodes_max` at most, and how much time those have that are left out, in
    /// ns.
    pub fn into_nodes(self, rank: Rank, nodes_max: usize) -> (Vec<Node>, u64) {
        let (mut nodes, left_out_ns) = self.nodes_within(nodes_max);
        nodes
            .iter_mut()
            .for_each(|node| node.most = (rank, node.ns));
        (nodes, left_out_ns)
    }

    /// Of a list.
    fn of(nodes: Vec<Node>) -> Tree {
        of_list(nodes.into_iter().map(|node| {
            let one = Tree {
                below: BTreeMap::new(),
                ns: node.ns,
                own_ns: node.own_ns,
                most: Some(node.most),
                lines: node.lines,
            };
            (node.depth, node.frame, one)
        }))
    }

    /// Adds another one; both are [`DEPTH_MAX`] deep at most.
    fn absorb(&mut self, from: Tree) {
        self.ns = self.ns.saturating_add(from.ns);
        self.own_ns = self.own_ns.saturating_add(from.own_ns);
        let most = [self.most, from.most].into_iter().flatten();
        self.most = most.max_by_key(|most| order(*most));
        for (line, ns) in &from.lines {
            self.add_line(line, *ns);
        }
        for (frame, one) in from.below {
            self.put(frame, one);
        }
    }

    /// As a list of `nodes_max` at most, with the time of those that are left out.
    fn nodes_within(mut self, nodes_max: usize) -> (Vec<Node>, u64) {
        let left_out_ns = self.keep_most(nodes_max);
        (self.list(), left_out_ns)
    }

    /// Leaves out the nodes with the least time, and gives how much of nobody's own that is now.
    fn keep_most(&mut self, nodes_max: usize) -> u64 {
        let mut times = Vec::new();
        self.each_time(&mut times);
        if times.len() <= nodes_max {
            return 0;
        }
        // A node has no less time than those below it, so that what stays is a tree. Of those with
        // just the least time that stays, the first of each level are taken as long as there is
        // room.
        let (_, least, _) = times.select_nth_unstable_by_key(nodes_max, |ns| Reverse(*ns));
        let least = *least;
        let above = times.iter().filter(|ns| **ns > least).count();
        let mut room = nodes_max.saturating_sub(above);
        let mut left_out_ns = 0;
        let mut level = Vec::from([self]);
        while !level.is_empty() {
            let mut next = Vec::new();
            for node in level {
                node.below.retain(|_, one| {
                    let fits = one.ns == least && room > 0;
                    room -= usize::from(fits);
                    let stays = one.ns > least || fits;
                    if !stays {
                        left_out_ns += one.ns;
                    }
                    stays
                });
                next.extend(node.below.values_mut());
            }
            level = next;
        }
        left_out_ns
    }

    fn each_time(&self, times: &mut Vec<u64>) {
        for one in self.below.values() {
            times.push(one.ns);
            one.each_time(times);
        }
    }

    fn list(self) -> Vec<Node> {
        let mut nodes = Vec::new();
        // Preorder without recursion: the depth comes from a message and must not decide on stack
        // use.
        let mut levels = Vec::from([self.below.into_iter()]);
        while let Some(level) = levels.last_mut() {
            let Some((frame, mut one)) = level.next() else {
                levels.pop();
                continue;
            };
            one.keep_lines(LINES_MAX);
            nodes.push(Node {
                // No deeper than `DEPTH_MAX`.
                depth: (levels.len() - 1) as u8,
                frame,
                ns: one.ns,
                own_ns: one.own_ns,
                most: one.most.unwrap_or((Rank(0), 0)),
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
