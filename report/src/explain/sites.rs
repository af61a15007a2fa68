//! Call sites over an interval: the one with most of the time in MPI, and a rank that all send to.

use super::small::{Small, of_messages, small};
use crate::call_sites::place;
use crate::units::{bytes, count, share};
use invivo_grpc::v1::{CallSiteRow, CallSitesReply};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A rank receives alone what is at least this part of what all receive.
const ALONE: f64 = 0.9;
/// And is there for this part of the time in MPI of a rank, or more.
const RECEIVES: f64 = 0.5;
/// Of two ranks one may well be the one that receives.
const RANKS_MIN: u32 = 3;
/// Functions are called at one place if this part of their time is there.
const ONE_PLACE: f64 = 0.9;

/// A call site over an interval.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Site {
    pub function: String,
    /// As `solve (solver.c:212)`; empty where only the function is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Of the time in calls that ended in the interval.
    pub share: f64,
    pub calls: u64,
    pub bytes: u64,
    pub ranks: u32,
    /// Where the calls are many and move little each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small: Option<Small>,
    /// Where the calls are for messages, and one rank receives what all send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Receiver>,
}

impl Site {
    /// Calls a second and rank.
    pub(super) fn rate(&self, interval_ns: u64) -> f64 {
        let seconds = interval_ns as f64 * 1e-9;
        self.calls as f64 / seconds / f64::from(self.ranks.max(1))
    }
}

/// The rank that receives what all send.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Receiver {
    pub rank: u32,
    /// Of the bytes that all receive.
    pub share: f64,
    pub bytes: u64,
    /// Where it receives most of them.
    pub function: String,
    pub place: String,
}

/// What a call site had in the interval.
struct Since<'a> {
    row: &'a CallSiteRow,
    /// As it was at the beginning; nothing where it had not been called.
    before: Option<&'a CallSiteRow>,
    function: &'a str,
    time_ns: u64,
    calls: u64,
    bytes_out: u64,
    bytes_in: u64,
}

/// All call sites between two answers; none while they are not noted.
fn since<'a>(before: &'a CallSitesReply, after: &'a CallSitesReply) -> Vec<Since<'a>> {
    let is_off = |reply: &CallSitesReply| {
        let analysis = reply.analysis.as_ref();
        analysis.is_some_and(|analysis| analysis.on == 0)
    };
    if is_off(after) {
        return Vec::new();
    }
    let same = |a: &CallSiteRow, b: &CallSiteRow| {
        let function = |row: &CallSiteRow| row.calls.as_ref().map(|calls| calls.function.clone());
        (&a.kind, &a.file, a.offset, &a.build_id) == (&b.kind, &b.file, b.offset, &b.build_id)
            && function(a) == function(b)
    };
    let rows = after.rows.iter().filter_map(|row| {
        let now = row.calls.as_ref()?;
        let before = before.rows.iter().find(|other| same(row, other));
        let then = before.and_then(|row| row.calls.clone()).unwrap_or_default();
        Some(Since {
            row,
            before,
            function: &now.function,
            time_ns: now.time_ns.saturating_sub(then.time_ns),
            calls: now.calls.saturating_sub(then.calls),
            bytes_out: now.bytes_out.saturating_sub(then.bytes_out),
            bytes_in: now.bytes_in.saturating_sub(then.bytes_in),
        })
    });
    rows.collect()
}

/// The call site with the most time between two answers.
pub(super) fn site(
    before: &CallSitesReply,
    after: &CallSitesReply,
    interval_ns: u64,
) -> Option<Site> {
    let sites = since(before, after);
    let all: u64 = sites.iter().map(|of| of.time_ns).sum();
    let most = sites.iter().max_by_key(|of| of.time_ns)?;
    let mut site = Site {
        function: most.function.to_owned(),
        place: place(most.row),
        share: most.time_ns as f64 / all.max(1) as f64,
        calls: most.calls,
        bytes: most.bytes_out + most.bytes_in,
        ranks: most.row.ranks,
        small: None,
        receiver: None,
    };
    let each = site.bytes as f64 / site.calls.max(1) as f64;
    site.small = small(&site.function, site.share, site.rate(interval_ns), each);
    // What all ranks do alike is no matter of one.
    let ranks = sites.iter().map(|of| of.row.ranks).max().unwrap_or(0);
    let is_apart = of_messages(&site.function) && site.ranks < ranks && after.rows_left_out == 0;
    site.receiver = is_apart.then(|| receiver(&sites, ranks)).flatten();
    (all > 0).then_some(site)
}

