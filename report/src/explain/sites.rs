//! The call site in which most of the time in MPI was spent over an interval.

use crate::call_sites::place;
use crate::units::{bytes, count, share};
use invivo_grpc::v1::{CallSiteRow, CallSitesReply};
use serde::{Deserialize, Serialize};

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
}

/// The call site with the most time between two answers.
pub(super) fn site(before: &CallSitesReply, after: &CallSitesReply) -> Option<Site> {
    let is_off = |reply: &CallSitesReply| {
        let analysis = reply.analysis.as_ref();
        analysis.is_some_and(|analysis| analysis.on == 0)
    };
    if is_off(after) {
        return None;
    }
    let same = |a: &CallSiteRow, b: &CallSiteRow| {
        let function = |row: &CallSiteRow| row.calls.as_ref().map(|calls| calls.function.clone());
        (&a.kind, &a.file, a.offset, &a.build_id) == (&b.kind, &b.file, b.offset, &b.build_id)
            && function(a) == function(b)
    };
    let times = after.rows.iter().filter_map(|row| {
        let now = row.calls.as_ref()?;
        let then = before.rows.iter().find(|other| same(row, other));
        let then = then.and_then(|row| row.calls.as_ref());
        let then = then.map_or((0, 0, 0), |calls| {
            (calls.time_ns, calls.calls, calls.bytes_out + calls.bytes_in)
        });
        let time = now.time_ns.saturating_sub(then.0);
        let calls = now.calls.saturating_sub(then.1);
        let bytes = (now.bytes_out + now.bytes_in).saturating_sub(then.2);
        Some((row, now, time, calls, bytes))
    });
    let times: Vec<_> = times.collect();
    let all: u64 = times.iter().map(|(_, _, time, ..)| time).sum();
    let (row, now, time, calls, bytes) = times.into_iter().max_by_key(|(_, _, time, ..)| *time)?;
    (time > 0).then(|| Site {
        function: now.function.clone(),
        place: place(row),
        share: time as f64 / all as f64,
        calls,
        bytes,
        ranks: row.ranks,
    })
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
    let seconds = interval_ns as f64 * 1e-9;
    let rate = site.calls as f64 / seconds / f64::from(site.ranks.max(1));
    if rate >= 1.0 {
        text.push_str(&format!(", {} calls a second and rank", count(rate as u64)));
        if site.bytes > 0 && site.calls > 0 {
            text.push_str(&format!(", {} each", bytes(site.bytes / site.calls)));
        }
    }
    text
}
