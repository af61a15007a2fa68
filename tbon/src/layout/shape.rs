//! The tree as numbers: how many members each layer has, and who belongs to whom. Nothing here is a table:
//! a tree of a million ranks takes as much memory as one of four.

use core::ops::Range;

/// Where a member stands: its layer (0 the ranks, 1 the places, the last one the root) and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub layer: u32,
    pub index: u32,
}

/// A tree whose members at `layer + 1` each take the next `fan` members of `layer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Ranks of the application, at least 1.
    pub ranks: u32,
    /// Ranks per place, at least 1.
    pub fan_in: u32,
    /// Places or nodes per node, at least 2.
    pub node_fan_in: u32,
}

impl Shape {
    /// Members per layer, from the ranks to the root.
    pub fn counts(self) -> impl Iterator<Item = u32> {
        let places = self.ranks.div_ceil(self.fan_in);
        let nodes = core::iter::successors(Some(places.div_ceil(self.node_fan_in)), move |&below| {
            (below > 1).then(|| below.div_ceil(self.node_fan_in))
        });
        [self.ranks, places].into_iter().chain(nodes)
    }

    /// All members. Wider than a world rank, because what does not fit there is refused with its number.
    pub fn total(self) -> u64 {
        self.counts().map(u64::from).sum()
    }

    /// The layer of the root.
    pub fn top(self) -> u32 {
        self.counts().count() as u32 - 1
    }

    fn fan(self, layer: u32) -> u32 {
        if layer == 1 { self.fan_in } else { self.node_fan_in }
    }

    fn count(self, layer: u32) -> u32 {
        self.counts().nth(layer as usize).unwrap_or(0)
    }

    /// The member that `seat` reports to; none of the root.
    pub fn parent(self, seat: Seat) -> Option<Seat> {
        let layer = seat.layer + 1;
        (layer <= self.top()).then(|| Seat {
            layer,
            index: seat.index / self.fan(layer),
        })
    }

    /// The indices, one layer below, of the members that report to `seat`.
    pub fn children(self, seat: Seat) -> Range<u32> {
        match seat.layer.checked_sub(1) {
            Some(below) => block(seat.index, u64::from(self.fan(seat.layer)), self.count(below)),
            None => 0..0,
        }
    }

    /// The ranks below `seat`, or the rank that it is.
    pub fn ranks(self, seat: Seat) -> Range<u32> {
        let width = (1..=seat.layer).fold(1, |width: u64, layer| {
            width.saturating_mul(u64::from(self.fan(layer)))
        });
        block(seat.index, width, self.ranks)
    }
}

/// The `index`th block of `width` numbers, of `count` numbers in all.
fn block(index: u32, width: u64, count: u32) -> Range<u32> {
    let start = u64::from(index).saturating_mul(width).min(u64::from(count));
    let end = start.saturating_add(width).min(u64::from(count));
    start as u32..end as u32
}
