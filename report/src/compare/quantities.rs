//! What is compared: numbers of a report, each with its unit and which way is better.

use super::call_sites;
use super::run::{Run, Sums};
use crate::analyses::was_off;
use crate::contents::Report;
use crate::functions::initialises;
use crate::recording;
use crate::rows::{Row, seconds};
use invivo_proto::control::analyses::Analysis;
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
    SiteTime,
    SiteWaiting,
    RegionTime,
    Visits,
}

/// What a number is of. Those of one kind are judged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The whole run, or a function.
    Run,
    CallSite,
    Region,
}

/// A number that every report has, or most.
#[derive(Clone, Debug, Serialize)]
pub struct Quantity {
    /// As it is called in a table.
    pub quantity: &'static str,
    /// The MPI function that it is of, if it is not of the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The call site that it is of: the MPI function, and in which one it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_site: Option<String>,
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

const OF_A_CALL_SITE: [(&str, Unit, Direction, What); 2] = [
    (
        "time, per rank",
        Unit::Seconds,
        Direction::Less,
        What::SiteTime,
    ),
    (
        "waiting, per rank",
        Unit::Seconds,
        Direction::Less,
        What::SiteWaiting,
    ),
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
    /// What it is of.
    pub fn kind(&self) -> Kind {
        match (&self.call_site, &self.region) {
            (Some(_), _) => Kind::CallSite,
            (None, Some(_)) => Kind::Region,
            (None, None) => Kind::Run,
        }
    }

    /// The number in a report; nothing where the report does not have it.
    pub fn of(&self, run: &Run<'_>) -> Option<f64> {
        let number = self.in_report(run)?;
        Some(match self.what {
            What::ParallelEfficiency | What::LoadBalance | What::CommunicationEfficiency => number,
            _ => run.sum(number),
        })
    }

    fn in_report(&self, run: &Run<'_>) -> Option<f64> {
        let report = run.report;
        let efficiency = report.efficiency.as_ref();
        match self.what {
            // How long a window is was chosen.
            What::Observed => (!run.is_window).then_some(report.observed_seconds),
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
            What::SiteTime => Some(per_rank(report, seconds(self.site_of(run)?.time_ns as f64))),
            What::SiteWaiting => Some(per_rank(
                report,
                seconds(self.site_of(run)?.waiting_ns as f64),
            )),
            What::RegionTime => Some(per_rank(
                report,
                seconds(self.region_of(run)?.own_ns as f64),
            )),
            What::Visits => Some(self.region_of(run)?.visits as f64),
        }
    }

    /// Nothing where the report has no regions at all (it is older, or of another build), and where
    /// the region may be among those whose names had not been looked up. Any other that it lacks
    /// has taken no time.
    fn region_of(&self, run: &Run<'_>) -> Option<Sums> {
        let of = run.regions.get(self.region.as_ref()?).copied();
        let is_whole = (run.report.regions.as_ref()).is_some_and(|of| of.rows_unnamed == 0);
        of.or_else(|| (is_whole && !run.regions.is_empty()).then(Sums::default))
    }

    /// Of a call site with a number, time of all that have its name but for that: which of them is
    /// which nobody knows where a program has changed.
    pub fn with_namesakes(&self, run: &Run<'_>) -> Option<f64> {
        let number = seconds(self.site_of(run)?.all_ns as f64);
        Some(run.sum(per_rank(run.report, number)))
    }

    /// As of regions.
    fn site_of(&self, run: &Run<'_>) -> Option<call_sites::Sums> {
        let of = run.call_sites.get(self.call_site.as_ref()?).copied();
        of.or_else(|| call_sites::is_whole(run.report).then(Default::default))
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
            call_site: None,
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
pub fn of_functions(base: &[Run<'_>], new: &[Run<'_>]) -> Vec<Quantity> {
    let times = |run: &Run<'_>| -> Vec<(String, f64)> {
        let rows = run.report.totals.iter();
        rows.map(|row| (row.function.clone(), row.seconds))
            .collect()
    };
    let all = largest(base, new, times).flat_map(|(function, share)| {
        OF_A_FUNCTION.map(|(quantity, unit, better, what)| Quantity {
            quantity,
            function: Some(function.clone()),
            call_site: None,
            region: None,
            unit,
            better,
            small: share < SHARE_MIN,
            what,
        })
    });
    all.collect()
}

/// Those of every call site that has been in one of the runs, the one with the most time first.
/// Nothing where some run has none, or not all of the time: it is older, or did not note them.
pub fn of_call_sites(base: &[Run<'_>], new: &[Run<'_>]) -> Vec<Quantity> {
    let mut all = base.iter().chain(new);
    let any_off = |analysis: Analysis| {
        let mut all = base.iter().chain(new);
        all.any(|run| was_off(&run.report.analyses, analysis.name()))
    };
    let has_all = all.all(|run| run.report.call_sites.is_some());
    if !has_all || any_off(Analysis::Sites) {
        return Vec::new();
    }
    let has_waits = !any_off(Analysis::WaitStates);
    let times = |of: fn(&call_sites::Sums) -> u64| {
        move |run: &Run<'_>| -> Vec<(String, f64)> {
            let sums = run.call_sites.iter();
            sums.map(|(name, sums)| (name.clone(), seconds(of(sums) as f64)))
                .collect()
        }
    };
    let waiting: BTreeMap<String, f64> =
        largest(base, new, times(|sums| sums.waiting_ns)).collect();
    let all = largest(base, new, times(|sums| sums.time_ns)).flat_map(|(site, share)| {
        let waiting = waiting.get(&site).copied().unwrap_or(0.0);
        let some = if has_waits { 2 } else { 1 };
        let some = OF_A_CALL_SITE.into_iter().take(some);
        let all = some.map(move |(quantity, unit, better, what)| Quantity {
            quantity,
            function: None,
            call_site: Some(site.clone()),
            region: None,
            unit,
            better,
            small: SHARE_MIN
                > match what {
                    What::SiteWaiting => waiting,
                    _ => share,
                },
            what,
        });
        all.collect::<Vec<Quantity>>()
    });
    all.collect()
}

/// Those of every region that is entered in one of the runs, the region with the most own time
/// first. Nothing where one side has no regions: there is nothing to compare them with.
pub fn of_regions(base: &[Run<'_>], new: &[Run<'_>]) -> Vec<Quantity> {
    let has_some = |side: &[Run<'_>]| side.iter().any(|run| !run.regions.is_empty());
    if !has_some(base) || !has_some(new) {
        return Vec::new();
    }
    let times = |run: &Run<'_>| -> Vec<(String, f64)> {
        let sums = run.regions.iter();
        sums.map(|(name, of)| (name.clone(), seconds(of.own_ns as f64)))
            .collect()
    };
    let all = largest(base, new, times).flat_map(|(region, share)| {
        OF_A_REGION.map(|(quantity, unit, better, what)| Quantity {
            quantity,
            function: None,
            call_site: None,
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
    base: &[Run<'_>],
    new: &[Run<'_>],
    times: impl Fn(&Run<'_>) -> Vec<(String, f64)>,
) -> impl Iterator<Item = (String, f64)> {
    let mut most: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for run in base.iter().chain(new) {
        for (name, seconds) in times(run) {
            let time = per_rank(run.report, seconds);
            let of = most.entry(name).or_default();
            *of = (of.0.max(time), of.1.max(time / run.seconds));
        }
    }
    let mut order: Vec<(String, (f64, f64))> = most.into_iter().collect();
    order.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0));
    order.into_iter().map(|(name, (_, share))| (name, share))
}
