//! Converts questions and answers with the axis of time.

use crate::v1;
use invivo_proto::control::grid::{CallMetric, Grid, GridCell, GridQuery, GridRow, Metric};
use invivo_proto::control::metrics::{Kind, UnknownMetric};
use invivo_proto::control::profile::Past;
use invivo_proto::control::results::JobStatus;
use std::ops::Range;

/// What a request is about, in job time; `columns_max` and `rows_max` as the gateway allows them.
///
/// # Errors
/// What is wrong with it.
pub fn query(
    asked: &v1::GridRequest,
    status: &JobStatus,
    (columns_max, rows_max): (u32, u32),
) -> Result<GridQuery, String> {
    let metric = match asked.metric.as_str() {
        "" => Metric::default(),
        name => name
            .parse()
            .map_err(|why: UnknownMetric| format!("metric: {name:?}: {why}"))?,
    };
    let asked_ns = (asked.from_ns, asked.to_ns, asked.last_ns);
    let interval = interval(asked_ns, status)?;
    Ok(GridQuery {
        metric,
        from_ns: interval.start,
        to_ns: interval.end,
        observed_ns: status.observed_ns,
        columns_max,
        rows_max,
    })
}

/// An interval in job time, as requests say it: begin and end since the beginning of the observed
/// time, where an end of 0 is now; or the length of the time up to now, if that is not 0.
///
/// # Errors
/// When it is empty.
pub fn interval(
    (from_ns, to_ns, last_ns): (u64, u64, u64),
    status: &JobStatus,
) -> Result<Range<u64>, String> {
    let now_ns = status.recording.now_ns;
    let begin_ns = begin_ns(status);
    let interval = match (last_ns, to_ns) {
        (0, 0) => begin_ns.saturating_add(from_ns)..now_ns,
        (0, to_ns) => begin_ns.saturating_add(from_ns)..begin_ns.saturating_add(to_ns),
        (last_ns, _) => now_ns.saturating_sub(last_ns).max(begin_ns)..now_ns,
    };
    if interval.is_empty() {
        let from_s = from_ns as f64 / 1e9;
        return Err(format!(
            "the interval from {from_s} s on is empty: the job has been observed for {:.1} s",
            status.observed_ns as f64 / 1e9
        ));
    }
    Ok(interval)
}

/// The interval that a table is of, since the beginning of the observed time.
pub fn table_interval(of: Past, begin_ns: u64) -> v1::TableInterval {
    v1::TableInterval {
        from_ns: of.from_ns.saturating_sub(begin_ns),
        to_ns: of.to_ns.saturating_sub(begin_ns),
    }
}

/// When the observed time begins, in job time.
pub fn begin_ns(status: &JobStatus) -> u64 {
    status.recording.now_ns.saturating_sub(status.observed_ns)
}

/// The answer, but for its coverage and analysis.
pub fn reply(grid: &Grid, metric: Metric, status: &JobStatus, ranks: u32) -> v1::GridReply {
    let axes = &grid.axes;
    let from_ns = i128::from(axes.begin_ns(0)) - i128::from(begin_ns(status));
    let row = |(&row, of): (&u32, &GridRow)| v1::GridRow {
        row,
        cells: of.cells.iter().map(cell).collect(),
        total: Some(cell(&of.total)),
    };
    let is_computing = metric == Metric::OfCalls(CallMetric::Compute);
    let of_column = |column: u32| {
        let cells = grid.rows.values();
        let cells = cells.filter_map(|row| row.cells.get(column as usize));
        let efficiency = Some(efficiency(cells)?);
        Some(v1::ColumnEfficiency { column, efficiency })
    };
    let columns = if is_computing { 0..axes.columns } else { 0..0 };
    let total = || efficiency(grid.rows.values().map(|row| &row.total));
    v1::GridReply {
        metric: metric.to_string(),
        unit: metric.unit().to_owned(),
        ranks,
        block_ranks: axes.block_ranks,
        from_ns: from_ns.try_into().unwrap_or(i64::MAX),
        width_ns: axes.width_ns,
        columns: axes.columns,
        rows: grid.rows.iter().map(row).collect(),
        ranks_unresolved: grid.unresolved,
        clock_error_ns: status.recording.clock_error_ns,
        observed_ns: status.observed_ns,
        begin_ns: begin_ns(status),
        efficiency: is_computing.then(total).flatten(),
        efficiencies: columns.filter_map(of_column).collect(),
        coverage: None,
        analysis: None,
        absolute: metric.kind() == Kind::Absolute,
    }
}

/// Of cells that tell how long their ranks computed; nothing where nothing was recorded.
fn efficiency<'a>(cells: impl Iterator<Item = &'a GridCell>) -> Option<v1::Efficiency> {
    let mut all = GridCell::EMPTY;
    cells.for_each(|cell| all.merge(cell));
    if all.recorded_ns == 0 {
        return None;
    }
    let ranks = f64::from(all.ranks);
    let (mean, longest) = (all.sum as f64 / ranks, all.max.0 as f64);
    let elapsed = all.recorded_ns as f64 / ranks;
    Some(v1::Efficiency {
        parallel_efficiency: mean / elapsed,
        // Of ranks that did not compute at all the load is balanced.
        load_balance: if longest > 0.0 { mean / longest } else { 1.0 },
        communication_efficiency: longest / elapsed,
        max_rank: all.max.1.0,
        min_rank: all.min.1.0,
        ranks: all.ranks,
    })
}

