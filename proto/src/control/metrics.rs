//! Sets of metrics that are measured, readings of them, and answers about what is measured.

pub use super::metric::{
    CallMetric, Kind, Metric, ProgramName, SYSTEM_METRICS, Source, SystemMetric, UnknownMetric,
};
use super::named_ranks::NamedRanks;
pub use crate::shm::PROGRAM_METRICS_MAX;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use bincode::{Decode, Encode};
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// The shortest time between two readings, in ns: a reading of everything takes up to a tenth of a
/// millisecond for each thread.
pub const INTERVAL_NS_MIN: u64 = 10_000_000;
/// The longest, in ns.
pub const INTERVAL_NS_MAX: u64 = 60_000_000_000;
/// The time between two readings where none is given, in ns.
pub const INTERVAL_NS_DEFAULT: u64 = 100_000_000;
/// Metrics of an answer: of more, counters and values of programs are left out.
pub const METRICS_MAX: usize = 64;

/// Metrics that are measured together; a bit for each of the system's, and one for all that the
/// program keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct MetricSet(u32);

const PROGRAM_BIT: u32 = 1 << SYSTEM_METRICS;

impl MetricSet {
    pub const NONE: MetricSet = MetricSet(0);
    /// What tells most, and every machine has.
    pub const USUAL: MetricSet = MetricSet(
        1 << SystemMetric::CpuTime as u32
            | 1 << SystemMetric::RunDelay as u32
            | 1 << SystemMetric::InvoluntarySwitches as u32
            | 1 << SystemMetric::PageFaults as u32
            | 1 << SystemMetric::ResidentMemory as u32
            | 1 << SystemMetric::ActiveThreads as u32
            | 1 << SystemMetric::Processors as u32
            | PROGRAM_BIT,
    );
    /// What the program keeps.
    pub const PROGRAM: MetricSet = MetricSet(PROGRAM_BIT);

    /// One alone.
    pub const fn of(metric: SystemMetric) -> MetricSet {
        MetricSet(1 << metric as u32)
    }

    pub const fn contains(self, metric: SystemMetric) -> bool {
        self.0 & 1 << metric as u32 != 0
    }

    /// Whether what the program keeps is in it.
    pub const fn has_program(self) -> bool {
        self.0 & PROGRAM_BIT != 0
    }

    /// With those of another.
    #[must_use]
    pub const fn with(self, other: MetricSet) -> MetricSet {
        MetricSet((self.0 | other.0) & (PROGRAM_BIT | (PROGRAM_BIT - 1)))
    }

    pub const fn is_empty(self) -> bool {
        self.0 & (PROGRAM_BIT | (PROGRAM_BIT - 1)) == 0
    }

    /// The names of those in it, as [`MetricSet::from_str`] reads each.
    pub fn names(self) -> impl Iterator<Item = String> {
        let program = self.has_program().then_some(PROGRAM);
        let system = self.system().map(|metric| metric.facts().name);
        system.chain(program).map(String::from)
    }

    /// The system's in it, in their order.
    pub fn system(self) -> impl Iterator<Item = SystemMetric> {
        SystemMetric::ALL
            .into_iter()
            .filter(move |metric| self.contains(*metric))
    }
}

/// The word for none of them.
const NONE: &str = "none";
/// The word for [`MetricSet::USUAL`].
const USUAL: &str = "usual";
/// The word for what the program keeps.
const PROGRAM: &str = "program";

/// As [`MetricSet::from_str`] reads it.
impl fmt::Display for MetricSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str(NONE);
        }
        for (at, name) in self.names().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{name}")?;
        }
        Ok(())
    }
}

/// A word that names nothing that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownInSet(String);

impl fmt::Display for UnknownInSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownInSet(word) = self;
        write!(
            f,
            "{word:?} is no metric that can be measured; give some of "
        )?;
        for metric in SystemMetric::ALL {
            write!(f, "{}, ", metric.facts().name)?;
        }
        write!(
            f,
            "{PROGRAM} (what the program keeps) joined by commas, or {USUAL}, {NONE}"
        )
    }
}

impl core::error::Error for UnknownInSet {}

