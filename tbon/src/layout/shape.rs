//! The shape of the tree as numbers: members of each layer, parents, children, world ranks.
//!
//! Nothing here is a table: a tree of a million ranks takes as much memory as one of four.
//!
//! Every host has the same part of the tree, from its ranks up to one *head* (its place, where
//! there is only one); above the heads are the upper layers. Within a layer, members are numbered
//! host after host.

use super::FanIn;
use core::ops::Range;
use invivo_proto::ids::WorldRank;

/// Where a member stands: its layer (0 the ranks, 1 the places, the last one the root) and its
/// index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LayerIndex {
    pub layer: u32,
    pub index: u32,
}

/// A tree whose members at `layer + 1` each take the next `fan_in.of_layer(layer + 1)` members of
/// `layer`: of the same host up to the heads, of all hosts above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// At least 1.
    pub hosts: u32,
    /// Ranks of each host, at least 1.
    pub ranks: u32,
    pub fan_in: FanIn,
}

/// One layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layer {
    number: u32,
    /// Members of one host in a host's layer, of all in an upper one.
    count: u32,
    upper: bool,
}

impl Shape {
    /// From the ranks to the root.
    fn layers(self) -> impl Iterator<Item = Layer> {
        let ranks = Layer {
            number: 0,
            count: self.ranks,
            upper: false,
        };

        // Each layer follows from the one below, so that no table of layers is kept.
        core::iter::successors(Some(ranks), move |below| {
            let number = below.number + 1;
            let fan = self.fan_in.of_layer(number);
            let (below_it, upper) = match *below {
                // Ranks always have a place above them.
                Layer {
                    number: 0, count, ..
                } => (count, false),
                Layer {
                    upper: false,
                    count,
                    ..
                } if count > 1 => (count, false),
                // The head of the only host is the root, unless it is a place: a place merges
                // nothing.
                Layer {
                    upper: false,
                    number,
                    ..
                } if self.hosts > 1 || number == 1 => (self.hosts, true),
                Layer {
                    upper: true, count, ..
                } if count > 1 => (count, true),
                _ => return None,
            };
            Some(Layer {
                number,
                count: below_it.div_ceil(fan),
                upper,
            })
        })
    }

    /// Members per layer, from the ranks to the root.
    pub fn counts(self) -> impl Iterator<Item = u64> {
        self.layers().map(move |layer| self.count(layer))
    }

    fn count(self, layer: Layer) -> u64 {
        let hosts = if layer.upper { 1 } else { self.hosts };
        u64::from(layer.count) * u64::from(hosts)
    }

    /// All members. Wider than a world rank, because what does not fit there is refused with its
    /// number.
    pub fn total(self) -> u64 {
        // Saturating: sizes that MPI cannot number are refused with an error, not by an overflow.
        self.counts().fold(0, u64::saturating_add)
    }

    /// Processes of each host, but for the upper ones.
    pub fn per_host(self) -> u32 {
        self.layers()
            .filter(|layer| !layer.upper)
            .map(|layer| layer.count)
            .sum()
    }

    /// The layer of the root.
    pub fn top(self) -> u32 {
        self.layers().count() as u32 - 1
    }

    fn layer(self, number: u32) -> Option<Layer> {
        self.layers().nth(number as usize)
    }

    /// The process that sits there: hosts one after the other, in each of them layer after layer,
    /// and the upper layers behind them all.
    pub fn world(self, at: LayerIndex) -> WorldRank {
        let below = self.layers().take(at.layer as usize);
        match self.layer(at.layer) {
            Some(layer) if !layer.upper => {
                let (host, index) = (at.index / layer.count, at.index % layer.count);
                let below: u32 = below.map(|layer| layer.count).sum();
                WorldRank(host * self.per_host() + below + index)
            }
            // Upper nodes come last, behind the blocks of all hosts.
            _ => {
                let upper = below.filter(|layer| layer.upper).map(|layer| layer.count);
                WorldRank(self.hosts * self.per_host() + upper.sum::<u32>() + at.index)
            }
        }
    }

