//! The layout that tool processes find among themselves: any number of ranks on every node, in any
//! order.
//!
//! Whether a process is a tool follows from local facts, one on each node ([`super::local`]). After
//! `MPI_Init` every tool process says what its node has ([`NodeCount`]), and from that each
//! computes the same tree. What it holds of other nodes are these counts and sums of them: a table
//! of nodes, none of ranks.
//!
//! ```text
//! five processes on node a and two on node b, dealt out in turns
//!
//! world rank         0  1  2  3   4  5  6
//! node               a  b  a  b   a  a  a
//! is                 0  1  2  T0  3  4  T1
//! ```
//!
//! Ranks of the application are numbered by their world ranks, without the tool processes between
//! them. Places are numbered by the highest world rank of their nodes, so that the last one, whose
//! process holds the root, is on the node of the job's last process: a supervisor knows that before
//! MPI has begun.

use super::shape::LayerIndex;
use crate::limits::TOTAL_MAX;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use invivo_proto::ids::{Rank, WorldRank};
use invivo_proto::rank_set::RankSet;

/// What a tool process says of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCount {
    /// Its own world rank.
    pub tool: u32,
    /// The lowest world rank of the node's ranks.
    pub lowest: u32,
    /// The highest.
    pub highest: u32,
    /// How many ranks there are.
    pub ranks: u32,
}

/// Numbers in a [`NodeCount`] on its way.
pub const NODE_COUNT_NUMBERS: usize = 4;

impl NodeCount {
    /// Of a node with these world ranks, its tool process apart; nothing where it has no rank.
    pub fn of(tool: WorldRank, ranks: &[u32]) -> Option<NodeCount> {
        Some(NodeCount {
            tool: tool.0,
            lowest: *ranks.iter().min()?,
            highest: *ranks.iter().max()?,
            ranks: ranks.len() as u32,
        })
    }

    /// As numbers, to be sent.
    pub fn to_numbers(self) -> [u32; NODE_COUNT_NUMBERS] {
        [self.tool, self.lowest, self.highest, self.ranks]
    }

    /// Back from numbers.
    pub fn from_numbers([tool, lowest, highest, ranks]: [u32; NODE_COUNT_NUMBERS]) -> NodeCount {
        NodeCount {
            tool,
            lowest,
            highest,
            ranks,
        }
    }

    fn last(&self) -> u32 {
        self.highest.max(self.tool)
    }
}

/// Why tool processes find no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollCallError {
    /// More processes than MPI can number.
    TooMany {
        /// How many.
        total: u32,
    },
    /// Ranks and tool processes are not all processes of the job: a node has none, or two.
    Sum {
        /// Processes that were counted.
        counted: u64,
        /// Processes of the job.
        total: u32,
    },
    /// What a tool process said cannot be.
    Nonsense {
        /// It.
        tool: u32,
    },
    /// This process has not answered, or the ranks given as its own are others.
    NotHere {
        /// It.
        tool: u32,
    },
}

impl fmt::Display for RollCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            RollCallError::TooMany { total } => {
                write!(f, "{total} processes are more than {TOTAL_MAX}")
            }
            RollCallError::Sum { counted, total } => write!(
                f,
                "the tool processes have {counted} processes on their nodes, and the job has \
                 {total}: the launcher's local numbers are not those of its nodes; say the number \
                 of nodes with --nodes"
            ),
            RollCallError::Nonsense { tool } => write!(
                f,
                "tool process {tool} says of its node what cannot be: the launcher's local numbers \
                 are not those of its nodes"
            ),
            RollCallError::NotHere { tool } => {
                write!(f, "tool process {tool} is not where it says that it is")
            }
        }
    }
}

impl core::error::Error for RollCallError {}

