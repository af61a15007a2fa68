//! Answers with the axis of time: columns of time by rows of neighbouring ranks.
//!
//! Columns lie on a grid that begins at job time 0 and whose width is [`UNIT_NS`] times a power of
//! two. Places keep bins on the same grid, so that a column is a whole number of bins, and a cell
//! is exact but for how well a node knows job time.

pub use super::metric::{CallMetric, Metric};
use crate::ids::Rank;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use bincode::{Decode, Encode};
use core::cmp::Reverse;

/// Width of the narrowest bin, in ns: a millisecond.
pub const UNIT_NS: u64 = 1 << 20;
/// Bins that a place keeps of a rank: a run is resolved to a thousandth of its length, or two.
pub const BINS: u64 = 1024;
/// What a place may be ahead of the question, in ns: bins that it has made wider by then are not
/// wider than the question's columns.
pub const AHEAD_NS: u64 = 5_000_000_000;
/// Columns of an answer, whatever was asked for: more than a screen has.
pub const COLUMNS_MAX: u32 = 512;
/// Rows of an answer, whatever was asked for: with as many columns, 65,536 cells, some 3 MB where
/// every number is as long as it can be.
pub const ROWS_MAX: u32 = 128;

/// What a grid is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct GridQuery {
    pub metric: Metric,
    /// Only what was at this job time or later, in ns.
    pub from_ns: u64,
    /// Only what was before this job time, in ns.
    pub to_ns: u64,
    /// How long the job has been observed, in ns: bins are no wider than that needs.
    pub observed_ns: u64,
    /// Columns, at most.
    pub columns_max: u32,
    /// Rows, at most: where there are more ranks, neighbours share a row.
    pub rows_max: u32,
}

/// Where the cells of a grid lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Axes {
    /// Width of a column, in ns.
    pub width_ns: u64,
    /// Number of the first column: it begins at so many widths, in job time.
    pub first: u64,
    pub columns: u32,
    /// Ranks in a row; row `r` holds the ranks from `r * block_ranks` on.
    pub block_ranks: u32,
}

impl Axes {
    /// Those of the answer to a question in a job of `ranks` ranks: the same wherever it is asked.
    pub fn of(asked: &GridQuery, ranks: u32) -> Axes {
        let columns_max = u64::from(asked.columns_max.clamp(1, COLUMNS_MAX));
        let rows_max = asked.rows_max.clamp(1, ROWS_MAX);
        let run_ns = asked.observed_ns.saturating_add(AHEAD_NS);
        let last_ns = asked.to_ns.saturating_sub(1).max(asked.from_ns);
        // A run touches one bin more than fit into it, where it does not begin with one.
        let fits = |width_ns: u64| {
            run_ns / width_ns + 2 <= BINS
                && last_ns / width_ns - asked.from_ns / width_ns < columns_max
        };
        let mut width_ns = UNIT_NS;
        while !fits(width_ns) && width_ns < 1 << 63 {
            width_ns <<= 1;
        }
        Axes {
            width_ns,
            first: asked.from_ns / width_ns,
            columns: (last_ns / width_ns - asked.from_ns / width_ns + 1) as u32,
            block_ranks: ranks.div_ceil(rows_max).max(1),
        }
    }

    /// Where a column begins, in job time; the one behind the last is where that ends.
    pub fn begin_ns(&self, column: u32) -> u64 {
        self.first
            .saturating_add(u64::from(column))
            .saturating_mul(self.width_ns)
    }

    /// The column of a job time, if it has one.
    pub fn column(&self, job_ns: u64) -> Option<u32> {
        let column = (job_ns / self.width_ns.max(1)).checked_sub(self.first)?;
        (column < u64::from(self.columns)).then_some(column as u32)
    }
}

/// What some ranks did in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct GridCell {
    /// Ranks that were recorded in it, if only for a part of it.
    pub ranks: u32,
    /// How long they were recorded, in ns summed over ranks: pauses are not in it, nor what lies
    /// before or behind the recording.
    pub recorded_ns: u64,
    /// The sum of their values.
    pub sum: u64,
    /// The least value, and whose: of equal ones the lowest rank's.
    pub min: (u64, Rank),
    /// The greatest value, and whose.
    pub max: (u64, Rank),
}

