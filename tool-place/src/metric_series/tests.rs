//! Readings at any times, with pauses and other orders between them, beside sums of them.

use super::*;
use crate::time_point::Now;
use invivo_mpi_link::clock::{NodeClock, Reading as ClockReading};
use invivo_proto::control::grid::GridQuery;
use invivo_proto::control::metrics::{ProgramName, SystemMetric};
use invivo_tbon::job_time::JobClock;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const FAULTS: Metric = Metric::System(SystemMetric::PageFaults);
const MEMORY: Metric = Metric::System(SystemMetric::ResidentMemory);

/// Feeds readings; ticks, the node's ns and job time are the same.
struct Feeding {
    series: MetricSeries,
    pauses: Pauses,
    node: NodeClock,
    job: JobClock,
}

impl Feeding {
    fn new() -> Feeding {
        let reading = ClockReading {
            ticks: 0,
            ns: 0,
            width_ticks: 0,
        };
        Feeding {
            series: MetricSeries::default(),
            pauses: Pauses::default(),
            node: NodeClock::from_readings(reading, reading),
            job: JobClock::root(),
        }
    }

    /// A reading of faults and memory.
    fn read(&mut self, measuring: u32, at_ns: u64, faults: u64, memory: u64) {
        let system = vec![
            (SystemMetric::PageFaults, faults),
            (SystemMetric::ResidentMemory, memory),
        ];
        self.add(Reading {
            measuring,
            at_ns,
            system,
            ..Reading::default()
        });
    }

    fn add(&mut self, reading: Reading) {
        let now = Now {
            ns: reading.at_ns,
            ticks: reading.at_ns,
        };
        let moment = TimePoint::new(now, &self.node, &self.job);
        self.series.add(&reading, &moment, &self.pauses);
    }

    /// Values and measured times of columns from 0 to `to_ns`.
    fn columns(&self, metric: Metric, to_ns: u64, columns_max: u32) -> Vec<(u64, u64)> {
        let asked = GridQuery {
            metric,
            from_ns: 0,
            to_ns,
            observed_ns: to_ns,
            columns_max,
            rows_max: 1,
        };
        let axes = Axes::of(&asked, 1);
        self.series.columns(metric, &axes).expect("narrow bins")
    }

    /// All of it as one.
    fn total(&self, metric: Metric) -> (u64, u64) {
        self.columns(metric, 1 << 40, 1)[0]
    }
}

proptest! {
    /// Nothing that was added between two readings is lost or counted twice, however they lie.
    #[test]
    fn what_was_added_is_in_the_columns(
        steps in prop::collection::vec((1u64..3000 * MS, 0u64..1_000_000), 1..40),
    ) {
        let mut feeding = Feeding::new();
        let (mut at, mut faults) = (5 * MS, 77);
        feeding.read(1, at, faults, 0);
        for (gap, added) in &steps {
            (at, faults) = (at + gap, faults + added);
            feeding.read(1, at, faults, 0);
        }
        let sums = feeding.columns(FAULTS, at + 1, 64);
        let (value, ns): (Vec<u64>, Vec<u64>) = sums.into_iter().unzip();
        prop_assert_eq!(value.iter().sum::<u64>(), faults - 77);
        prop_assert_eq!(ns.iter().sum::<u64>(), at - 5 * MS);
    }

    /// The mean over all of it is that of the readings, weighed by the time between them.
    #[test]
    fn what_it_was_is_a_mean_over_time(
        steps in prop::collection::vec((1u64..3000 * MS, 0u64..1_000_000), 1..40),
    ) {
        let mut feeding = Feeding::new();
        let (mut at, mut memory, mut weighed) = (0, 1000, 0u128);
        feeding.read(1, at, 0, memory);
        for &(gap, value) in &steps {
            weighed += u128::from((memory + value) / 2) * u128::from(gap);
            (at, memory) = (at + gap, value);
            feeding.read(1, at, 0, memory);
        }
        let mean = ((weighed + u128::from(at / 2)) / u128::from(at)) as u64;
        prop_assert_eq!(feeding.total(MEMORY), (mean, at));
    }
}

/// Threads that were active since the reading before were so in that time, and in no other.
#[test]
fn a_reading_of_the_time_before_is_of_no_other() {
    let mut feeding = Feeding::new();
    // The first one tells of a time that is not measured.
    for (at, active) in [(0, 9), (64, 1), (128, 4), (192, 1)] {
        feeding.add(Reading {
            measuring: 1,
            at_ns: at * 1_048_576,
            system: vec![(SystemMetric::ActiveThreads, active)],
            ..Reading::default()
        });
    }
    let metric = Metric::System(SystemMetric::ActiveThreads);
    let end = 192 * 1_048_576;
    let columns = feeding.columns(metric, end, 3);
    let values: Vec<u64> = columns.into_iter().map(|(value, _)| value).collect();
    assert_eq!(values, [1, 4, 1]);
    assert_eq!(feeding.total(metric).0, 2);
}

