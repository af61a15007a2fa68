//! Call sites of runs by names that hold from build to build: the MPI function, and the function of
//! the program that calls it. Several calls of one function in one are told apart by their order
//! there, where that is as many in every run; else they are one.

use crate::analyses::was_off;
use crate::contents::Report;
use invivo_grpc::v1::{CallSiteRow, CallSitesReply, SiteWaitRow};
use invivo_proto::control::analyses::Analysis;
use std::collections::{BTreeMap, BTreeSet};

/// What a report has of a call site; summed over ranks, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub time_ns: u64,
    /// Waiting for another rank in these calls.
    pub waiting_ns: u64,
    /// Time of all calls that have its name but for the number.
    pub all_ns: u64,
}

/// The MPI function, the function that calls it, and the file of that.
type Name = (String, String, String);
/// The calls of such a name in a run, by address.
type Calls = BTreeMap<u64, Sums>;

/// The call sites of each of these reports, by name. Of a report without names of some, or with
/// more than it has room for, only those are there that it has.
pub fn by_name(reports: &[&Report]) -> Vec<BTreeMap<String, Sums>> {
    let are_matched = !(reports.iter()).any(|of| was_off(&of.analyses, Analysis::Messages.name()));
    let runs: Vec<BTreeMap<Name, Calls>> = (reports.iter())
        .map(|report| of(report, are_matched))
        .collect();
    let mut counts: BTreeMap<&Name, BTreeSet<usize>> = BTreeMap::new();
    let mut files: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (name, calls) in runs.iter().flatten() {
        counts.entry(name).or_default().insert(calls.len());
        let (function, caller, file) = name;
        files.entry((function, caller)).or_default().insert(file);
    }
    let told = |run: &BTreeMap<Name, Calls>| {
        let mut sites: BTreeMap<String, Sums> = BTreeMap::new();
        for (name, calls) in run {
            let is_alike = counts.get(name).is_some_and(|counts| counts.len() == 1);
            let (function, caller, file) = name;
            let is_one = files[&(function.as_str(), caller.as_str())].len() == 1;
            let file = match is_one {
                true => String::new(),
                false => format!(" of {file}"),
            };
            let all_ns = calls.values().map(|sums| sums.time_ns).sum();
            for (at, sums) in calls.values().enumerate() {
                let number = match is_alike && calls.len() > 1 {
                    true => format!(", {} of {}", at + 1, calls.len()),
                    false => String::new(),
                };
                let site = sites.entry(format!("{function} in {caller}{file}{number}"));
                let site = site.or_default();
                site.add(sums);
                site.all_ns = all_ns;
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

fn of(report: &Report, are_matched: bool) -> BTreeMap<Name, Calls> {
    let mut all: BTreeMap<Name, Calls> = BTreeMap::new();
    let none = CallSitesReply::default();
    let sites = report.call_sites.as_ref().unwrap_or(&none);
    let in_files = || sites.rows.iter().filter(|row| row.kind == "code");
    // A call whose name has not been looked up may be of any caller: it would be missing there.
    let is_unsure = |row: &CallSiteRow| sites.rows_unnamed > 0 && row.functions.is_empty();
    let unsure: BTreeSet<&str> = in_files()
        .filter(|row| is_unsure(row))
        .map(function)
        .collect();
    for row in in_files().filter(|row| !unsure.contains(function(row))) {
        let name = (function(row).to_owned(), caller(row), row.file.clone());
        let sums = all.entry(name).or_default().entry(row.offset).or_default();
        let waits = row.waits.iter().filter(|of| counts(of, are_matched));
        sums.add(&Sums {
            time_ns: row.calls.as_ref().map_or(0, |calls| calls.time_ns),
            waiting_ns: waits.map(|waits| waits.time_ns).sum(),
            all_ns: 0,
        });
    }
    all
}

/// Waiting for somebody, in a way that was looked for in all runs.
fn counts(of: &SiteWaitRow, are_matched: bool) -> bool {
    let of_messages = matches!(of.wait_state.as_str(), "Late Sender" | "Late Receiver");
    let is_whole = of.part_of.is_empty();
    is_whole && !of.wait_state.ends_with("Completion") && (are_matched || !of_messages)
}

fn function(row: &CallSiteRow) -> &str {
    row.calls
        .as_ref()
        .map_or("", |calls| calls.function.as_str())
}

/// The function in whose source the call stands, wherever that was inlined; the file where its
/// functions have no names.
fn caller(row: &CallSiteRow) -> String {
    let function = row.functions.first().map(|of| of.function.clone());
    let function = function.filter(|function| !function.is_empty());
    function.unwrap_or_else(|| row.file.clone())
}

impl Sums {
    fn add(&mut self, from: &Sums) {
        self.time_ns = self.time_ns.saturating_add(from.time_ns);
        self.waiting_ns = self.waiting_ns.saturating_add(from.waiting_ns);
    }
}