/// Names joined by commas; `usual` and `none` stand for sets, `program` for what the program keeps.
impl FromStr for MetricSet {
    type Err = UnknownInSet;

    fn from_str(text: &str) -> Result<MetricSet, UnknownInSet> {
        let mut set = MetricSet::NONE;
        for word in text.split(',').map(str::trim) {
            let these = match (word, SystemMetric::named(word)) {
                (_, Some(metric)) => MetricSet::of(metric),
                (USUAL, None) => MetricSet::USUAL,
                (PROGRAM, None) => MetricSet::PROGRAM,
                (NONE, None) => MetricSet::NONE,
                _ => return Err(UnknownInSet(word.to_string())),
            };
            set = set.with(these);
        }
        Ok(set)
    }
}

/// What is to be measured of each rank, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Measured {
    /// Nothing where it is empty.
    pub set: MetricSet,
    /// Time from one reading to the next, in ns; 0 leaves it to us.
    pub interval_ns: u64,
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.set.is_empty() {
            true => f.write_str("off"),
            false => write!(
                f,
                "{} every {:?}",
                self.set,
                core::time::Duration::from_nanos(self.interval_ns)
            ),
        }
    }
}

/// Values of a rank at one time, since its process began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Reading {
    /// The order by which they are measured: where it is another than before, this is where they
    /// begin to count.
    pub measuring: u32,
    /// When they were read, in ns of the node's `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Time on a processor that all readings took so far, in ns.
    pub cost_ns: u64,
    /// Threads that were not seen: there is no room for so many.
    pub unseen: u32,
    /// The system's. One that could not be read now is not there.
    pub system: Vec<(SystemMetric, u64)>,
    /// What the program keeps, [`PROGRAM_METRICS_MAX`] at most; only [`Metric::Counter`] and
    /// [`Metric::Value`].
    pub program: Vec<(Metric, u64)>,
}

/// Why a metric cannot be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum NoMetric {
    /// The machine does not count it, as many virtual machines do not, or the kernel cannot.
    Unsupported,
    /// The kernel does not allow it; the value of `kernel.perf_event_paranoid`, which is 2 or less
    /// where it would.
    Forbidden { paranoid: i8 },
    /// What the kernel says of the process in /proc cannot be read.
    Unreadable,
    /// There is no memory or descriptor left for it.
    NoRoom,
    /// The rank has not called `MPI_Init` yet.
    Starting,
    /// The rank has ended.
    Ended,
    /// Its supervisor did not answer in time.
    Silent,
}

/// What is measured of the ranks, and what could be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct MetricsStatus {
    /// Ranks that the answer is about.
    pub ranks: u32,
    /// Of these, ranks of which something is measured now.
    pub measured: u32,
    /// Of these, ranks of which what their program keeps is measured.
    pub program: u32,
    /// Time between readings, the shortest and the longest of any rank, in ns; 0 where there are
    /// none.
    pub interval_ns: (u64, u64),
    /// Readings so far.
    pub readings: u64,
    /// Time on a processor that they took, in ns.
    pub cost_ns: u64,
    /// Threads that are not seen in metrics of threads, as there is no room for so many.
    pub unseen: u64,
    /// All of the system's, and those of programs, [`METRICS_MAX`] at most.
    pub metrics: BTreeMap<Metric, MetricStatus>,
    /// Counters and values of programs are left out, or found no room in their rank.
    pub more: bool,
}

impl MetricsStatus {
    /// Adds other ranks.
    pub fn merge(&mut self, from: MetricsStatus) {
        self.interval_ns = match (self.measured, from.measured) {
            (0, _) => from.interval_ns,
            (_, 0) => self.interval_ns,
            _ => (
                self.interval_ns.0.min(from.interval_ns.0),
                self.interval_ns.1.max(from.interval_ns.1),
            ),
        };
        self.ranks = self.ranks.saturating_add(from.ranks);
        self.measured = self.measured.saturating_add(from.measured);
        self.program = self.program.saturating_add(from.program);
        self.readings = self.readings.saturating_add(from.readings);
        self.cost_ns = self.cost_ns.saturating_add(from.cost_ns);
        self.unseen = self.unseen.saturating_add(from.unseen);
        for (metric, from) in from.metrics {
            let into = self.metrics.entry(metric).or_default();
            into.now = into.now.saturating_add(from.now);
            into.kept = into.kept.saturating_add(from.kept);
            for (why, from) in from.without {
                into.without.entry(why).or_default().merge(from);
            }
        }
        self.more |= from.more;
        while self.metrics.len() > METRICS_MAX {
            // In the order of names those left out are the same however the ranks were merged.
            self.metrics.pop_last();
            self.more = true;
        }
    }
}

