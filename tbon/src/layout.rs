//! Computes the role of every process of the job: rank, place, node or root.
//!
//! A pure function of a few numbers that every process knows from its launcher, so that the layout
//! need not be sent.
//!
//! ```text
//! policy tail, 8 ranks, fan-in 4,16        policy nodes=2, 8 ranks, fan-in 2,2
//!
//! layer 2        root 10                   layer 4                 root 14
//!               /       \                  layer 3 (upper) and     /     \
//! layer 1     T0 8      T1 9               layer 2, heads       A 6       A 13
//!            / | | \   / | | \                                  /  \      /   \
//! layer 0   0  1 2  3 4  5 6  7            layer 1            T 4  T 5  T 11  T 12
//!                                          layer 0            0 1  2 3  7 8   9 10
//! ```
//!
//! With the policy *nodes*, every host has the same number of processes, in blocks: its ranks, its
//! places, and its own analysis nodes up to one head. The upper nodes, the root last, are the last
//! processes of the last host. *Tail* is the same with one host, so that the application's ranks
//! keep their numbers.
//!
//! Members are known by addresses, which are world ranks where every member is a process of its
//! own. With one tool process per node ([`FanIn::is_one_per_node`]) a process holds several, see
//! `layout/processes.rs`. Where there is one on each of several nodes, the tool processes find the
//! layout among themselves: see `layout/found.rs`, and `layout/local.rs` for who is one.

mod error;
mod fan_in;
mod found;
pub mod local;
mod plan;
mod processes;
mod roll_call;
mod shape;
mod text;
mod total;

pub use crate::limits::TOTAL_MAX;
pub use error::{Fit, LayoutError};
pub use fan_in::{FAN_IN_LIST_MAX, FanIn, FanInError, MEMBERS_PER_NODE_DEFAULT, NODE};
pub use found::{NODE_COUNT_NUMBERS, NodeCount, RollCallError};
pub use plan::{Plan, RanksError};

use core::ops::Range;
use found::Found;
use invivo_proto::ids::{Rank, WorldRank};
use invivo_proto::rank_set::RankSet;
use shape::{LayerIndex, Shape};

/// Which world rank sits where in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// On one host, or regardless of hosts: the extra processes are the last ones.
    Tail,
    /// Every host has its own ranks, places and nodes, one block of processes per host.
    PerNode {
        /// Hosts of the job.
        hosts: u32,
    },
}

impl Policy {
    /// Hosts that have a tree of their own.
    pub fn hosts(self) -> u32 {
        match self {
            Policy::Tail => 1,
            Policy::PerNode { hosts } => hosts,
        }
    }
}

/// What a member of the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A rank of the application.
    Application(Rank),
    /// A tool place.
    Place {
        /// Its number among the places.
        index: u32,
    },
    /// An analysis node between the places and the root.
    Node {
        /// Its layer, 2 or more.
        layer: u32,
        /// Its number in the layer.
        index: u32,
    },
    /// The last analysis node.
    Root,
}

/// One layer, as `invivo plan` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its depth: 0 the application.
    pub number: u32,
    /// What its processes are.
    pub name: &'static str,
    /// Its members: processes, or roles of the layout's tool processes.
    pub members: u32,
}

/// The role of every process. As text, for tool processes: `8:4,16:tail`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    policy: Policy,
    /// What the tool processes found, where the numbers above do not say it.
    found: Option<Found>,
}

impl Layout {
    /// The layout for an application of `app` ranks.
    ///
    /// # Errors
    /// When a number is nought, the hosts cannot share the ranks evenly, or there are more
    /// processes than MPI can number.
    pub fn for_app(app: u32, fan_in: FanIn, policy: Policy) -> Result<Layout, LayoutError> {
        let hosts = policy.hosts();
        if app == 0 {
            return Err(LayoutError::NoRanks);
        }

        if hosts == 0 {
            return Err(LayoutError::NoHosts);
        }
        if !app.is_multiple_of(hosts) {
            return Err(LayoutError::Uneven { ranks: app, hosts });
        }

        // Checked before the shape is made: its arithmetic is in 32 bits per host.
        if app > TOTAL_MAX {
            return Err(LayoutError::TooMany {
                total: u64::from(app),
            });
        }

        let shape = Shape {
            hosts,
            ranks: app / hosts,
            fan_in,
        };

        let total = shape.total();
        if total > u64::from(TOTAL_MAX) {
            return Err(LayoutError::TooMany { total });
        }

        Ok(Layout {
            shape,
            policy,
            found: None,
        })
    }

