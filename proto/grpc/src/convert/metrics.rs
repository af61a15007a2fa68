//! Converts what is measured to its message for clients.

use super::stacks::which;
use crate::v1;
use invivo_proto::control::metrics::{Kind, Metric, MetricStatus, MetricsStatus, NoMetric};
use invivo_proto::control::named_ranks::NamedRanks;

pub fn reply(status: &MetricsStatus, coverage: v1::Coverage) -> v1::MetricsReply {
    let metrics = status.metrics.iter();
    v1::MetricsReply {
        coverage: Some(coverage),
        ranks: status.ranks,
        ranks_measured: status.measured,
        interval_min_ns: status.interval_ns.0,
        interval_max_ns: status.interval_ns.1,
        readings: status.readings,
        cost_ns: status.cost_ns,
        metrics: metrics.map(|(metric, of)| one(*metric, of)).collect(),
        more: status.more,
        ranks_program: status.program,
        threads_unseen: status.unseen,
    }
}

fn one(metric: Metric, of: &MetricStatus) -> v1::MetricStatus {
    let tells = match metric {
        Metric::System(metric) => metric.facts().tells,
        _ => "",
    };
    let without = of.without.iter();
    v1::MetricStatus {
        name: metric.to_string(),
        unit: metric.unit().to_owned(),
        absolute: metric.kind() == Kind::Absolute,
        tells: tells.to_owned(),
        ranks_now: of.now,
        ranks_kept: of.kept,
        without: without.map(|(why, of)| self::without(*why, of)).collect(),
    }
}

fn without(why: NoMetric, of: &NamedRanks) -> v1::MetricWithout {
    let (reason, paranoid) = match why {
        NoMetric::Unsupported => ("unsupported", 0),
        NoMetric::Forbidden { paranoid } => ("forbidden", paranoid),
        NoMetric::Unreadable => ("unreadable", 0),
        NoMetric::NoRoom => ("no room", 0),
        NoMetric::Starting => ("starting", 0),
        NoMetric::Ended => ("ended", 0),
        NoMetric::Silent => ("silent", 0),
    };
    v1::MetricWithout {
        reason: reason.to_owned(),
        ranks: of.ranks,
        which: which(&of.named, of.ranks),
        paranoid: paranoid.into(),
    }
}
