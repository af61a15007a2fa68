//! What metrics have of one rank, or of a rank in the mean of all, over the time that is looked at.

use invivo_grpc::v1::{GridCell, GridReply, GridRow};

/// What the grid calls time outside MPI.
pub const COMPUTE: &str = "compute";
/// Metrics that lack more than this part of the time are not known.
const MISSING: f64 = 0.1;

/// Whose values are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those of this rank.
    Rank(u32),
    /// The mean of all ranks.
    All,
}

/// A value over the whole time.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub value: f64,
    /// For how long it may not have been measured, in ns.
    pub missing_ns: f64,
    /// How long the time is.
    pub span_ns: f64,
}

impl Known {
    pub fn per_second(self) -> f64 {
        self.value / (self.span_ns - self.missing_ns) * 1e9
    }
}

/// Grids over one time.
pub(super) struct Measured<'a> {
    grids: Vec<&'a GridReply>,
    whose: Whose,
}

impl<'a> Measured<'a> {
    /// Of grids over the same time as that of computing; others do not count.
    pub fn new(grids: &'a [GridReply], whose: Whose) -> Option<Measured<'a>> {
        let columns = |grid: &GridReply| {
            let begin = i128::from(grid.begin_ns) + i128::from(grid.from_ns);
            (begin, grid.width_ns, grid.columns)
        };
        let time = columns(grids.iter().find(|grid| grid.metric == COMPUTE)?);
        let grids = grids.iter().filter(|grid| columns(grid) == time).collect();
        Some(Measured { grids, whose })
    }

    /// A metric over the whole time; nothing where it may be another rank's, or too much of the
    /// time is missing.
    pub fn of(&self, metric: &str) -> Option<Known> {
        let grid = self.grid(metric)?;
        let sum = sum(grid, self.whose, |row| row.total)?;
        // The last column may end behind now.
        let until_now = i128::from(grid.observed_ns) - i128::from(grid.from_ns);
        let span_ns = (f64::from(grid.columns) * grid.width_ns as f64).min(until_now as f64);
        // Of ranks that share a row it may all be this one's.
        let recorded_ns = sum.recorded_ns as f64;
        let missing_ns = (f64::from(sum.ranks) * span_ns - recorded_ns).max(0.0) / sum.of;
        (missing_ns <= MISSING * span_ns).then_some(Known {
            value: sum.value as f64 / sum.of,
            missing_ns,
            span_ns,
        })
    }

    /// What a metric is in a column that is not of many: in a tenth of all at least as much.
    pub fn most(&self, metric: &str) -> Option<f64> {
        let grid = self.grid(metric)?;
        often(
            self.columns(grid, self.whose)
                .collect::<Option<Vec<f64>>>()?,
        )
    }

    /// The same in the mean of all other ranks.
    pub fn most_of_others(&self, metric: &str) -> Option<f64> {
        let grid = self.grid(metric)?;
        let others = f64::from(grid.ranks.checked_sub(1).filter(|others| *others > 0)?);
        let all = self.columns(grid, Whose::All);
        let own = self.columns(grid, self.whose);
        let values = all.zip(own).map(|(all, own)| {
            let all = all? * f64::from(grid.ranks);
            Some((all - own?) / others)
        });
        often(values.collect::<Option<Vec<f64>>>()?)
    }

    /// The values in all columns that have some; nothing for one that may be another rank's, or
    /// where a rank is missing.
    fn columns(&self, grid: &'a GridReply, whose: Whose) -> impl Iterator<Item = Option<f64>> {
        let columns = 0..grid.columns as usize;
        let cells = move |column: usize| move |row: &GridRow| row.cells.get(column).copied();
        let is_there = move |column: &usize| {
            let known = grid.rows.iter().filter_map(cells(*column));
            known.map(|cell| cell.ranks).sum::<u32>() > 0
        };
        columns.filter(is_there).map(move |column| {
            let sum = sum(grid, whose, cells(column))?;
            Some(sum.value as f64 / sum.of)
        })
    }

    fn grid(&self, metric: &str) -> Option<&'a GridReply> {
        let mut grids = self.grids.iter();
        grids.find(|grid| grid.metric == metric).copied()
    }
}

/// What a tenth of these are at least.
fn often(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(|a, b| b.total_cmp(a));
    values.get(values.len() / 10).copied()
}

/// What some cells have.
struct Sum {
    value: u64,
    /// Ranks that it is the sum of.
    of: f64,
    /// Ranks of the cells, which share what was recorded.
    ranks: u32,
    recorded_ns: u64,
}

/// Of one cell of each row that counts; nothing where a rank is missing.
fn sum(grid: &GridReply, whose: Whose, cell: impl Fn(&GridRow) -> Option<GridCell>) -> Option<Sum> {
    match whose {
        Whose::Rank(rank) => {
            let number = rank.checked_div(grid.block_ranks)?;
            let row = grid.rows.iter().find(|row| row.row == number)?;
            let cell = cell(row).filter(|cell| cell.ranks > 0)?;
            Some(Sum {
                value: value(&cell, rank)?,
                of: 1.0,
                ranks: cell.ranks,
                recorded_ns: cell.recorded_ns,
            })
        }
        Whose::All => {
            let cells = || grid.rows.iter().filter_map(&cell);
            let ranks: u32 = cells().map(|cell| cell.ranks).sum();
            (ranks > 0 && ranks == grid.ranks).then(|| Sum {
                value: cells().map(|cell| cell.sum).sum(),
                of: ranks.into(),
                ranks,
                recorded_ns: cells().map(|cell| cell.recorded_ns).sum(),
            })
        }
    }
}

/// The value of a rank in a cell that is of some ranks.
fn value(cell: &GridCell, rank: u32) -> Option<u64> {
    match (cell.max_rank == rank, cell.min_rank == rank) {
        (true, _) => Some(cell.max),
        (false, true) => Some(cell.min),
        (false, false) => None,
    }
}