#[test]
fn another_order_counts_from_its_first_reading() {
    let mut feeding = Feeding::new();
    feeding.read(1, 0, 100, 5);
    feeding.read(1, 50 * MS, 150, 5);
    // Nobody measured in between.
    feeding.read(2, 90 * MS, 1000, 5);
    feeding.read(2, 100 * MS, 1010, 5);
    assert_eq!(feeding.total(FAULTS), (60, 60 * MS));
}

#[test]
fn a_metric_that_is_not_read_counts_for_no_time() {
    let mut feeding = Feeding::new();
    feeding.read(1, 0, 100, 5);
    feeding.add(Reading {
        measuring: 1,
        at_ns: 10 * MS,
        system: vec![(SystemMetric::ResidentMemory, 5)],
        ..Reading::default()
    });
    feeding.read(1, 20 * MS, 130, 5);
    assert_eq!(feeding.total(FAULTS), (0, 0));
    assert_eq!(feeding.total(MEMORY), (5, 20 * MS));
}

/// A program counts for the first time between two readings.
#[test]
fn a_new_counter_begins_at_nothing() {
    let name = ProgramName::new(b"steps").expect("a name");
    let (counter, value) = (Metric::Counter(name), Metric::Value(name));
    let mut feeding = Feeding::new();
    for (at_ns, program) in [
        (0, vec![]),
        (10 * MS, vec![(counter, 7), (value, 100)]),
        (20 * MS, vec![(counter, 9), (value, 100)]),
    ] {
        feeding.add(Reading {
            measuring: 1,
            at_ns,
            program,
            ..Reading::default()
        });
    }
    assert_eq!(feeding.total(counter), (9, 20 * MS));
    assert_eq!(feeding.total(value), (100, 20 * MS));
}

/// On another node than the root's it is the node's own time that stands in for it.
#[test]
fn before_job_time_is_known_nothing_counts() {
    let mut feeding = Feeding::new();
    feeding.job = JobClock::below(0);
    feeding.read(1, 1 << 50, 100, 5);
    feeding.job = JobClock::root();
    feeding.read(1, 10 * MS, 150, 5);
    feeding.read(1, 20 * MS, 170, 5);
    assert_eq!(feeding.total(FAULTS), (20, 10 * MS));
}

/// Zoomed in, no column is without its part of an interval of a minute.
#[test]
fn long_intervals_have_no_gaps() {
    let mut feeding = Feeding::new();
    feeding.read(1, 0, 0, 5);
    feeding.read(1, 60_000 * MS, 6000, 5);
    let columns = feeding.columns(FAULTS, 10_000 * MS, 256);
    let measured = columns.iter().map(|(_, ns)| *ns);
    let (least, most) = (measured.clone().min(), measured.max());
    assert_eq!(least, most, "{columns:?}");
}

#[test]
fn pauses_take_no_time() {
    let mut feeding = Feeding::new();
    feeding.read(1, 0, 100, 8);
    feeding.pauses.begin(10 * MS);
    feeding.pauses.end(40 * MS);
    feeding.read(1, 50 * MS, 120, 8);
    assert_eq!(feeding.total(FAULTS), (20, 20 * MS));
    assert_eq!(feeding.total(MEMORY), (8, 20 * MS));
}

/// Of what was added between two readings around a reset a part counts, by time.
#[test]
fn a_reset_discards_what_lies_before_it() {
    let mut feeding = Feeding::new();
    feeding.read(1, 0, 0, 1);
    feeding.read(1, 100 * MS, 500, 1);
    feeding.series.reset(150 * MS);
    assert_eq!(feeding.total(FAULTS), (0, 0));
    feeding.read(1, 200 * MS, 600, 1);
    assert_eq!(feeding.total(FAULTS), (50, 50 * MS));
    feeding.read(1, 300 * MS, 601, 1);
    assert_eq!(feeding.total(FAULTS), (51, 150 * MS));
}

#[test]
fn what_goes_back_adds_nothing() {
    let mut feeding = Feeding::new();
    feeding.read(1, 0, 500, 1);
    feeding.read(1, 10 * MS, 400, 1);
    // Nor does a reading that comes again: the next one has it.
    feeding.read(1, 10 * MS, 900, 1);
    assert_eq!(feeding.total(FAULTS).0, 0);
    feeding.read(1, 20 * MS, 450, 1);
    assert_eq!(feeding.total(FAULTS).0, 50);
}

#[test]
fn a_rank_keeps_no_more_than_there_can_be() {
    let mut feeding = Feeding::new();
    for number in 0u32..100 {
        let name = ProgramName::new(format!("n{number}").as_bytes()).expect("a name");
        for at in [0, 1] {
            feeding.add(Reading {
                measuring: number,
                at_ns: u64::from(2 * number + at) * MS,
                program: vec![(Metric::Counter(name), 1), (FAULTS, 1)],
                ..Reading::default()
            });
        }
    }
    let kept: Vec<Metric> = feeding.series.kept().collect();
    assert_eq!(kept.len(), SERIES_MAX);
    assert!(!kept.contains(&FAULTS), "it is no program's: {kept:?}");
}
