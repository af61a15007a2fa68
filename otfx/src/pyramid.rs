//! Values over a whole run in memory of fixed size: time bins of equal width, which merge in pairs
//! whenever the run outgrows them. Answers with an axis of time are made of them.
//!
//! Bins lie on a grid that begins at 0 and whose width is the first one times a power of two. So
//! pyramids of different locations have bins in common and merge exactly.

use alloc::vec;
use alloc::vec::Vec;

/// What fell into one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// How many values.
    pub count: u64,
    /// Their sum, and what was spread over the bin.
    pub sum: u128,
    /// The least; `u64::MAX` of none.
    pub min: u64,
    /// The greatest; 0 of none.
    pub max: u64,
}

impl Cell {
    pub const EMPTY: Cell = Cell {
        count: 0,
        sum: 0,
        min: u64::MAX,
        max: 0,
    };

    /// Adds the values of another cell.
    pub fn merge(&mut self, other: &Cell) {
        // Sums of 128 bits: 2^64 values of 64 bits fit.
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// A series of cells over time. Times are ticks, or whatever else grows: iterations, for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pyramid {
    cells: Vec<Cell>,
    /// Width of a bin is `unit << doublings`.
    unit: u64,
    doublings: u32,
    /// The grid's number of the first cell; meaningless while there is none in use.
    first: u64,
    /// Cells from the first to the last that anything fell into.
    used: usize,
}

impl Pyramid {
    /// So many bins (at least 2), of this width as long as that is enough (at least 1).
    pub fn new(bins: usize, width: u64) -> Self {
        Pyramid {
            cells: vec![Cell::EMPTY; bins.max(2)],
            unit: width.max(1),
            doublings: 0,
            first: 0,
            used: 0,
        }
    }

    /// Width of a bin.
    pub fn width(&self) -> u64 {
        // Never more than a bin that holds all of time.
        self.unit
            .saturating_mul(1u64.checked_shl(self.doublings).unwrap_or(u64::MAX))
    }

    /// Adds a value at a point in time. In the order of time this takes constant time, mergers
    /// spread over the run.
    pub fn add(&mut self, time: u64, value: u64) {
        let cell = self.cell(time);
        cell.merge(&Cell {
            count: 1,
            sum: u128::from(value),
            min: value,
            max: value,
        });
    }

    /// Adds a cell's worth of values at a point in time. An empty one makes sure that there is a
    /// bin for it.
    pub fn add_cell(&mut self, time: u64, cell: &Cell) {
        self.cell(time).merge(cell);
    }

    /// Spreads the span from `begin` to `end` over its bins: to the sum of each goes what of the
    /// span lies in it. The count stays, and so do the extremes.
    pub fn spread(&mut self, begin: u64, end: u64) {
        if begin >= end {
            return;
        }
        // Both ends first: the width does not change between them then.
        self.cell(end - 1);
        self.cell(begin);
        let width = self.width();
        let mut from = begin;
        while from < end {
            let to = (from / width)
                .saturating_add(1)
                .saturating_mul(width)
                .min(end);
            // Only the sum: a span that lasts over several bins is no value of any of them.
            self.cell(from).sum += u128::from(to - from);
            from = to;
        }
    }

    /// Adds all of another, whose first width must be the same.
    ///
    /// # Panics
    /// When it is not.
    pub fn merge(&mut self, other: &Pyramid) {
        assert_eq!(
            self.unit, other.unit,
            "pyramids of different widths have no grid in common"
        );
        while self.doublings < other.doublings {
            self.double();
        }
        for (begin, cell) in other.cells() {
            if *cell != Cell::EMPTY {
                self.cell(begin).merge(cell);
            }
        }
    }

    /// The bins from the first to the last in use, each with the time at which it begins.
    pub fn cells(&self) -> impl Iterator<Item = (u64, &Cell)> {
        let numbers = self.first..;
        let width = self.width();
        numbers
            .zip(&self.cells[..self.used])
            .map(move |(number, cell)| (number.saturating_mul(width), cell))
    }

