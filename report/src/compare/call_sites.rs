//! Call sites of runs by names that hold from build to build: the MPI function, and the function of
//! the program that calls it. Several calls of one function in one are told apart by their order
//! there, where that is as many in every run; else they are one.

use crate::contents::Report;
use invivo_grpc::v1::{CallSiteRow, CallSitesReply};
use std::collections::{BTreeMap, BTreeSet};

/// What a report has of a call site; summed over ranks, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub time_ns: u64,
    /// Waiting with a cause in these calls.
    pub waiting_ns: u64,
}

/// The MPI function, and the one that calls it.
type Name = (String, String);
/// The calls of such a name in a run, by address.
type Calls = BTreeMap<u64, Sums>;

/// The call sites of each of these reports, by name. Of a report without names of some, or with
/// more than it has room for, only those are there that it has.
pub fn by_name(reports: &[&Report]) -> Vec<BTreeMap<String, Sums>> {
    let runs: Vec<BTreeMap<Name, Calls>> = reports.iter().map(|report| of(report)).collect();
    let mut counts: BTreeMap<&Name, BTreeSet<usize>> = BTreeMap::new();
    for (name, calls) in runs.iter().flatten() {
        counts.entry(name).or_default().insert(calls.len());
    }
    let told = |run: &BTreeMap<Name, Calls>| {
        let mut sites: BTreeMap<String, Sums> = BTreeMap::new();
        for (name, calls) in run {
            let is_alike = counts.get(name).is_some_and(|counts| counts.len() == 1);
            let (function, caller) = name;
            for (at, sums) in calls.values().enumerate() {
                let number = match is_alike && calls.len() > 1 {
                    true => format!(", {} of {}", at + 1, calls.len()),
                    false => String::new(),
                };
                let name = format!("{function} in {caller}{number}");
                sites.entry(name).or_default().add(sums);
            }
        }
        sites
    };
    runs.iter().map(told).collect()
}

/// Whether a report has all of its call sites: what is not among them has taken no time.
pub fn is_whole(report: &Report) -> bool {
    let sites = report.call_sites.as_ref();
    sites.is_some_and(|of| of.rows_unnamed == 0 && of.rows_left_out == 0)
}

fn of(report: &Report) -> BTreeMap<Name, Calls> {
    let mut all: BTreeMap<Name, Calls> = BTreeMap::new();
    let none = CallSitesReply::default();
    let sites = report.call_sites.as_ref().unwrap_or(&none);
    for row in sites.rows.iter().filter(|row| row.kind == "code") {
        let Some(caller) = caller(row, sites.rows_unnamed > 0) else {
            continue;
        };
        let function = row.calls.as_ref().map(|calls| calls.function.clone());
        let name = (function.unwrap_or_default(), caller);
        let sums = all.entry(name).or_default().entry(row.offset).or_default();
        sums.add(&Sums {
            time_ns: row.calls.as_ref().map_or(0, |calls| calls.time_ns),
            waiting_ns: row.waits.iter().map(|waits| waits.time_ns).sum(),
        });
    }
    all
}

/// The function that calls, without those that were inlined into it, which stand before it; the
/// file where its functions have no names. Nothing where a name may only not have been looked up.
fn caller(row: &CallSiteRow, is_unsure: bool) -> Option<String> {
    let function = row.functions.last().map(|of| of.function.clone());
    let function = function.filter(|function| !function.is_empty());
    function.or_else(|| (!is_unsure).then(|| row.file.clone()))
}

impl Sums {
    fn add(&mut self, from: &Sums) {
        self.time_ns = self.time_ns.saturating_add(from.time_ns);
        self.waiting_ns = self.waiting_ns.saturating_add(from.waiting_ns);
    }
}
