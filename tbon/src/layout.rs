//! Which process of the job is what: a pure function of a few numbers that every process knows from its
//! launcher, so that nobody has to be told.
//!
//! ```text
//! layer 2          root               world rank 10
//!                 /    \
//! layer 1       T0      T1            world ranks 8, 9          ceil(8 / 4) tool places
//!              /|||\   /|||\
//! layer 0     0 1 2 3  4 5 6 7        world ranks 0 to 7        the application
//! ```
//!
//! The tree itself ([`shape`]) knows layers and indices only; the policy says which world rank sits where. Now
//! there is the policy *tail*: layer after layer, so that the application's ranks keep their numbers.

mod error;
mod shape;

pub use error::{Fit, LayoutError};

use core::ops::Range;
use invivo_proto::ids::{Rank, WorldRank};
use shape::{Seat, Shape};

/// Ranks per tool place where nothing else is said: four ranks leave a place enough of a core on small
/// machines, and eight ranks need three extra processes.
pub const FAN_IN_DEFAULT: u32 = 4;
/// Members per analysis node where nothing else is said: all of them, so that the root is the only node.
pub const NODE_FAN_IN_DEFAULT: u32 = u32::MAX;
/// Processes that MPI can number: a rank is a C `int`.
pub const TOTAL_MAX: u32 = i32::MAX as u32;

/// Which world rank sits where in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The extra processes are the last ones: ranks, then places, then nodes, then the root.
    Tail,
}

impl Policy {
    fn world(self, shape: Shape, seat: Seat) -> WorldRank {
        match self {
            Policy::Tail => WorldRank(shape.counts().take(seat.layer as usize).sum::<u32>() + seat.index),
        }
    }

    fn seat(self, shape: Shape, world: WorldRank) -> Option<Seat> {
        match self {
            Policy::Tail => {
                let mut index = world.0;
                for (layer, count) in shape.counts().enumerate() {
                    if index < count {
                        return Some(Seat {
                            layer: layer as u32,
                            index,
                        });
                    }
                    index -= count;
                }
                None
            }
        }
    }
}

/// What a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A rank of the application.
    Application(Rank),
    /// A tool place.
    Place {
        /// Its number among the places.
        index: u32,
    },
    /// An analysis node between the places and the root. There is none while
    /// [`NODE_FAN_IN_DEFAULT`] holds.
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
    /// How many.
    pub processes: u32,
}

/// Who is who in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    policy: Policy,
}

impl Layout {
    /// The layout for an application of `app` ranks.
    ///
    /// # Errors
    /// When a number is nought, or there are more processes than MPI can number.
    pub fn for_app(app: u32, fan_in: u32) -> Result<Layout, LayoutError> {
        Layout {
            shape: Shape {
                ranks: app,
                fan_in,
                node_fan_in: NODE_FAN_IN_DEFAULT,
            },
            policy: Policy::Tail,
        }
        .checked()
    }

    /// The layout of a job of `total` processes. With `app`, that many ranks are the application and the places
    /// take as many ranks each as it needs ([`Layout::fan_in`] then differs from `fan_in`).
    ///
    /// # Errors
    /// When the total does not fit; the error says which totals do.
    pub fn of_total(total: u32, fan_in: u32, app: Option<u32>) -> Result<Layout, LayoutError> {
        if total > TOTAL_MAX {
            return Err(LayoutError::TooMany {
                total: u64::from(total),
            });
        }
        match app {
            Some(app) => Layout::of_total_and_app(total, fan_in, app),
            None => Layout::of_total_alone(total, fan_in),
        }
    }

    /// The total grows by one or two with every rank, so the number of ranks is found by bisection.
    fn of_total_alone(total: u32, fan_in: u32) -> Result<Layout, LayoutError> {
        let smallest = Layout::for_app(1, fan_in)?;
        if total < smallest.total() {
            return Err(LayoutError::TooFew { total });
        }
        let fits = |ranks: u32| Layout::for_app(ranks, fan_in).is_ok_and(|layout| layout.total() <= total);
        let (mut fitting, mut beyond) = (1, total);
        while beyond - fitting > 1 {
            let middle = fitting + (beyond - fitting) / 2;
            if fits(middle) {
                fitting = middle
            } else {
                beyond = middle
            }
        }
        let below = Layout::for_app(fitting, fan_in)?;
        if below.total() == total {
            return Ok(below);
        }
        let above = Layout::for_app(beyond, fan_in)?;
        let app = [fitting, beyond]
            .into_iter()
            .find(|&app| Layout::of_total_and_app(total, fan_in, app).is_ok());
        Err(LayoutError::NoFit {
            total,
            fan_in,
            below: below.fit(),
            above: above.fit(),
            app,
        })
    }

