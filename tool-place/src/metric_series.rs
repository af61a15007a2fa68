//! What is measured of one rank, over time: readings become bins of job time, in memory that does
//! not grow with the run.
//!
//! Between two readings nobody knows when something was added: it is spread evenly over the time
//! between them, but for pauses. What a metric was at the two is taken as their mean, but where the
//! second one tells of the time between them by itself.

use crate::time_point::TimePoint;
use invivo_analysis::pauses::Pauses;
use invivo_otfx::{Cell, Pyramid};
use invivo_proto::control::grid::{Axes, BINS, UNIT_NS};
use invivo_proto::control::metrics::{
    Kind, Measured, Metric, PROGRAM_METRICS_MAX, Reading, SYSTEM_METRICS,
};
use std::collections::BTreeMap;

/// Metrics of a rank that are kept, each in 48 KiB: all that there can be.
const SERIES_MAX: usize = SYSTEM_METRICS + PROGRAM_METRICS_MAX;

/// What was measured of a rank.
#[derive(Debug, Default)]
pub struct MetricSeries {
    /// What its supervisor measures now.
    pub in_force: Measured,
    last: Option<Last>,
    /// Nothing before counts, in job time.
    since_ns: u64,
    readings: u64,
    cost_ns: u64,
    unseen: u32,
    series: BTreeMap<Metric, Pyramid>,
}

/// The last reading.
#[derive(Debug)]
struct Last {
    measuring: u32,
    /// When, in job time.
    job_ns: u64,
    values: BTreeMap<Metric, u64>,
}

/// From when to when something was measured, in job time.
#[derive(Clone, Copy)]
struct Span {
    from_ns: u64,
    to_ns: u64,
}

impl MetricSeries {
    /// A reading has come; `moment` knows the clocks.
    pub fn add(&mut self, reading: &Reading, moment: &TimePoint<'_>, pauses: &Pauses) {
        self.readings += 1;
        self.cost_ns = self.cost_ns.max(reading.cost_ns);
        self.unseen = reading.unseen;
        // Until job time is known the node's is taken for it, which may lie days away.
        if !moment.is_known() {
            self.last = None;
            return;
        }
        let system = reading.system.iter();
        let system = system.map(|&(metric, value)| (Metric::System(metric), value));
        let program = reading.program.iter().copied();
        let program =
            program.filter(|(metric, _)| matches!(metric, Metric::Counter(_) | Metric::Value(_)));
        let now = Last {
            measuring: reading.measuring,
            job_ns: moment.job_at(reading.at_ns),
            values: system.chain(program.take(PROGRAM_METRICS_MAX)).collect(),
        };
        let is_same = |last: &Last| last.measuring == now.measuring;
        if let Some(before) = self.last.take_if(|last| is_same(last)) {
            // Where job time stepped back as it became known better, the next reading has it all.
            if now.job_ns <= before.job_ns {
                self.last = Some(before);
                return;
            }
            let span = Span {
                from_ns: before.job_ns,
                to_ns: now.job_ns,
            };
            let parts = self.parts(span, moment, pauses);
            for (metric, &value) in &now.values {
                let was = before.values.get(metric).copied();
                // A program's counter that was not there yet had counted nothing.
                let was = was.or(matches!(metric, Metric::Counter(_)).then_some(0));
                // What it sets is there from some time between the two on.
                let was = was.or(matches!(metric, Metric::Value(_)).then_some(value));
                if let Some(was) = was {
                    self.spread(*metric, was, value, &parts);
                }
            }
        }
        self.last = Some(now);
    }

    /// Parts of a span of time that lie in one bin each, however wide that is: when each begins, in
    /// job time, and how much of it was not paused, in ns. First what does not count.
    fn parts(&self, span: Span, moment: &TimePoint<'_>, pauses: &Pauses) -> Parts {
        let net = |from_ns: u64, to_ns: u64| {
            let ticks = pauses
                .net(moment.ticks_of(from_ns), moment.ticks_of(to_ns))
                .ticks;
            moment.node().duration_ns(ticks)
        };
        let from_ns = self.since_ns.clamp(span.from_ns, span.to_ns);
        let width_ns = bin_width(from_ns, span.to_ns);
        let mut parts = Vec::new();
        let mut at = from_ns;
        while at < span.to_ns {
            let end = (at / width_ns)
                .saturating_add(1)
                .saturating_mul(width_ns)
                .min(span.to_ns);
            parts.push((at, net(at, end)));
            at = end;
        }
        Parts {
            skipped_ns: net(span.from_ns, from_ns),
            counted: parts,
        }
    }