    /// The cell of a time, after as many mergers as it takes for it to have one.
    fn cell(&mut self, time: u64) -> &mut Cell {
        loop {
            let number = time / self.width();
            if self.used == 0 {
                self.first = number;
            }
            let (first, last) = (
                self.first.min(number),
                number.max(self.first + self.used.saturating_sub(1) as u64),
            );
            if last - first >= self.cells.len() as u64 {
                self.double();
                continue;
            }
            let earlier = (self.first - first) as usize;
            if earlier > 0 {
                // The cells behind are empty; the rotation brings them in front of the used ones.
                self.cells[..self.used + earlier].rotate_right(earlier);
            }
            self.first = first;
            self.used = (last - first) as usize + 1;
            return &mut self.cells[(number - first) as usize];
        }
    }

    /// Merges bins in pairs.
    fn double(&mut self) {
        self.doublings += 1;
        // On an odd grid number the first cell is the second half of its pair.
        let odd = (self.first & 1) as usize;
        self.first >>= 1;
        let used = core::mem::take(&mut self.used);
        for index in 0..used {
            let cell = core::mem::replace(&mut self.cells[index], Cell::EMPTY);
            let target = (index + odd) / 2;
            self.cells[target].merge(&cell);
            self.used = target + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Copy, Debug)]
    enum Op {
        Add(u64, u64),
        Spread(u64, u64),
    }

    fn ops() -> impl proptest::strategy::Strategy<Value = Vec<Op>> {
        let time = prop_oneof![8 => 0u64..5000, 1 => 0u64..1 << 40, 1 => any::<u64>()];
        let add = (time, any::<u64>()).prop_map(|(time, value)| Op::Add(time, value));
        let spread = (0u64..50_000, 0u64..3000)
            .prop_map(|(begin, length)| Op::Spread(begin, begin + length));
        prop::collection::vec(prop_oneof![add, spread], 1..80)
    }

    /// Everything computed at once, for a width known beforehand.
    fn direct(ops: &[Op], width: u64) -> BTreeMap<u64, Cell> {
        let mut cells: BTreeMap<u64, Cell> = BTreeMap::new();
        for op in ops {
            match *op {
                Op::Add(time, value) => {
                    let cell = cells.entry(time / width).or_insert(Cell::EMPTY);
                    cell.count += 1;
                    cell.sum += u128::from(value);
                    cell.min = cell.min.min(value);
                    cell.max = cell.max.max(value);
                }
                Op::Spread(begin, end) => {
                    for tick in begin..end {
                        cells.entry(tick / width).or_insert(Cell::EMPTY).sum += 1;
                    }
                }
            }
        }

        cells
    }

    fn apply(pyramid: &mut Pyramid, ops: &[Op]) {
        for op in ops {
            match *op {
                Op::Add(time, value) => pyramid.add(time, value),
                Op::Spread(begin, end) => pyramid.spread(begin, end),
            }
        }
    }

    fn occupied(pyramid: &Pyramid) -> BTreeMap<u64, Cell> {
        pyramid
            .cells()
            .filter(|(_, cell)| **cell != Cell::EMPTY)
            .map(|(begin, cell)| (begin / pyramid.width(), *cell))
            .collect()
    }

    proptest! {
        #[test]
        fn equals_direct_computation(bins in 2usize..40, width in 1u64..100, ops in ops()) {
            let mut pyramid = Pyramid::new(bins, width);
            apply(&mut pyramid, &ops);
            prop_assert!(pyramid.cells().count() <= bins);
            prop_assert_eq!(occupied(&pyramid), direct(&ops, pyramid.width()));
            // No wider than needed: half the width would not have held it.
            let half = pyramid.width() / 2;
            if half >= width {
                let numbers = direct(&ops, half);
                let span = numbers.keys().max().unwrap() - numbers.keys().min().unwrap();
                prop_assert!(span >= bins as u64);
            }
        }

        #[test]
        fn merging_equals_adding_everything_to_one(
            bins in 2usize..20,
            ops in ops(),
            more in ops(),
        ) {
            let mut one = Pyramid::new(bins, 10);
            let mut other = Pyramid::new(bins, 10);
            apply(&mut one, &ops);
            apply(&mut other, &more);
            one.merge(&other);
            let mut all = Pyramid::new(bins, 10);
            apply(&mut all, &ops);
            apply(&mut all, &more);
            prop_assert_eq!(occupied(&one), occupied(&all));
            prop_assert_eq!(one.width(), all.width());
        }
    }
}