/// Numbers of every node: the same at every tool process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Nodes {
    /// Processes of the job.
    total: u32,
    /// World ranks of the tool processes, by place.
    tools: Box<[u32]>,
    /// The same, ascending, each with its place.
    sorted: Box<[(u32, u32)]>,
    /// The lowest and the highest world rank of the ranks of each.
    ends: Box<[(u32, u32)]>,
    /// Ranks of all places before each, and of all.
    before: Box<[u32]>,
    /// The first rank of each node and its place, ascending, where every node has neighbours.
    blocks: Option<Box<[(u32, u32)]>>,
}

/// What one tool process has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    nodes: &'static Nodes,
    /// The place of this process, and its ranks.
    here: (u32, RankSet),
}

impl Nodes {
    /// Of a job of `total` processes whose tool processes have said this of their nodes, in any
    /// order.
    pub(super) fn new(total: u32, mut nodes: Vec<NodeCount>) -> Result<Nodes, RollCallError> {
        if total > TOTAL_MAX {
            return Err(RollCallError::TooMany { total });
        }
        let counted = nodes.iter().map(|node| u64::from(node.ranks) + 1).sum();
        if counted != u64::from(total) {
            return Err(RollCallError::Sum { counted, total });
        }
        nodes.sort_unstable_by_key(|node| (node.last(), node.tool));
        let tools: Box<[u32]> = nodes.iter().map(|node| node.tool).collect();
        let mut sorted: Box<[(u32, u32)]> = tools.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|two| two[0].0 == two[1].0);
        if let Some(two) = twice {
            return Err(RollCallError::Nonsense { tool: two[0].0 });
        }
        let is_tool = |world: u32| sorted.binary_search_by_key(&world, |one| one.0).is_ok();
        let cannot_be = |node: &&NodeCount| {
            let spread =
                u64::from(node.highest) + 1 < u64::from(node.lowest) + u64::from(node.ranks);
            let ends = [node.lowest, node.highest];
            node.ranks == 0 || node.last() >= total || spread || ends.into_iter().any(is_tool)
        };
        if let Some(node) = nodes.iter().find(cannot_be) {
            return Err(RollCallError::Nonsense { tool: node.tool });
        }

        let mut before = Vec::with_capacity(nodes.len() + 1);
        before.push(0);
        for node in &nodes {
            let ranks_before = before.last().copied().unwrap_or(0);
            before.push(ranks_before + node.ranks);
        }
        let mut found = Nodes {
            total,
            tools,
            sorted,
            ends: nodes
                .iter()
                .map(|node| (node.lowest, node.highest))
                .collect(),
            before: before.into(),
            blocks: None,
        };
        let block = |(node, place): (&NodeCount, u32)| {
            let (first, last) = (found.rank(node.lowest)?, found.rank(node.highest)?);
            (last - first + 1 == node.ranks).then_some((first, place))
        };
        let blocks: Option<Box<[(u32, u32)]>> = nodes.iter().zip(0..).map(block).collect();
        found.blocks = blocks.map(|mut blocks| {
            blocks.sort_unstable();
            blocks
        });
        Ok(found)
    }

    /// The rank of the application with this world rank.
    fn rank(&self, world: u32) -> Option<u32> {
        let at = self.at(WorldRank(world)).filter(|at| at.layer == 0)?;
        Some(at.index)
    }

    fn count(&self, places: Range<u32>) -> u32 {
        let before = |place: u32| self.before.get(place as usize).copied().unwrap_or(0);
        before(places.end).saturating_sub(before(places.start))
    }

    fn at(&self, world: WorldRank) -> Option<LayerIndex> {
        if world.0 >= self.total {
            return None;
        }
        let tool = self.sorted.binary_search_by_key(&world.0, |one| one.0);
        let (layer, index) = match tool {
            Ok(at) => (1, self.sorted[at].1),
            Err(tools_below) => (0, world.0 - tools_below as u32),
        };
        Some(LayerIndex { layer, index })
    }
}