    /// Whether the tool processes found it among themselves.
    pub fn is_found(&self) -> bool {
        self.found.is_some()
    }

    /// All processes.
    pub fn total(&self) -> u32 {
        match (self.found, self.is_one_per_node()) {
            (Some(found), _) => found.total(),
            (None, true) => self.hosts() * self.processes_per_host(),
            (None, false) => self.members(),
        }
    }

    /// All members of the tree, the ranks included: their addresses are the numbers below.
    pub fn members(&self) -> u32 {
        let all = self.shape.total() as u32;
        // The shape has one rank for every node, and one place.
        let beside = |found: Found| all - 2 * found.nodes() + found.total();
        self.found.map_or(all, beside)
    }

    /// Ranks of the application.
    pub fn app(&self) -> u32 {
        let regular = self.shape.ranks * self.shape.hosts;
        self.found.map_or(regular, |found| found.app())
    }

    /// Tool places.
    pub fn places(&self) -> u32 {
        self.shape.counts().nth(1).unwrap_or(0) as u32
    }

    /// Ranks of the place that has most: fewer than the fan-in where a host has no more.
    pub fn ranks_per_place(&self) -> u32 {
        let regular = self.fan_in().ranks_per_place().min(self.shape.ranks);
        self.found.map_or(regular, |found| found.ranks_max())
    }

    /// Processes that are analysis nodes, the root included: none where there is one tool process
    /// per node, which has these roles as well.
    pub fn nodes(&self) -> u32 {
        self.total() - self.app() - self.places()
    }

    /// Ranks per place and members per node, at most.
    pub fn fan_in(&self) -> FanIn {
        self.shape.fan_in
    }

    /// Which world rank sits where.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Hosts that have a tree of their own: 1 with the policy tail.
    pub fn hosts(&self) -> u32 {
        self.shape.hosts
    }

    /// Processes that each host must be given, but for the last one, which has the upper nodes as
    /// well. Of no meaning in a layout that was found.
    pub fn processes_per_host(&self) -> u32 {
        self.shape.per_host()
    }

    /// The layers, from the application to the root.
    pub fn layers(&self) -> impl Iterator<Item = Layer> {
        let top = self.shape.top();
        let counts = self.shape.counts().zip(0..);
        counts.map(move |(members, number)| {
            let members = match number {
                0 => self.app(),
                _ => members as u32,
            };
            let name = match number {
                0 => "application ranks",
                1 => "tool places",
                n if n == top => "root",
                _ => "analysis nodes",
            };
            Layer {
                number,
                name,
                members,
            }
        })
    }

    /// What the member with the address `world` is; nothing beyond the last one. All that a process
    /// is, say [`Layout::roles`].
    pub fn role(&self, world: WorldRank) -> Option<Role> {
        let LayerIndex { layer, index } = self.at(world)?;
        Some(match layer {
            0 => Role::Application(Rank(index)),
            layer if layer == self.shape.top() => Role::Root,
            1 => Role::Place { index },
            layer => Role::Node { layer, index },
        })
    }

    /// The root's address: the last of all.
    pub fn root(&self) -> WorldRank {
        self.world(LayerIndex {
            layer: self.shape.top(),
            index: 0,
        })
    }

    /// The world rank of a rank of the application.
    pub fn world_of(&self, rank: Rank) -> WorldRank {
        self.world(LayerIndex {
            layer: 0,
            index: rank.0,
        })
    }

    /// The rank of the application that process `world` is; nothing of a tool process.
    pub fn rank_of(&self, world: WorldRank) -> Option<Rank> {
        match self.role(world)? {
            Role::Application(rank) => Some(rank),
            Role::Place { .. } | Role::Node { .. } | Role::Root => None,
        }
    }

    /// The host, from 0, that the member with the address `world` runs on; nothing beyond the last,
    /// and for a rank whose place is not known here.
    pub fn host_of(&self, world: WorldRank) -> Option<u32> {
        let process = self.process_of(world)?;
        if let Some(found) = self.found {
            let at = found.at(process)?;
            return match at.layer {
                0 => found.place_of(Rank(at.index)),
                _ => Some(at.index),
            };
        }
        let block = process.0 / self.processes_per_host();
        // Upper nodes that are processes run on the last host, behind its block.
        Some(block.min(self.hosts() - 1))
    }

    /// The world rank of place `index`.
    pub fn place(&self, index: u32) -> WorldRank {
        self.world(LayerIndex { layer: 1, index })
    }

    /// The place that a rank reports to; where that is not known here, nobody's address.
    pub fn place_of(&self, rank: Rank) -> WorldRank {
        self.known_place_of(rank).unwrap_or(WorldRank(u32::MAX))
    }

