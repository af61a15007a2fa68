//! Finds the loops in the table of call sites, as a message for clients.

use super::distribution::Bins;
use super::{sites, stddev_ns};
use crate::v1;
use invivo_analysis::iterations::loops::{self, Loop};
use invivo_proto::control::iterations::Begin;
use invivo_proto::control::sites::SiteTable;

/// The loops of a table; the observed time begins at `begin_ns` in job time.
pub fn reply(table: &SiteTable, begin_ns: u64, coverage: v1::Coverage) -> v1::IterationsReply {
    let loops = loops::find(table);
    v1::IterationsReply {
        coverage: Some(coverage),
        rows: loops.iter().map(|of| row(of, begin_ns)).collect(),
        analysis: None,
        interval: None,
        begin_ns,
    }
}

fn row(of: &Loop<'_>, begin_ns: u64) -> v1::LoopRow {
    let lengths = &of.iterations.lengths;
    let since = |job_ns: u64| job_ns.saturating_sub(begin_ns);
    v1::LoopRow {
        begin: Some(sites::row(of.site, of.at, Bins::LeftOut)),
        bursts: of.begin == Begin::Burst,
        places: of.places,
        ranks: of.iterations.ranks,
        iterations_min: of.iterations.fewest,
        iterations_max: of.iterations.most,
        usual: lengths.time.count,
        time_ns: lengths.time.sum_ns,
        mean_ns: lengths.time.mean_ns,
        stddev_ns: stddev_ns(&lengths.time),
        min_ns: lengths.time.min_ns,
        max_ns: lengths.time.max_ns,
        max_rank: lengths.time.max_rank.0,
        max_from_ns: since(lengths.longest.from_ns),
        max_to_ns: since(lengths.longest.to_ns),
        first_from_ns: since(lengths.first_ns),
        last_from_ns: since(lengths.last.from_ns),
        last_to_ns: since(lengths.last.to_ns),
        others: lengths.others,
        others_ns: lengths.others_ns,
        share: of.share,
    }
}