    fn of_total_and_app(total: u32, fan_in: u32, app: u32) -> Result<Layout, LayoutError> {
        let usual = Layout::for_app(app, fan_in)?;
        if usual.total() == total {
            return Ok(usual);
        }
        let no_fit = LayoutError::NoFitForApp {
            total,
            app,
            fan_in,
            usual: usual.total(),
        };
        let places = total
            .checked_sub(app)
            .and_then(|tools| tools.checked_sub(1))
            .filter(|&places| places > 0);
        let evened = Layout::for_app(app, app.div_ceil(places.ok_or(no_fit)?))?;
        if evened.total() == total {
            Ok(evened)
        } else {
            Err(no_fit)
        }
    }

    /// The same ranks and places under nodes of `node_fan_in` members, in as many layers as that takes.
    ///
    /// # Errors
    /// When nodes would take fewer than two members, or MPI could not number them.
    pub fn with_node_fan_in(self, node_fan_in: u32) -> Result<Layout, LayoutError> {
        Layout {
            shape: Shape {
                node_fan_in,
                ..self.shape
            },
            ..self
        }
        .checked()
    }

    fn checked(self) -> Result<Layout, LayoutError> {
        if self.shape.ranks == 0 {
            return Err(LayoutError::NoRanks);
        }
        if self.shape.fan_in == 0 {
            return Err(LayoutError::NoFanIn);
        }
        if self.shape.node_fan_in < 2 {
            return Err(LayoutError::NarrowNodes {
                node_fan_in: self.shape.node_fan_in,
            });
        }
        let total = self.shape.total();
        if total > u64::from(TOTAL_MAX) {
            Err(LayoutError::TooMany { total })
        } else {
            Ok(self)
        }
    }

    fn fit(&self) -> Fit {
        Fit {
            total: self.total(),
            ranks: self.app(),
        }
    }

    /// All processes.
    pub fn total(&self) -> u32 {
        self.shape.total() as u32
    }

    /// Ranks of the application.
    pub fn app(&self) -> u32 {
        self.shape.ranks
    }

    /// Tool places.
    pub fn places(&self) -> u32 {
        self.app().div_ceil(self.fan_in())
    }

    /// Analysis nodes, the root included.
    pub fn nodes(&self) -> u32 {
        self.total() - self.app() - self.places()
    }

    /// Ranks per place (the last place may have fewer).
    pub fn fan_in(&self) -> u32 {
        self.shape.fan_in
    }

    /// Which world rank sits where.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The layers, from the application to the root.
    pub fn layers(&self) -> impl Iterator<Item = Layer> {
        let top = self.shape.top();
        self.shape.counts().zip(0..).map(move |(processes, number)| {
            let name = match number {
                0 => "application ranks",
                1 => "tool places",
                n if n == top => "root",
                _ => "analysis nodes",
            };
            Layer {
                number,
                name,
                processes,
            }
        })
    }

    fn seat(&self, world: WorldRank) -> Option<Seat> {
        self.policy.seat(self.shape, world)
    }

    fn world(&self, seat: Seat) -> WorldRank {
        self.policy.world(self.shape, seat)
    }

    /// What process `world` is; nothing beyond the last process.
    pub fn role(&self, world: WorldRank) -> Option<Role> {
        let Seat { layer, index } = self.seat(world)?;
        Some(match layer {
            0 => Role::Application(Rank(index)),
            layer if layer == self.shape.top() => Role::Root,
            1 => Role::Place { index },
            layer => Role::Node { layer, index },
        })
    }

    /// The root.
    pub fn root(&self) -> WorldRank {
        self.world(Seat {
            layer: self.shape.top(),
            index: 0,
        })
    }

    /// The world rank of a rank of the application.
    pub fn world_of(&self, rank: Rank) -> WorldRank {
        self.world(Seat {
            layer: 0,
            index: rank.0,
        })
    }

    /// The world rank of place `index`.
    pub fn place(&self, index: u32) -> WorldRank {
        self.world(Seat { layer: 1, index })
    }

    /// The place that a rank reports to.
    pub fn place_of(&self, rank: Rank) -> WorldRank {
        self.place(rank.0 / self.fan_in())
    }

    /// Whom `world` reports to: a rank to its place, a place or node to its node, the root to nobody.
    pub fn parent(&self, world: WorldRank) -> Option<WorldRank> {
        self.seat(world)
            .and_then(|seat| self.shape.parent(seat))
            .map(|seat| self.world(seat))
    }

    /// Who reports to `world`: to a place its ranks, to a node its places or nodes, to a rank nobody.
    pub fn children(&self, world: WorldRank) -> impl Iterator<Item = WorldRank> {
        let seat = self.seat(world);
        let indices = seat.map_or(0..0, |seat| self.shape.children(seat));
        let layer = seat.map_or(0, |seat| seat.layer.saturating_sub(1));
        indices.map(move |index| self.world(Seat { layer, index }))
    }

    /// The ranks below `world` (of a rank: itself).
    pub fn ranks_of(&self, world: WorldRank) -> Range<u32> {
        self.seat(world).map_or(0..0, |seat| self.shape.ranks(seat))
    }

    /// How high `world` stands: 0 a rank, 1 a place, and so on up.
    pub fn height(&self, world: WorldRank) -> Option<u32> {
        self.seat(world).map(|seat| seat.layer)
    }
}
