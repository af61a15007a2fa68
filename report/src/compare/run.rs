//! A run, and its regions by names that hold from build to build: where a function's line or
//! address changes, it is the same function.

use super::call_sites;
use crate::contents::Report;
use crate::recording;
use crate::regions::name;
use crate::rows::seconds;
use invivo_grpc::v1::RegionRow;
use std::collections::BTreeMap;

/// What a report has of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub visits: u64,
    /// Time in it and in none below it, summed over ranks.
    pub own_ns: u64,
}

/// A report with the sums of its regions and call sites.
pub struct Run<'a> {
    pub report: &'a Report,
    /// How long the report is about, in s: the observed time of a run, the recorded time of a
    /// window.
    pub seconds: f64,
    /// It is a window of a job that runs on, of any length: of its sums, what they are in a second
    /// is compared.
    pub is_window: bool,
    /// By name.
    pub regions: BTreeMap<String, Sums>,
    /// By name.
    pub call_sites: BTreeMap<String, call_sites::Sums>,
}

impl Run<'_> {
    /// Of both sides of a comparison: what a call site is called depends on all of them.
    pub fn of_sides<'a>(
        base: &'a [Report],
        new: &'a [Report],
        are_windows: bool,
    ) -> [Vec<Run<'a>>; 2] {
        let reports: Vec<&Report> = base.iter().chain(new).collect();
        let sites = call_sites::by_name(&reports).into_iter();
        let runs = reports.into_iter().zip(sites);
        let mut runs = runs.map(|(report, call_sites)| Run {
            report,
            seconds: match are_windows {
                true => seconds(recording::span_ns(&report.status()) as f64),
                false => report.observed_seconds,
            }
            .max(f64::MIN_POSITIVE),
            is_window: are_windows,
            regions: by_name(report),
            call_sites,
        });
        let base = runs.by_ref().take(base.len()).collect();
        [base, runs.collect()]
    }

    /// A sum as it is compared.
    pub fn sum(&self, sum: f64) -> f64 {
        match self.is_window {
            true => sum / self.seconds,
            false => sum,
        }
    }
}

/// By name. Where names had not been looked up, functions without one are left out: they would be
/// others in each run.
fn by_name(report: &Report) -> BTreeMap<String, Sums> {
    let Some(regions) = &report.regions else {
        return BTreeMap::new();
    };
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for row in &regions.rows {
        let key = match function(row) {
            Some(function) => function.to_owned(),
            None if row.kind == "code" && regions.rows_unnamed > 0 => continue,
            None => name(row),
        };
        let of = sums.entry(key).or_default();
        of.visits = of.visits.saturating_add(row.visits);
        of.own_ns = of.own_ns.saturating_add(row.own_ns);
    }
    sums
}

/// The function, without those that were inlined into it, which stand before it.
fn function(row: &RegionRow) -> Option<&str> {
    let function = row.functions.last().map(|of| of.function.as_str());
    function.filter(|function| !function.is_empty())
}
