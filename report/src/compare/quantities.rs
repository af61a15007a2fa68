//! What is compared: numbers of a report, each with its unit and which way is better.

use super::region_sums::{Sums, by_name};
use crate::contents::Report;
use crate::functions::initialises;
use crate::recording;
use crate::rows::{Row, seconds};
use serde::Serialize;
use std::collections::BTreeMap;

/// Of the observed time, below which a function's time is too small to be judged.
pub const SHARE_MIN: f64 = 0.01;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Seconds,
    /// Between 0 and 1.
    Share,
    Calls,
    Bytes,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Less,
    More,
    /// A program that makes other calls is another program, not a better or worse one.
    Neither,
}

/// What of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Observed,
    Computing,
    InMpi,
    ParallelEfficiency,
    LoadBalance,
    CommunicationEfficiency,
    Time,
    Calls,
    Bytes,
    RegionTime,
    Visits,
}

/// A number that every report has, or most.
#[derive(Clone, Debug, Serialize)]
pub struct Quantity {
    /// As it is called in a table.
    pub quantity: &'static str,
    /// The MPI function that it is of, if it is not of the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The region of the program that it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    pub unit: Unit,
    pub better: Direction,
    /// Too small a part of the run to be judged.
    pub small: bool,
    #[serde(skip)]
    what: What,
}

const WHOLE: [(&str, Unit, Direction, What); 6] = [
    (
        "observed time",
        Unit::Seconds,
        Direction::Less,
        What::Observed,
    ),
    (
        "computing, per rank",
        Unit::Seconds,
        Direction::Less,
        What::Computing,
    ),
    (
        "in MPI, per rank",
        Unit::Seconds,
        Direction::Less,
        What::InMpi,
    ),
    (
        "parallel efficiency",
        Unit::Share,
        Direction::More,
        What::ParallelEfficiency,
    ),
    (
        "load balance",
        Unit::Share,
        Direction::More,
        What::LoadBalance,
    ),
    (
        "communication efficiency",
        Unit::Share,
        Direction::More,
        What::CommunicationEfficiency,
    ),
];

const OF_A_FUNCTION: [(&str, Unit, Direction, What); 3] = [
    ("time, per rank", Unit::Seconds, Direction::Less, What::Time),
    ("calls", Unit::Calls, Direction::Neither, What::Calls),
    ("bytes", Unit::Bytes, Direction::Neither, What::Bytes),
];

const OF_A_REGION: [(&str, Unit, Direction, What); 2] = [
    (
        "own time, per rank",
        Unit::Seconds,
        Direction::Less,
        What::RegionTime,
    ),
    ("visits", Unit::Calls, Direction::Neither, What::Visits),
];

impl Quantity {
    /// The number in a report with these regions; nothing where the report does not have it.
    pub fn of(&self, report: &Report, regions: &BTreeMap<String, Sums>) -> Option<f64> {
        let efficiency = report.efficiency.as_ref();
        match self.what {
            What::Observed => Some(report.observed_seconds),
            // Time that the report does not have (a rank that did not report) is no computing.
            What::Computing if report.coverage.ranks_reporting == report.job.ranks => {
                let recorded = seconds(recording::span_ns(&report.status()) as f64);
                Some((recorded - in_mpi(report)).max(0.0))
            }
            What::Computing => None,
            What::InMpi => Some(in_mpi(report)),
            What::ParallelEfficiency => efficiency.map(|of| of.parallel_efficiency),
            What::LoadBalance => efficiency.map(|of| of.load_balance),
            What::CommunicationEfficiency => efficiency.map(|of| of.communication_efficiency),
            // A function that is not called takes no time.
            What::Time => Some(
                self.row(report)
                    .map_or(0.0, |row| per_rank(report, row.seconds)),
            ),
            What::Calls => Some(self.row(report).map_or(0.0, |row| row.calls as f64)),
            What::Bytes => Some(self.row(report).map_or(0.0, |row| row.bytes as f64)),
            What::RegionTime => Some(per_rank(
                report,
                seconds(self.region_of(report, regions)?.own_ns as f64),
            )),
            What::Visits => Some(self.region_of(report, regions)?.visits as f64),
        }
    }

    /// Nothing where the report has no regions at all (it is older, or of another build), and where
    /// the region may be among those whose names did not come in time. Any other that it lacks has
    /// taken no time.
    fn region_of(&self, report: &Report, regions: &BTreeMap<String, Sums>) -> Option<Sums> {
        let of = regions.get(self.region.as_ref()?).copied();
        let is_whole = report
            .regions
            .as_ref()
            .is_some_and(|of| of.rows_unnamed == 0);
        of.or_else(|| (is_whole && !regions.is_empty()).then(Sums::default))
    }

    fn row<'a>(&self, report: &'a Report) -> Option<&'a Row> {
        let name = self.function.as_deref();
        let mut rows = report.totals.iter();
        rows.find(|row| Some(row.function.as_str()) == name)
    }
}

