//! Answers what the ranks did over time.

use super::local_rank::{Life, LocalRank};
use super::local_ranks::LocalRanks;
use crate::over_time;
use crate::time_point::{LATENCY_NS, Now, TimePoint};
use invivo_analysis::grid;
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::grid::{Axes, CallMetric, Grid, GridQuery, Metric};
use invivo_proto::control::results::RankState;
use invivo_proto::ids::Rank;
use invivo_tbon::job_time::JobClock;

/// The grid of this place's ranks.
pub fn answer(asked: &GridQuery, now: Now, clock: &JobClock, local: &LocalRanks) -> Grid {
    let moment = local.time_point(now, clock);
    let axes = Axes::of(asked, local.layout.app());
    let edges: Vec<u64> = (0..=axes.columns)
        .map(|column| moment.ticks_of(axes.begin_ns(column)))
        .collect();
    let analysis = match asked.metric {
        Metric::OfCalls(metric) => metric.analysis(),
        _ => Analysis::Grid,
    };
    let recorded = recorded(&moment, analysis, local);

    let mut sum = grid::empty(axes);
    for (rank, one) in local.iter() {
        if one.life == Life::Absent {
            continue;
        }
        let columns = match asked.metric {
            Metric::OfCalls(metric) => {
                let at = (&edges[..], &recorded[..]);
                of_rank(rank, one, metric, &axes, at, now, local)
            }
            metric => one.metrics.columns(metric, &axes),
        };
        match columns {
            Some(columns) => grid::add_rank(&mut sum, rank, asked.metric.kind(), columns),
            None => sum.unresolved += 1,
        }
    }
    sum
}

/// Value and recorded time, in ns, of each column; nothing where the rank's bins are wider.
fn of_rank(
    rank: Rank,
    one: &LocalRank,
    metric: CallMetric,
    axes: &Axes,
    (edges, recorded): (&[u64], &[(u64, u64)]),
    now: Now,
    local: &LocalRanks,
) -> Option<Vec<(u64, u64)>> {
    let analyses = &local.feed.analyses;
    let (over_time, pauses) = analyses.over_time(rank);
    let clock = analyses.clock();
    let mut values = over_time.columns(metric, axes, clock)?;

    // Its records may lie in an open packet for so long; and what it does behind the last of them
    // nobody knows.
    let latency = clock.duration_ticks(LATENCY_NS);
    let mut until = over_time.last_end().max(now.ticks.saturating_sub(latency));
    let status = one.records.status(now.ticks, clock);
    // The call that it is in now, which has no record yet.
    let mut open = vec![0; values.len()];
    match one.state(status.state, false) {
        RankState::Finished => until = over_time.last_end(),
        RankState::InMpi if status.since_ns > 0 => {
            let since = clock.duration_ticks(status.since_ns);
            let begin = now.ticks.saturating_sub(since);
            // Between the two lie calls whose records are under way.
            until = until.min(begin);
            open = over_time::recorded(edges, recorded, begin, now.ticks, pauses);
            if matches!(metric, CallMetric::MpiTime | CallMetric::Compute) {
                for (value, ticks) in values.iter_mut().zip(&open) {
                    *value = value.saturating_add(clock.duration_ns(*ticks));
                }
            }
        }
        _ => {}
    }
    let times = over_time::recorded(edges, recorded, 0, until, pauses);
    let times = times.into_iter().zip(open);
    let times = times.map(|(ticks, open)| clock.duration_ns(ticks + open));
    let of_column = |(value, recorded_ns): (u64, u64)| match metric {
        CallMetric::Compute => (recorded_ns.saturating_sub(value), recorded_ns),
        _ => (value, recorded_ns),
    };
    Some(values.into_iter().zip(times).map(of_column).collect())
}

/// The intervals in which calls count here, in ticks: recording is on, the analysis is, and job
/// time is known.
fn recorded(moment: &TimePoint<'_>, analysis: Analysis, local: &LocalRanks) -> Vec<(u64, u64)> {
    let analyses = &local.feed.analyses;
    let Some(since) = analyses.timed_since() else {
        return Vec::new();
    };
    let spans = local.feed.cuts.recorded();
    let mut intervals: Vec<(u64, u64)> = spans
        .map(|(from, to)| (from.max(since), to))
        .filter(|(from, to)| from < to)
        .collect();
    let status = analyses.status(0, moment.job_ns());
    for &(from_ns, to_ns) in &status.of[analysis as usize].gaps.last {
        let off = (
            moment.ticks_of(from_ns),
            match to_ns {
                u64::MAX => u64::MAX,
                to_ns => moment.ticks_of(to_ns),
            },
        );
        intervals = intervals
            .into_iter()
            .flat_map(|on| without(on, off))
            .collect();
    }
    intervals
}

/// What of an interval lies outside of another.
fn without(on: (u64, u64), off: (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    let before = (on.0, on.1.min(off.0));
    let behind = (on.0.max(off.1), on.1);
    [before, behind].into_iter().filter(|(from, to)| from < to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_without_another() {
        let of = |on, off| without(on, off).collect::<Vec<_>>();
        assert_eq!(of((10, 20), (12, 15)), [(10, 12), (15, 20)]);
        assert_eq!(of((10, 20), (0, 15)), [(15, 20)]);
        assert_eq!(of((10, 20), (15, 30)), [(10, 15)]);
        assert_eq!(of((10, 20), (0, 30)), []);
        assert_eq!(of((10, 20), (20, 30)), [(10, 20)]);
    }
}
