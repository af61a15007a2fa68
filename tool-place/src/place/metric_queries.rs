//! Answers what is measured of the ranks and what could be: their supervisors try each metric once.
//!
//! What a machine can measure does not change while a job runs, so that it is asked when somebody
//! wants to know it, and then known; but for reasons that pass.

use super::local_rank::{Life, LocalRank};
use super::local_ranks::LocalRanks;
use crate::time_point::Now;
use invivo_proto::control::local::ToSupervisor;
use invivo_proto::control::metrics::{
    METRICS_MAX, Metric, MetricsStatus, NoMetric, SYSTEM_METRICS, SystemMetric,
};
use invivo_proto::control::named_ranks::NamedRanks;
use invivo_proto::control::tree::{Partial, Up};
use invivo_proto::ids::{Rank, WaveId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// How long supervisors may take: well below what a wave may.
const PATIENCE_NS: u64 = 750_000_000;

/// What is known of what can be measured, and questions that wait for the rest.
#[derive(Default)]
pub struct MetricQueries {
    last: u32,
    /// What cannot be measured of each rank that has said it.
    tried: BTreeMap<Rank, Vec<(SystemMetric, NoMetric)>>,
    awaited: BTreeSet<Rank>,
    waiting: Vec<(WaveId, u64)>,
}

impl MetricQueries {
    /// Begins to answer what is measured. What can be answered now comes by
    /// [`MetricQueries::due`].
    pub fn begin(&mut self, now: Now, wave: WaveId, local: &mut LocalRanks) {
        self.last = self.last.wrapping_add(1);
        let trying = self.last;
        for rank in local.numbers() {
            if !self.tried.contains_key(&rank)
                && local.tell(rank, &ToSupervisor::TryMetrics { trying })
            {
                self.awaited.insert(rank);
            }
        }
        self.waiting.push((wave, now.ns));
    }

    /// A supervisor has tried what can be measured of its rank.
    pub fn tried(&mut self, rank: Rank, mut without: Vec<(SystemMetric, NoMetric)>) {
        if self.awaited.remove(&rank) {
            without.truncate(SYSTEM_METRICS);
            self.tried.insert(rank, without);
        }
    }

    /// Forgets answers with reasons that may pass: they are asked for again.
    fn forget_passing(&mut self) {
        let lasts = |why: NoMetric| match why {
            NoMetric::Unsupported | NoMetric::Forbidden { .. } | NoMetric::Unreadable => true,
            NoMetric::NoRoom | NoMetric::Starting | NoMetric::Ended | NoMetric::Silent => false,
        };
        self.tried
            .retain(|_, without| without.iter().all(|(_, why)| lasts(*why)));
    }

    /// A rank has no supervisor any more: nothing comes of it.
    pub fn lost(&mut self, rank: Rank) {
        self.awaited.remove(&rank);
        self.tried.remove(&rank);
    }

    /// Answers what is complete or has waited for long enough.
    pub fn due(&mut self, now: Now, local: &LocalRanks) -> Vec<Up> {
        let is_complete = self.awaited.is_empty();
        let is_due = |begun_ns: u64| is_complete || now.ns.saturating_sub(begun_ns) >= PATIENCE_NS;
        if !self.waiting.iter().any(|(_, begun_ns)| is_due(*begun_ns)) {
            return Vec::new();
        }
        // One that is silent is asked again with the next question.
        self.awaited.clear();
        let status = self.status(local);
        self.forget_passing();
        let coverage = local.coverage(now);
        let waiting = self.waiting.drain(..);
        waiting
            .map(|(wave, _)| Up::Partial {
                wave,
                partial: Partial::Metrics(Box::new(status.clone())),
                coverage,
                missing: Vec::new(),
            })
            .collect()
    }

    fn status(&self, local: &LocalRanks) -> MetricsStatus {
        let mut sum = MetricsStatus::default();
        for (rank, one) in local.iter() {
            sum.merge(self.of_rank(rank, one));
        }
        sum
    }

    fn of_rank(&self, rank: Rank, one: &LocalRank) -> MetricsStatus {
        let series = &one.metrics;
        let in_force = series.in_force;
        let is_measured = !in_force.set.is_empty() && one.life == Life::Alive;
        let interval_ns = if is_measured { in_force.interval_ns } else { 0 };
        let (readings, cost_ns) = series.readings();
        let lost = one.memory().map(|memory| {
            let lost = &memory.page().program_metrics_lost;
            lost.load(Ordering::Relaxed) > 0
        });
        let mut status = MetricsStatus {
            ranks: 1,
            measured: is_measured.into(),
            program: (is_measured && in_force.set.has_program()).into(),
            interval_ns: (interval_ns, interval_ns),
            readings,
            cost_ns,
            unseen: if is_measured {
                series.unseen().into()
            } else {
                0
            },
            more: lost.unwrap_or(false),
            ..MetricsStatus::default()
        };
        for metric in SystemMetric::ALL {
            let of = status.metrics.entry(Metric::System(metric)).or_default();
            of.now = (is_measured && in_force.set.contains(metric)).into();
            if let Some(why) = self.why_without(rank, one, metric) {
                of.without.insert(why, NamedRanks::of(rank));
            }
        }
        for metric in series.of_program_now().filter(|_| is_measured) {
            status.metrics.entry(metric).or_default().now = 1;
        }
        for metric in series.kept() {
            status.metrics.entry(metric).or_default().kept = 1;
        }
        debug_assert!(status.metrics.len() <= METRICS_MAX);
        status
    }

    fn why_without(&self, rank: Rank, one: &LocalRank, metric: SystemMetric) -> Option<NoMetric> {
        match (self.tried.get(&rank), one.life) {
            (_, Life::Absent) => Some(NoMetric::Starting),
            (_, Life::Ending | Life::Finished) => Some(NoMetric::Ended),
            (Some(without), Life::Alive) => without
                .iter()
                .find(|(other, _)| *other == metric)
                .map(|(_, why)| *why),
            (None, Life::Alive) => Some(NoMetric::Silent),
        }
    }
}