fn per_rank(report: &Report, seconds: f64) -> f64 {
    seconds / f64::from(report.job.ranks.max(1))
}

/// Without initialisation, which lies before the recorded time.
fn in_mpi(report: &Report) -> f64 {
    let rows = report.totals.iter();
    let rows = rows.filter(|row| !initialises(&row.function));
    per_rank(report, rows.map(|row| row.seconds).sum())
}

/// Those of a whole run.
pub fn of_the_whole() -> Vec<Quantity> {
    let all = WHOLE
        .into_iter()
        .map(|(quantity, unit, better, what)| Quantity {
            quantity,
            function: None,
            region: None,
            unit,
            better,
            small: false,
            what,
        });
    all.collect()
}

/// Those of every function that is called in one of the runs, the function with the most time
/// first.
pub fn of_functions(base: &[Report], new: &[Report]) -> Vec<Quantity> {
    let times = |report: &Report| -> Vec<(String, f64)> {
        let rows = report.totals.iter();
        rows.map(|row| (row.function.clone(), row.seconds))
            .collect()
    };
    let all = largest(base, new, times).flat_map(|(function, share)| {
        OF_A_FUNCTION.map(|(quantity, unit, better, what)| Quantity {
            quantity,
            function: Some(function.clone()),
            region: None,
            unit,
            better,
            small: share < SHARE_MIN,
            what,
        })
    });
    all.collect()
}

/// Those of every region that is entered in one of the runs, the region with the most own time
/// first. Nothing where one side has no regions: there is nothing to compare them with.
pub fn of_regions(base: &[Report], new: &[Report]) -> Vec<Quantity> {
    let has_some = |side: &[Report]| side.iter().any(|report| !by_name(report).is_empty());
    if !has_some(base) || !has_some(new) {
        return Vec::new();
    }
    let times = |report: &Report| -> Vec<(String, f64)> {
        let sums = by_name(report).into_iter();
        sums.map(|(name, of)| (name, seconds(of.own_ns as f64)))
            .collect()
    };
    let all = largest(base, new, times).flat_map(|(region, share)| {
        OF_A_REGION.map(|(quantity, unit, better, what)| Quantity {
            quantity,
            function: None,
            region: Some(region.clone()),
            unit,
            better,
            small: share < SHARE_MIN,
            what,
        })
    });
    all.collect()
}

/// Names, the one with the most time in any run first, with the most of their share of a rank's
/// time. `times` are those of all ranks of a run together, in s.
fn largest(
    base: &[Report],
    new: &[Report],
    times: impl Fn(&Report) -> Vec<(String, f64)>,
) -> impl Iterator<Item = (String, f64)> {
    let mut most: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for report in base.iter().chain(new) {
        let observed = report.observed_seconds.max(f64::MIN_POSITIVE);
        for (name, seconds) in times(report) {
            let time = per_rank(report, seconds);
            let of = most.entry(name).or_default();
            *of = (of.0.max(time), of.1.max(time / observed));
        }
    }
    let mut order: Vec<(String, (f64, f64))> = most.into_iter().collect();
    order.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0));
    order.into_iter().map(|(name, (_, share))| (name, share))
}

/// What may make the two sides unlike, or a side unlike itself.
pub fn notes(base: &[Report], new: &[Report]) -> Vec<String> {
    let all = || base.iter().chain(new);
    let mut notes = Vec::new();
    let mut differ = |what: &str, of: fn(&Report) -> String| {
        let mut values: Vec<String> = all().map(of).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > 1 {
            notes.push(format!("{what} differ: {}", values.join(" | ")));
        }
    };
    differ("numbers of ranks", |report| report.job.ranks.to_string());
    differ("MPI libraries", |report| report.job.library.clone());
    differ("hosts of the root", |report| {
        report
            .start
            .as_ref()
            .map_or_else(String::new, |start| start.host.clone())
    });
    let mut count = |is_it: fn(&Report) -> bool, what: &str| {
        let runs = all().filter(|report| is_it(report)).count();
        if runs > 0 {
            notes.push(format!(
                "in {runs} of {} runs {what}",
                base.len() + new.len()
            ));
        }
    };
    count(
        |report| !report.ended.is_empty() || report.tool_process_ended.is_some(),
        "a process ended early",
    );
    count(
        |report| report.shut_down,
        "the measurement was shut down before the job ended",
    );
    count(
        |report| {
            let ledger = report.coverage.ledger.as_ref();
            let dropped = ledger.and_then(|ledger| ledger.dropped.as_ref());
            dropped.is_some_and(|all| all.no_packet + all.no_location > 0)
                || ledger.is_some_and(|ledger| ledger.dropped_by_place > 0)
        },
        "calls were lost, and are not in these numbers",
    );
    count(
        |report| (report.regions.as_ref()).is_some_and(|regions| regions.rows_unnamed > 0),
        "names of regions did not come in time: without one they are not compared",
    );
    count(
        |report| report.recording.off > 0,
        "recording was off at the end",
    );
    notes
}
