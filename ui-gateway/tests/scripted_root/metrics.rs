//! Known metrics: what is measured, and its values over time.

use invivo_proto::control::grid::{Axes, Grid, GridCell, GridQuery, GridRow};
use invivo_proto::control::metrics::{
    Metric, MetricStatus, MetricsStatus, NoMetric, ProgramName, SystemMetric,
};
use invivo_proto::control::named_ranks::NamedRanks;
use invivo_proto::ids::Rank;

const S: u64 = 1_000_000_000;

/// Page faults and what the program counts are measured, memory was; no cycles here, and rank 3
/// may not count migrations.
pub fn metrics() -> MetricsStatus {
    let status = |now, kept| MetricStatus {
        now,
        kept,
        ..MetricStatus::default()
    };
    let without = |why, ranks: &[u32]| {
        let named = NamedRanks {
            ranks: ranks.len() as u32,
            named: ranks.iter().copied().map(Rank).collect(),
        };
        MetricStatus {
            without: [(why, named)].into(),
            ..MetricStatus::default()
        }
    };
    let all = SystemMetric::ALL.map(|metric| (Metric::System(metric), status(0, 0)));
    let mut status_of = MetricsStatus {
        ranks: 4,
        measured: 4,
        program: 4,
        interval_ns: (S / 20, S / 10),
        readings: 400,
        cost_ns: 8_000_000,
        unseen: 44,
        metrics: all.into(),
        more: true,
    };
    let steps = ProgramName::new(b"steps").expect("a name");
    let forbidden = NoMetric::Forbidden { paranoid: 3 };
    status_of.metrics.extend([
        (Metric::System(SystemMetric::PageFaults), status(4, 4)),
        (Metric::System(SystemMetric::ResidentMemory), status(0, 3)),
        (
            Metric::System(SystemMetric::Cycles),
            without(NoMetric::Unsupported, &[0, 1, 2, 3]),
        ),
        (
            Metric::System(SystemMetric::CpuMigrations),
            without(forbidden, &[3]),
        ),
        (Metric::Counter(steps), status(4, 4)),
    ]);
    status_of
}

/// Of a metric that has values, rank r has 100 (r + 1) in a second; nothing of others.
pub fn grid(query: &GridQuery) -> Grid {
    let axes = Axes::of(query, 4);
    let status = metrics().metrics.remove(&query.metric).unwrap_or_default();
    let mut grid = Grid {
        axes,
        ..Grid::default()
    };
    for rank in 0..status.kept {
        let row = grid.rows.entry(rank / axes.block_ranks);
        let row = row.or_insert_with(|| GridRow::empty(axes.columns));
        let cell = GridCell::of(Rank(rank), 100 * u64::from(rank + 1), S);
        row.cells[0].merge(&cell);
        row.total.merge(&cell);
    }
    grid
}