    /// The place that a rank reports to. Where ranks are dealt out over the nodes a process knows
    /// that of its own alone.
    pub fn known_place_of(&self, rank: Rank) -> Option<WorldRank> {
        if let Some(found) = self.found {
            return found.place(found.place_of(rank)?);
        }
        let at = LayerIndex {
            layer: 0,
            index: rank.0,
        };
        self.shape.parent(at).map(|place| self.shape.world(place))
    }

    /// Whether this process knows of every rank which place it reports to.
    pub fn knows_all_places(&self) -> bool {
        self.found.is_none_or(|found| found.knows_all_places())
    }

    /// The number of a place among the places; nothing of what is none.
    pub fn place_index(&self, place: WorldRank) -> Option<u32> {
        let at = self.at(place).filter(|at| at.layer == 1)?;
        Some(at.index)
    }

    /// Whom `world` reports to: a rank to its place, a place or node to its node, the root to
    /// nobody.
    pub fn parent(&self, world: WorldRank) -> Option<WorldRank> {
        let at = self.at(world)?;
        match self.found {
            Some(_) if at.layer == 0 => self.known_place_of(Rank(at.index)),
            _ => self.shape.parent(at).map(|at| self.world(at)),
        }
    }

    /// Who reports to `world`: to a place its ranks, to a node its places or nodes, to a rank
    /// nobody.
    pub fn children(&self, world: WorldRank) -> impl Iterator<Item = WorldRank> {
        let layout = *self;
        let at = self.at(world);
        let of_place = at.filter(|at| at.layer == 1);
        let indices = match (of_place, at) {
            (Some(_), _) => self.ranks_at(world).unwrap_or(RankSet::from(0..0)),
            (None, at) => at.map_or(0..0, |at| self.shape.children(at)).into(),
        };
        let layer = at.map_or(0, |at| at.layer.saturating_sub(1));
        let member = move |index: Rank| LayerIndex {
            layer,
            index: index.0,
        };
        indices.iter().map(move |index| layout.world(member(index)))
    }

    /// The ranks of the application below `world` (of a rank: itself), in a layout of numbers. In
    /// one that was found they need not be neighbours: see [`Layout::ranks_at`].
    pub fn ranks_of(&self, world: WorldRank) -> Range<u32> {
        match (self.found, self.at(world)) {
            (None, Some(at)) => self.shape.ranks_of(at),
            _ => 0..0,
        }
    }

    /// The ranks of a place; nothing of what is none, and where they are not known here. A place
    /// knows its own.
    pub fn ranks_at(&self, place: WorldRank) -> Option<RankSet> {
        let at = self.at(place).filter(|at| at.layer == 1)?;
        match self.found {
            Some(found) => found.ranks_at(at.index),
            None => Some(self.shape.ranks_of(at).into()),
        }
    }

    /// How many ranks of the application are below `world` (of a rank: one).
    pub fn ranks_below(&self, world: WorldRank) -> u32 {
        match (self.found, self.at(world)) {
            (Some(found), Some(at)) if at.layer == 1 => found.count(at.index..at.index + 1),
            (Some(found), Some(at)) if at.layer > 1 => found.count(self.shape.heads_of(at)),
            (_, Some(LayerIndex { layer: 0, .. })) => 1,
            (_, Some(at)) => self.shape.ranks_of(at).len() as u32,
            (_, None) => 0,
        }
    }

    /// How high `world` stands: 0 a rank, 1 a place, and so on up.
    pub fn height(&self, world: WorldRank) -> Option<u32> {
        self.at(world).map(|at| at.layer)
    }

    /// The address of a member.
    fn world(&self, at: LayerIndex) -> WorldRank {
        let Some(found) = self.found else {
            return self.shape.world(at);
        };
        match at.layer {
            0 => found.world_of(Rank(at.index)),
            // What comes out otherwise is nobody's address.
            1 => found.place(at.index).unwrap_or(WorldRank(u32::MAX)),
            _ => WorldRank(self.shape.world(at).0 - 2 * found.nodes() + found.total()),
        }
    }

    /// Which member has this address.
    fn at(&self, world: WorldRank) -> Option<LayerIndex> {
        let Some(found) = self.found else {
            return self.shape.at(world);
        };
        let upper = world.0.checked_sub(found.total());
        match upper {
            None => found.at(world),
            Some(upper) => self
                .shape
                .at(WorldRank(upper.checked_add(2 * found.nodes())?)),
        }
    }
}