impl Found {
    /// As tool process `me` finds it, on whose node the ranks with the world ranks `here` are.
    pub(super) fn new(
        nodes: &'static Nodes,
        me: WorldRank,
        here: &[u32],
    ) -> Result<Found, RollCallError> {
        let not_here = RollCallError::NotHere { tool: me.0 };
        let place = nodes.at(me).filter(|at| at.layer == 1).ok_or(not_here)?;
        let ranks: Option<Vec<u32>> = here.iter().map(|&world| nodes.rank(world)).collect();
        let mut ranks = ranks.ok_or(not_here)?;
        ranks.sort_unstable();
        ranks.dedup();
        let ends = here.iter().min().copied().zip(here.iter().max().copied());
        let count = nodes.count(place.index..place.index + 1);
        if ranks.len() as u32 != count || nodes.ends.get(place.index as usize).copied() != ends {
            return Err(not_here);
        }
        let own = match (ranks.first(), ranks.last()) {
            (Some(&first), Some(&last)) if last - first + 1 == ranks.len() as u32 => {
                RankSet::from(first..last + 1)
            }
            _ => RankSet::List(Box::leak(ranks.into_boxed_slice())),
        };
        Ok(Found {
            nodes,
            here: (place.index, own),
        })
    }

    /// The same tree as another tool process finds it.
    pub(super) fn seen_from(&self, me: WorldRank, here: &[u32]) -> Result<Found, RollCallError> {
        Found::new(self.nodes, me, here)
    }

    pub(super) fn total(&self) -> u32 {
        self.nodes.total
    }

    pub(super) fn app(&self) -> u32 {
        self.nodes.total - self.nodes()
    }

    pub(super) fn nodes(&self) -> u32 {
        self.nodes.tools.len() as u32
    }

    pub(super) fn ranks_max(&self) -> u32 {
        let of_place = self.nodes.before.windows(2).map(|two| two[1] - two[0]);
        of_place.max().unwrap_or(0)
    }

    pub(super) fn place(&self, index: u32) -> Option<WorldRank> {
        self.nodes.tools.get(index as usize).copied().map(WorldRank)
    }

    /// Ranks of the places in this range.
    pub(super) fn count(&self, places: Range<u32>) -> u32 {
        self.nodes.count(places)
    }

    /// What a process is: its layer, and its number there.
    pub(super) fn at(&self, world: WorldRank) -> Option<LayerIndex> {
        self.nodes.at(world)
    }

    pub(super) fn world_of(&self, rank: Rank) -> WorldRank {
        // A tool process is before the rank if no more ranks than its number are before it.
        let sorted = &self.nodes.sorted;
        let tools_before = partition_point(sorted.len(), |at| sorted[at].0 - at as u32 <= rank.0);
        WorldRank(rank.0.saturating_add(tools_before as u32))
    }

    /// The number of the place that a rank reports to, where that is known here.
    pub(super) fn place_of(&self, rank: Rank) -> Option<u32> {
        if self.here.1.contains(rank) {
            return Some(self.here.0);
        }
        let blocks = self.nodes.blocks.as_ref().filter(|_| rank.0 < self.app())?;
        let behind = blocks.partition_point(|(first, _)| *first <= rank.0);
        Some(blocks.get(behind.checked_sub(1)?)?.1)
    }

    /// Whether every node has neighbours.
    pub(super) fn knows_all_places(&self) -> bool {
        self.nodes.blocks.is_some()
    }

    /// The ranks of a place, where that is known here.
    pub(super) fn ranks_at(&self, place: u32) -> Option<RankSet> {
        if place == self.here.0 {
            return Some(self.here.1);
        }
        let blocks = self.nodes.blocks.as_ref()?;
        let (first, _) = blocks.iter().find(|(_, of)| *of == place)?;
        Some((*first..first + self.count(place..place + 1)).into())
    }
}

fn partition_point(length: usize, has: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = low + (high - low) / 2;
        match has(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