    /// Where a process sits.
    pub fn at(self, world: WorldRank) -> Option<LayerIndex> {
        let (host, in_host) = (world.0 / self.per_host(), world.0 % self.per_host());
        let upper = host >= self.hosts;
        // The index counts down through the layers of this part of the tree.
        let mut index = if upper {
            world.0 - self.hosts * self.per_host()
        } else {
            in_host
        };

        for layer in self.layers().filter(|layer| layer.upper == upper) {
            if index < layer.count {
                let before = if upper { 0 } else { host * layer.count };
                return Some(LayerIndex {
                    layer: layer.number,
                    index: before + index,
                });
            }
            index -= layer.count;
        }

        None
    }

    /// The member that `at` reports to; none of the root.
    pub fn parent(self, at: LayerIndex) -> Option<LayerIndex> {
        let (own, above) = (self.layer(at.layer)?, self.layer(at.layer + 1)?);
        let fan = self.fan_in.of_layer(above.number);
        let index = if above.upper {
            at.index / fan
        } else {
            let (host, index) = (at.index / own.count, at.index % own.count);
            host * above.count + index / fan
        };
        Some(LayerIndex {
            layer: above.number,
            index,
        })
    }

    /// The indices, one layer below, of the members that report to `at`.
    pub fn children(self, at: LayerIndex) -> Range<u32> {
        let own = self.layer(at.layer);
        let below = at.layer.checked_sub(1).and_then(|below| self.layer(below));
        let (Some(own), Some(below)) = (own, below) else {
            return 0..0;
        };

        let fan = u64::from(self.fan_in.of_layer(own.number));
        // An upper node takes heads of several hosts, a host's node only members of its own host.
        if own.upper {
            return block(at.index, fan, self.count(below));
        }

        let (host, index) = (at.index / own.count, at.index % own.count);
        shifted(
            block(index, fan, u64::from(below.count)),
            u64::from(host) * u64::from(below.count),
        )
    }

    /// The ranks below `at`, or the rank that it is.
    pub fn ranks_of(self, at: LayerIndex) -> Range<u32> {
        let Some(own) = self.layer(at.layer) else {
            return 0..0;
        };
        let ranks = u64::from(self.ranks);
        if own.upper {
            // An upper node has whole hosts below it.
            let hosts = self.heads_of(at);
            return hosts.start * self.ranks..hosts.end * self.ranks;
        }
        let (host, index) = (at.index / own.count, at.index % own.count);
        shifted(
            block(index, self.width(own, false), ranks),
            u64::from(host) * ranks,
        )
    }

    /// The heads, one of each host, below an upper node.
    pub fn heads_of(self, at: LayerIndex) -> Range<u32> {
        self.layer(at.layer).map_or(0..0, |own| {
            block(at.index, self.width(own, true), u64::from(self.hosts))
        })
    }

    /// The index of the node of an upper layer that has this head below it.
    pub fn above_head(self, head: u32, layer: u32) -> u32 {
        let width = self.layer(layer).map_or(1, |own| self.width(own, true));
        (u64::from(head) / width.max(1)) as u32
    }

    /// Members below one of `top`, at most: ranks of its host, or heads.
    fn width(self, top: Layer, upper: bool) -> u64 {
        self.layers()
            .filter(|layer| layer.number > 0 && layer.number <= top.number && layer.upper == upper)
            .fold(1, |width, layer| {
                width.saturating_mul(u64::from(self.fan_in.of_layer(layer.number)))
            })
    }
}

/// The `index`th block of `width` numbers, of `count` numbers in all.
fn block(index: u32, width: u64, count: u64) -> Range<u32> {
    let start = u64::from(index).saturating_mul(width).min(count);
    let end = start.saturating_add(width).min(count);
    start as u32..end as u32
}

fn shifted(range: Range<u32>, by: u64) -> Range<u32> {
    range.start + by as u32..range.end + by as u32
}