/// Of a place at which only one rank has called it is known which: that with the longest call.
fn receiver(sites: &[Since<'_>], ranks: u32) -> Option<Receiver> {
    let all: u64 = sites.iter().map(|of| of.bytes_in).sum();
    let all_time: u64 = sites.iter().map(|of| of.time_ns).sum();
    let mut alone: BTreeMap<u32, Vec<&Since<'_>>> = BTreeMap::new();
    for of in sites
        .iter()
        .filter(|of| of.row.ranks == 1 && of.bytes_in > 0)
    {
        let rank = of.row.calls.as_ref()?.max_rank;
        alone.entry(rank).or_default().push(of);
    }
    let bytes = |of: &[&Since<'_>]| of.iter().map(|of| of.bytes_in).sum::<u64>();
    let (rank, sites) = alone.into_iter().max_by_key(|(_, of)| bytes(of))?;
    let most = sites.iter().max_by_key(|of| of.bytes_in)?;
    let share = bytes(&sites) as f64 / all as f64;
    let time: u64 = sites.iter().map(|of| of.time_ns).sum();
    let is_busy = time as f64 * f64::from(ranks) >= RECEIVES * all_time as f64;
    (ranks >= RANKS_MIN && share >= ALONE && is_busy).then(|| Receiver {
        rank,
        share,
        bytes: bytes(&sites),
        function: most.function.to_owned(),
        place: place(most.row),
    })
}

/// Where somebody waited longest in this way in this function between two answers, and the part of
/// that which was there.
pub(super) fn waited_at(
    before: &CallSitesReply,
    after: &CallSitesReply,
    wait_state: &str,
    function: &str,
) -> Option<(String, f64)> {
    let waited = |row: &CallSiteRow| {
        let mut waits = row.waits.iter();
        let of = waits.find(|waits| waits.wait_state == wait_state);
        of.map_or(0, |waits| waits.time_ns)
    };
    let mut sites = since(before, after);
    sites.retain(|of| of.function == function);
    let sites: Vec<(&CallSiteRow, u64)> = (sites.iter())
        .map(|of| {
            let then = of.before.map_or(0, waited);
            (of.row, waited(of.row).saturating_sub(then))
        })
        .collect();
    let all: u64 = sites.iter().map(|(_, ns)| ns).sum();
    let known = sites.into_iter().filter(|(row, _)| row.kind == "code");
    let (most, ns) = known.max_by_key(|(_, ns)| *ns)?;
    (ns > 0).then(|| (place(most), ns as f64 / all as f64))
}

/// Where a function is called, if it is one place.
pub(super) fn place_of(
    before: &CallSitesReply,
    after: &CallSitesReply,
    function: &str,
) -> Option<String> {
    let mut sites = since(before, after);
    sites.retain(|of| of.function == function);
    let all: u64 = sites.iter().map(|of| of.time_ns).sum();
    let most = sites.iter().max_by_key(|of| of.time_ns)?;
    let is_one = all > 0 && most.time_ns as f64 >= ONE_PLACE * all as f64;
    is_one.then(|| place(most.row))
}

/// "61 % of the time in MPI is MPI_Allreduce at solve (solver.c:212): 1,200 calls a second and
/// rank, of 8 B each".
pub(super) fn most(site: &Site, interval_ns: u64) -> String {
    let mut text = format!(
        "{} of the time in MPI is {}",
        share(site.share, 1.0),
        site.function,
    );
    if !site.place.is_empty() {
        text.push_str(&format!(" at {}", site.place));
    }
    let rate = site.rate(interval_ns);
    if rate >= 1.0 {
        text.push_str(&format!(", {} calls a second and rank", count(rate as u64)));
        if site.bytes > 0 && site.calls > 0 {
            text.push_str(&format!(", {} each", bytes(site.bytes / site.calls)));
        }
    }
    text
}

/// "rank 0 alone receives 99.9 % of the bytes, 4.2 GiB/s, in MPI_Recv at collect (io.c:31)".
pub(super) fn receives(of: &Receiver, interval_ns: u64) -> String {
    let rate = of.bytes as f64 / (interval_ns as f64 * 1e-9);
    format!(
        "rank {} alone receives {} of the bytes, {}/s, in {} at {}",
        of.rank,
        share(of.share, 1.0),
        bytes(rate as u64),
        of.function,
        of.place
    )
}
