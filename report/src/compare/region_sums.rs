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

/// By name. A function whose name did not come in time is left out: it would be another one in each
/// run.
pub fn by_name(report: &Report) -> BTreeMap<String, Sums> {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for row in report.regions.iter().flat_map(|of| &of.rows) {
        let Some(key) = key(row) else {
            continue;
        };
        let of = sums.entry(key).or_default();
        of.visits = of.visits.saturating_add(row.visits);
        of.own_ns = of.own_ns.saturating_add(row.own_ns);
    }
    sums
}

fn key(row: &RegionRow) -> Option<String> {
    if row.kind != "code" {
        return Some(name(row));
    }
    // The last: what stands before was inlined into it.
    let function = &row.functions.last()?.function;
    (!function.is_empty()).then(|| function.clone())
}