impl GridCell {
    /// Of no ranks.
    pub const EMPTY: GridCell = GridCell {
        ranks: 0,
        recorded_ns: 0,
        sum: 0,
        min: (u64::MAX, Rank(u32::MAX)),
        max: (0, Rank(u32::MAX)),
    };

    /// Of one rank.
    pub fn of(rank: Rank, value: u64, recorded_ns: u64) -> GridCell {
        GridCell {
            ranks: 1,
            recorded_ns,
            sum: value,
            min: (value, rank),
            max: (value, rank),
        }
    }

    /// Adds other ranks.
    pub fn merge(&mut self, other: &GridCell) {
        // Saturating: sums from other processes may be anything.
        self.ranks = self.ranks.saturating_add(other.ranks);
        self.recorded_ns = self.recorded_ns.saturating_add(other.recorded_ns);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        let most = |(value, rank): (u64, Rank)| (value, Reverse(rank));
        if most(other.max) > most(self.max) {
            self.max = other.max;
        }
    }
}

impl Default for GridCell {
    fn default() -> GridCell {
        GridCell::EMPTY
    }
}

/// What neighbouring ranks did over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct GridRow {
    /// For each column.
    pub cells: Vec<GridCell>,
    /// All columns as one: the least and greatest value are those of ranks over all of them.
    pub total: GridCell,
}

impl GridRow {
    /// Of no ranks, with so many columns.
    pub fn empty(columns: u32) -> GridRow {
        GridRow {
            cells: alloc::vec![GridCell::EMPTY; columns as usize],
            total: GridCell::EMPTY,
        }
    }
}

/// The answer: as many cells as were asked for, however many ranks there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Grid {
    /// All zero in the grid of nobody.
    pub axes: Axes,
    /// By row.
    pub rows: BTreeMap<u32, GridRow>,
    /// Ranks whose place keeps bins that are wider than the columns: they are in no cell.
    pub unresolved: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Never more cells than asked for, and every time in question has a column.
        #[test]
        fn axes_are_bounded_and_hold_the_interval(
            from_ns in 0u64..1 << 60,
            length_ns in 1u64..1 << 50,
            observed_ns in 0u64..1 << 55,
            columns_max in 0u32..1000,
            rows_max in 0u32..1000,
            ranks in 0u32..2_000_000,
            at in 0.0f64..1.0,
        ) {
            let to_ns = from_ns + length_ns;
            let asked = GridQuery {
                metric: Metric::default(), from_ns, to_ns, observed_ns, columns_max, rows_max,
            };
            let axes = Axes::of(&asked, ranks);
            prop_assert!(axes.columns >= 1 && axes.columns <= columns_max.clamp(1, COLUMNS_MAX));
            prop_assert!(ranks.div_ceil(axes.block_ranks) <= rows_max.clamp(1, ROWS_MAX));
            prop_assert!((axes.width_ns / UNIT_NS).is_power_of_two());
            let time = from_ns + ((length_ns - 1) as f64 * at) as u64;
            let column = axes.column(time).expect("it lies in the interval");
            prop_assert!(axes.begin_ns(column) <= time && time < axes.begin_ns(column + 1));
            // What a place keeps of such a run is no wider.
            prop_assert!(observed_ns / axes.width_ns + 2 <= BINS);
        }
    }

    #[test]
    fn a_short_interval_of_a_short_run_has_narrow_columns() {
        let asked = GridQuery {
            from_ns: 10 * UNIT_NS + 5,
            to_ns: 12 * UNIT_NS,
            observed_ns: 12 * UNIT_NS,
            columns_max: 64,
            rows_max: 64,
            ..GridQuery::default()
        };
        let axes = Axes::of(&asked, 8);
        // Five seconds ahead of the run, in 1,022 bins.
        assert_eq!(axes.width_ns, 8 * UNIT_NS);
        assert_eq!((axes.first, axes.columns, axes.block_ranks), (1, 1, 1));
    }

    #[test]
    fn equal_values_are_named_by_the_lowest_rank() {
        let mut cell = GridCell::EMPTY;
        for rank in [2, 0, 1] {
            cell.merge(&GridCell::of(Rank(rank), 7, 10));
        }
        assert_eq!((cell.min, cell.max), ((7, Rank(0)), (7, Rank(0))));
        assert_eq!((cell.ranks, cell.sum, cell.recorded_ns), (3, 21, 30));
    }
}
