//! Examples of what is measured.

use invivo_proto::control::metrics::*;
use invivo_proto::control::named_ranks::NamedRanks;
use invivo_proto::ids::Rank;

fn name(text: &str) -> ProgramName {
    ProgramName::new(text.as_bytes()).expect("a name")
}

/// What is to be measured.
pub fn measured() -> Measured {
    Measured {
        set: MetricSet::of(SystemMetric::PageFaults).with(MetricSet::PROGRAM),
        interval_ns: 100_000_000,
    }
}

/// A reading of it.
pub fn reading() -> Reading {
    Reading {
        measuring: 3,
        at_ns: 5_000_000_000,
        cost_ns: 70_000,
        unseen: 44,
        system: vec![(SystemMetric::PageFaults, 1234)],
        program: vec![
            (Metric::Counter(name("steps")), 40),
            (Metric::Value(name("cells")), 5000),
        ],
    }
}

/// Why a metric is not measured.
pub fn without() -> Vec<(SystemMetric, NoMetric)> {
    vec![
        (SystemMetric::Cycles, NoMetric::Unsupported),
        (
            SystemMetric::CpuMigrations,
            NoMetric::Forbidden { paranoid: 3 },
        ),
        (SystemMetric::ReadBytes, NoMetric::Unreadable),
        (SystemMetric::Branches, NoMetric::NoRoom),
        (SystemMetric::CpuTime, NoMetric::Starting),
        (SystemMetric::RunDelay, NoMetric::Ended),
        (SystemMetric::MajorFaults, NoMetric::Silent),
    ]
}

/// What is measured of the ranks.
pub fn metrics_status() -> MetricsStatus {
    let of = |now, kept| MetricStatus {
        now,
        kept,
        ..MetricStatus::default()
    };
    let cannot = without().into_iter().map(|(metric, why)| {
        let without = [(why, NamedRanks::of(Rank(3)))].into();
        let of = MetricStatus {
            without,
            ..MetricStatus::default()
        };
        (Metric::System(metric), of)
    });
    let can = [
        (Metric::System(SystemMetric::PageFaults), of(3, 4)),
        (Metric::Counter(name("steps")), of(2, 2)),
        (Metric::Value(name("cells")), of(0, 1)),
    ];
    MetricsStatus {
        ranks: 4,
        measured: 3,
        program: 2,
        interval_ns: (10_000_000, 100_000_000),
        readings: 77,
        cost_ns: 5_000_000,
        unseen: 44,
        metrics: can.into_iter().chain(cannot).collect(),
        more: true,
    }
}
