//! Regions of a report by names that hold from build to build: where a function's line or address
//! changes, it is the same function.

use crate::contents::Report;
use crate::regions::name;
use invivo_grpc::v1::RegionRow;
use std::collections::BTreeMap;

/// What a report has of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub visits: u64,
    /// Time in it and in none below it, summed over ranks.
    pub own_ns: u64,
}

/// By name.
pub fn by_name(report: &Report) -> BTreeMap<String, Sums> {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for row in report.regions.iter().flat_map(|of| &of.rows) {
        let of = sums.entry(key(row)).or_default();
        of.visits = of.visits.saturating_add(row.visits);
        of.own_ns = of.own_ns.saturating_add(row.own_ns);
    }
    sums
}

fn key(row: &RegionRow) -> String {
    let innermost = row.functions.first().map(|of| of.function.as_str());
    match innermost.filter(|function| row.kind == "code" && !function.is_empty()) {
        Some(function) => function.to_owned(),
        None => name(row),
    }
}