    fn spread(&mut self, metric: Metric, was: u64, value: u64, parts: &Parts) {
        if self.series.len() >= SERIES_MAX && !self.series.contains_key(&metric) {
            return;
        }
        let series = self.series.entry(metric);
        let series = series.or_insert_with(|| Pyramid::new(BINS as usize, UNIT_NS));
        let counted = parts.counted.iter().map(|(_, net_ns)| net_ns).sum::<u64>();
        let all = u128::from(parts.skipped_ns + counted).max(1);
        let added = u128::from(value.saturating_sub(was));
        // By how much it has grown at a point of the span: differences of these lose nothing.
        let grown = |net_ns: u64| added * u128::from(net_ns) / all;
        let mean = match metric.is_of_time_before() {
            true => value.into(),
            false => (u128::from(was) + u128::from(value)) / 2,
        };
        let mut before = parts.skipped_ns;
        for &(begin_ns, net_ns) in &parts.counted {
            let behind = before + net_ns;
            let sum = match metric.kind() {
                Kind::Accumulated => grown(behind) - grown(before),
                Kind::Absolute => mean * u128::from(net_ns),
            };
            // The count is the time.
            let cell = Cell {
                count: net_ns,
                sum,
                ..Cell::EMPTY
            };
            series.add_cell(begin_ns, &cell);
            before = behind;
        }
    }

    /// Everything before this job time is discarded.
    pub fn reset(&mut self, at_ns: u64) {
        self.since_ns = self.since_ns.max(at_ns);
        self.series.clear();
    }

    /// The metrics of which there are values.
    pub fn kept(&self) -> impl Iterator<Item = Metric> {
        self.series.keys().copied()
    }

    /// What the program keeps of what is measured now.
    pub fn of_program_now(&self) -> impl Iterator<Item = Metric> {
        let has_program = self.in_force.set.has_program();
        let last = self.last.iter().filter(move |_| has_program);
        let metrics = last.flat_map(|last| last.values.keys().copied());
        metrics.filter(|metric| !matches!(metric, Metric::System(_)))
    }

    /// Readings so far, and the time on a processor that they took, in ns.
    pub fn readings(&self) -> (u64, u64) {
        (self.readings, self.cost_ns)
    }

    /// Threads that the last reading did not see.
    pub fn unseen(&self) -> u32 {
        self.unseen
    }

    /// Value of each column and for how long it was measured, in ns; nothing where the bins are
    /// wider.
    pub fn columns(&self, metric: Metric, axes: &Axes) -> Option<Vec<(u64, u64)>> {
        let mut columns = vec![(0u128, 0u64); axes.columns as usize];
        if let Some(series) = self.series.get(&metric) {
            if series.width() > axes.width_ns {
                return None;
            }
            for (begin_ns, cell) in series.cells() {
                if let Some(column) = axes.column(begin_ns) {
                    let column = &mut columns[column as usize];
                    column.0 = column.0.saturating_add(cell.sum);
                    column.1 = column.1.saturating_add(cell.count);
                }
            }
        }
        let value = |(sum, ns): (u128, u64)| {
            let value = match metric.kind() {
                Kind::Accumulated => sum,
                // Some are small numbers.
                Kind::Absolute => (sum + u128::from(ns / 2)) / u128::from(ns.max(1)),
            };
            (value.try_into().unwrap_or(u64::MAX), ns)
        };
        Some(columns.into_iter().map(value).collect())
    }
}

/// A span of time in parts.
struct Parts {
    /// How much of the span lies before what counts and was not paused, in ns.
    skipped_ns: u64,
    counted: Vec<(u64, u64)>,
}

/// Width of bins by which a span is cut, in ns: the narrowest that a pyramid has room for that
/// holds the span, so that every bin of it gets its part and there are never many.
fn bin_width(from_ns: u64, to_ns: u64) -> u64 {
    let mut width_ns = UNIT_NS;
    while to_ns.saturating_sub(1) / width_ns >= from_ns / width_ns + BINS {
        width_ns *= 2;
    }
    width_ns
}

#[cfg(test)]
mod tests;