/// A metric among the ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct MetricStatus {
    /// Ranks of which it is measured now.
    pub now: u32,
    /// Ranks of which there are values.
    pub kept: u32,
    /// Why it cannot be measured of the others.
    pub without: BTreeMap<NoMetric, NamedRanks>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sets_are_read_back() {
        for text in [
            "none",
            "program",
            "cpu-time",
            "cpu-time,page-faults,program",
        ] {
            let set: MetricSet = text.parse().expect("a set");
            assert_eq!(set.to_string(), text);
        }
        let set: MetricSet = " page-faults, none,cpu-time".parse().expect("a set");
        assert_eq!(set.to_string(), "cpu-time,page-faults");
        assert_eq!("usual".parse(), Ok(MetricSet::USUAL));
        assert_eq!(MetricSet::USUAL.to_string().parse(), Ok(MetricSet::USUAL));
        for wrong in ["", "page-faults,", "pagefaults", "mpi", "counter:steps"] {
            let refused = wrong.parse::<MetricSet>().expect_err("no set");
            assert!(refused.to_string().contains("resident-memory, "), "{wrong}");
        }
    }

    /// A rank with some counters, measured or not, and a reason why something is not.
    fn rank(number: u32) -> impl proptest::strategy::Strategy<Value = MetricsStatus> {
        let counters = prop::collection::btree_set(0u32..90, 0..40);
        (counters, any::<bool>(), 1u64..9, 0u32..3).prop_map(
            move |(counters, on, interval_ns, why)| {
                let counter = |of: u32| {
                    let name = alloc::format!("{of:03}");
                    Metric::Counter(ProgramName::new(name.as_bytes()).expect("a name"))
                };
                let reason = [NoMetric::Ended, NoMetric::Silent, NoMetric::NoRoom][why as usize];
                let without = MetricStatus {
                    without: [(reason, NamedRanks::of(crate::ids::Rank(number)))].into(),
                    ..MetricStatus::default()
                };
                let of = |now| MetricStatus {
                    now,
                    kept: 1,
                    ..MetricStatus::default()
                };
                let metrics = counters
                    .into_iter()
                    .map(|of_rank| (counter(of_rank), of(on.into())));
                let cycles = [(Metric::System(SystemMetric::Cycles), without)];
                MetricsStatus {
                    ranks: 1,
                    measured: on.into(),
                    interval_ns: if on {
                        (interval_ns, interval_ns)
                    } else {
                        (0, 0)
                    },
                    readings: 2,
                    metrics: metrics.chain(cycles).collect(),
                    ..MetricsStatus::default()
                }
            },
        )
    }

    fn merged(of: &[MetricsStatus]) -> MetricsStatus {
        let mut sum = MetricsStatus::default();
        of.iter().for_each(|one| sum.merge(one.clone()));
        sum
    }

    proptest! {
        #[test]
        fn any_order_and_grouping_gives_the_same(
            ranks in (0u32..12).map(rank).collect::<Vec<_>>(),
            turned in 0usize..12,
            cuts in prop::collection::vec(0usize..=12, 3),
        ) {
            let flat = merged(&ranks);
            let mut other = ranks;
            other.rotate_left(turned);
            let mut cuts = cuts;
            cuts.sort_unstable();
            let [a, b, c] = cuts[..] else { unreachable!() };
            let parts = [&other[..a], &other[a..b], &other[b..c], &other[c..]].map(merged);
            prop_assert_eq!(merged(&parts), flat.clone());
            prop_assert!(flat.metrics.len() <= METRICS_MAX);
        }
    }
}