/// Of no ranks all is 0.
fn cell(cell: &GridCell) -> v1::GridCell {
    if cell.ranks == 0 {
        return v1::GridCell::default();
    }
    v1::GridCell {
        ranks: cell.ranks,
        recorded_ns: cell.recorded_ns,
        sum: cell.sum,
        min: cell.min.0,
        min_rank: cell.min.1.0,
        max: cell.max.0,
        max_rank: cell.max.1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::grid::Axes;
    use invivo_proto::control::results::RecordingStatus;
    use invivo_proto::ids::Rank;

    const S: u64 = 1_000_000_000;

    /// Observed for 30 s; the root's node has been up for 100 s.
    fn status() -> JobStatus {
        JobStatus {
            observed_ns: 30 * S,
            recording: RecordingStatus {
                now_ns: 100 * S,
                clock_error_ns: 7,
                ..RecordingStatus::default()
            },
            ..JobStatus::default()
        }
    }

    #[test]
    fn intervals_count_from_the_beginning_of_the_observed_time() {
        let of = |from_ns, to_ns, last_ns| {
            let asked = v1::GridRequest {
                from_ns,
                to_ns,
                last_ns,
                ..v1::GridRequest::default()
            };
            query(&asked, &status(), (64, 32)).map(|query| (query.from_ns / S, query.to_ns / S))
        };
        assert_eq!(of(0, 0, 0), Ok((70, 100)));
        assert_eq!(of(5 * S, 10 * S, 0), Ok((75, 80)));
        assert_eq!(of(0, 0, 10 * S), Ok((90, 100)));
        // No further back than there is anything.
        assert_eq!(of(0, 0, 60 * S), Ok((70, 100)));
        let refused = of(40 * S, 0, 0).expect_err("not yet");
        assert!(refused.contains("30.0 s"), "{refused}");
    }

    #[test]
    fn an_unknown_metric_is_refused_with_the_names() {
        let asked = v1::GridRequest {
            metric: "waits".into(),
            ..v1::GridRequest::default()
        };
        let refused = query(&asked, &status(), (64, 32)).expect_err("no metric");
        assert!(
            refused.contains("mpi, compute, calls, bytes, waiting, cpu-time, "),
            "{refused}"
        );
    }

    #[test]
    fn a_column_that_begins_before_the_observed_time_is_negative() {
        let grid = Grid {
            axes: Axes {
                width_ns: 1 << 30,
                first: 65,
                columns: 2,
                block_ranks: 1,
            },
            rows: [(
                0,
                GridRow {
                    cells: vec![GridCell::EMPTY, GridCell::of(Rank(3), 8, S)],
                    total: GridCell::of(Rank(3), 8, S),
                },
            )]
            .into(),
            unresolved: 0,
        };
        let reply = reply(&grid, Metric::OfCalls(CallMetric::Calls), &status(), 4);
        assert_eq!(reply.from_ns, (65i64 << 30) - 70_000_000_000);
        let [empty, one] = &reply.rows[0].cells[..] else {
            panic!("two columns")
        };
        assert_eq!(*empty, v1::GridCell::default());
        assert_eq!((one.ranks, one.max, one.max_rank), (1, 8, 3));
        assert_eq!((reply.unit.as_str(), reply.clock_error_ns), ("calls", 7));
        assert!(reply.efficiency.is_none() && reply.efficiencies.is_empty());
    }

    /// Ranks that compute for 1, 3, 5 and 7 parts of 7: 4/7 in the mean.
    #[test]
    fn efficiencies_are_pops() {
        let mut row = GridRow::empty(2);
        for rank in 0..4 {
            let one = GridCell::of(Rank(rank), (1 + 2 * u64::from(rank)) * S, 7 * S);
            row.cells[1].merge(&one);
            row.total.merge(&one);
        }
        let grid = Grid {
            axes: Axes {
                width_ns: 1 << 33,
                first: 8,
                columns: 2,
                block_ranks: 4,
            },
            rows: [(0, row)].into(),
            unresolved: 0,
        };
        let reply = reply(&grid, Metric::OfCalls(CallMetric::Compute), &status(), 4);
        let of = reply.efficiency.expect("recorded");
        let near = |told: f64, expected: f64| (told - expected).abs() < 1e-9;
        assert!(near(of.parallel_efficiency, 4.0 / 7.0), "{of:?}");
        assert!(near(of.load_balance, 4.0 / 7.0), "{of:?}");
        assert!(near(of.communication_efficiency, 1.0), "{of:?}");
        assert_eq!((of.max_rank, of.min_rank, of.ranks), (3, 0, 4));
        // Nothing was recorded in the first column.
        let columns: Vec<u32> = reply.efficiencies.iter().map(|one| one.column).collect();
        assert_eq!(columns, [1]);
        assert_eq!(reply.efficiencies[0].efficiency, Some(of));
    }
}
