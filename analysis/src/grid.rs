//! Merges answers with the axis of time, and adds ranks to one.

use invivo_proto::control::grid::{Axes, Grid, GridCell, GridRow};
use invivo_proto::control::metric::Kind;
use invivo_proto::ids::Rank;

/// Two grids have other axes: they answer different questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherAxes;

/// The grid of nobody with these axes.
pub fn empty(axes: Axes) -> Grid {
    Grid {
        axes,
        ..Grid::default()
    }
}

/// Adds a rank: for each column its value, of this kind, and how long it was recorded, in ns. A
/// column in which it was not recorded does not count.
pub fn add_rank(
    grid: &mut Grid,
    rank: Rank,
    kind: Kind,
    columns: impl IntoIterator<Item = (u64, u64)>,
) {
    let axes = grid.axes;
    let row = grid
        .rows
        .entry(rank.0 / axes.block_ranks.max(1))
        .or_insert_with(|| GridRow::empty(axes.columns));
    let (mut total, mut weighed) = ((0u64, 0u64), 0u128);
    for (cell, (value, recorded_ns)) in row.cells.iter_mut().zip(columns) {
        if recorded_ns > 0 {
            cell.merge(&GridCell::of(rank, value, recorded_ns));
            total.0 = total.0.saturating_add(value);
            total.1 = total.1.saturating_add(recorded_ns);
            // Of as many columns as an answer has, 128 bits hold the sum.
            weighed += u128::from(value) * u128::from(recorded_ns);
        }
    }
    if total.1 > 0 {
        let value = match kind {
            Kind::Accumulated => total.0,
            // A mean of values, so that it is no greater than the greatest.
            Kind::Absolute => ((weighed + u128::from(total.1 / 2)) / u128::from(total.1)) as u64,
        };
        row.total.merge(&GridCell::of(rank, value, total.1));
    }
}

/// Adds the ranks of `from`. The grid of nobody fits every other.
///
/// # Errors
/// When they have other axes; `into` is as it was.
pub fn merge(into: &mut Grid, from: Grid) -> Result<(), OtherAxes> {
    if from == Grid::default() {
        return Ok(());
    }
    if *into == Grid::default() {
        *into = from;
        return Ok(());
    }
    if into.axes != from.axes {
        return Err(OtherAxes);
    }
    into.unresolved = into.unresolved.saturating_add(from.unresolved);
    for (number, other) in from.rows {
        let row = into
            .rows
            .entry(number)
            .or_insert_with(|| GridRow::empty(into.axes.columns));
        // A row that is too long has cells beyond the axes: they lie nowhere.
        for (cell, other) in row.cells.iter_mut().zip(&other.cells) {
            cell.merge(other);
        }
        row.total.merge(&other.total);
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::vec::Vec;
    use invivo_proto::control::grid::{GridQuery, UNIT_NS};
    use proptest::prelude::*;

    /// Columns of all grids here.
    pub const COLUMNS: usize = 5;

    /// The axes of all grids here, for so many ranks.
    pub fn axes(ranks: u32) -> Axes {
        let asked = GridQuery {
            from_ns: 0,
            to_ns: COLUMNS as u64 * 8 * UNIT_NS,
            columns_max: COLUMNS as u32,
            rows_max: 4,
            ..GridQuery::default()
        };
        Axes::of(&asked, ranks)
    }

    /// Values and recorded times of each rank, by column.
    pub fn of_ranks() -> impl Strategy<Value = Vec<Vec<(u64, u64)>>> {
        let recorded = prop_oneof![Just(0u64), 1u64..9];
        let columns = prop::collection::vec((0u64..4, recorded), COLUMNS);
        prop::collection::vec(columns, 1..20)
    }

    /// One cell of some ranks, computed at once.
    fn cell(of: impl Iterator<Item = (u64, u64, u32)>) -> GridCell {
        let recorded: Vec<(u64, u64, u32)> = of.filter(|one| one.1 > 0).collect();
        let least = recorded.iter().min_by_key(|one| (one.0, one.2));
        let most = recorded
            .iter()
            .max_by_key(|one| (one.0, core::cmp::Reverse(one.2)));
        let Some((least, most)) = least.zip(most) else {
            return GridCell::EMPTY;
        };
        GridCell {
            ranks: recorded.len() as u32,
            recorded_ns: recorded.iter().map(|one| one.1).sum(),
            sum: recorded.iter().map(|one| one.0).sum(),
            min: (least.0, Rank(least.2)),
            max: (most.0, Rank(most.2)),
        }
    }

    /// Everything computed at once.
    fn naive(all: &[Vec<(u64, u64)>], axes: Axes) -> Grid {
        let mut grid = empty(axes);
        let rows = (all.len() as u32).div_ceil(axes.block_ranks);
        for row in 0..rows {
            let ranks = (0..all.len() as u32).filter(|rank| rank / axes.block_ranks == row);
            let in_column = |column: usize| {
                cell(ranks.clone().map(move |rank| {
                    let (value, recorded_ns) = all[rank as usize][column];
                    (value, recorded_ns, rank)
                }))
            };
            let total = cell(ranks.clone().map(|rank| {
                let columns = all[rank as usize].iter().filter(|one| one.1 > 0);
                let (values, recorded): (Vec<u64>, Vec<u64>) = columns.copied().unzip();
                (values.iter().sum(), recorded.iter().sum(), rank)
            }));
            let cells = (0..COLUMNS).map(in_column).collect();
            grid.rows.insert(row, GridRow { cells, total });
        }
        grid
    }

    proptest! {
        #[test]
        fn adding_ranks_equals_a_flat_computation(all in of_ranks()) {
            let axes = axes(all.len() as u32);
            let mut grid = empty(axes);
            for (rank, columns) in all.iter().enumerate() {
                let columns = columns.iter().copied();
                add_rank(&mut grid, Rank(rank as u32), Kind::Accumulated, columns);
            }
            prop_assert_eq!(grid, naive(&all, axes));
        }
    }

    /// Memory of 10 for 2 ns and of 40 for 1 ns is 20 in the mean.
    #[test]
    fn all_columns_of_an_absolute_metric_have_its_mean() {
        let mut grid = empty(axes(1));
        let columns = [(10, 2), (40, 1), (99, 0)];
        add_rank(&mut grid, Rank(0), Kind::Absolute, columns);
        let total = &grid.rows[&0].total;
        assert_eq!((total.sum, total.max.0, total.recorded_ns), (20, 20, 3));
    }

    #[test]
    fn grids_of_other_axes_do_not_mix() {
        let mut into = empty(axes(8));
        let before = into.clone();
        let other = Axes {
            first: 1,
            ..axes(8)
        };
        assert_eq!(merge(&mut into, empty(other)), Err(OtherAxes));
        assert_eq!(into, before);
    }
}
