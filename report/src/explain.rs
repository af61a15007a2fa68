//! What limits a job now, in one sentence, from what its ranks did in the last seconds.
//!
//! The efficiencies of the POP project say which kind of limit it is: where the load balance is the
//! smaller factor, the rank that computes longest; where it is the communication efficiency, that
//! ranks wait for each other in turn (then the load is uneven in every moment, and even over the
//! interval), or communicate. Call sites say where in the program the time in MPI is.

use crate::call_sites::place;
use crate::units::{bytes, count, duration, share};
use invivo_grpc::v1::{CallSiteRow, CallSitesReply, Efficiency, GridReply, JobStatus};
use serde::Serialize;

/// From this parallel efficiency on there is nothing to say.
const GOOD: f64 = 0.85;
/// With fewer columns it cannot be seen that ranks take turns.
const COLUMNS_MIN: usize = 8;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// At the end of the interval.
    pub status: JobStatus,
    /// Of computing over the interval, in many columns.
    pub grid: GridReply,
    /// The call sites at the beginning and at the end.
    pub before: CallSitesReply,
    pub after: CallSitesReply,
    /// Between the two, in ns.
    pub interval_ns: u64,
}

/// Which kind of limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The job computes.
    None,
    /// Nothing can be said of it.
    Unknown,
    /// No MPI call has ended.
    Standstill,
    /// One rank computes longer than the others.
    LoadBalance,
    /// Ranks wait for each other in turn.
    Serialisation,
    /// Time in MPI that ranks spend alike.
    Communication,
}

/// The sentence, and what it is made of.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    pub limit: Limit,
    pub sentence: String,
    pub interval_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Efficiency>,
    /// The rank that computes longest, where that is the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Where most of the time in MPI is, where call sites are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
}

/// A call site over an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Site {
    pub function: String,
    /// As `solve (solver.c:212)`.
    pub place: String,
    /// Of the time in calls that ended in the interval.
    pub share: f64,
    pub calls: u64,
    pub bytes: u64,
    pub ranks: u32,
}

/// Explains what was seen.
pub fn explain(seen: &Seen) -> Explanation {
    let site = site(&seen.before, &seen.after);
    let efficiency = seen.grid.efficiency;
    let (limit, sentence) = match (unknown(seen), &efficiency) {
        (Some(why), _) => (Limit::Unknown, why),
        (None, None) => (
            Limit::Unknown,
            "Nothing was recorded in this time; see which analyses are on: invivo analyses".into(),
        ),
        (None, Some(of)) => judged(seen, of, site.as_ref()),
    };
    Explanation {
        limit,
        sentence,
        interval_ns: seen.interval_ns,
        rank: efficiency
            .filter(|_| limit == Limit::LoadBalance)
            .map(|of| of.max_rank),
        efficiency: efficiency.filter(|_| limit != Limit::Unknown),
        site: site.filter(|_| limit != Limit::Unknown),
    }
}

/// Why nothing can be said.
fn unknown(seen: &Seen) -> Option<String> {
    let coverage = seen.grid.coverage.clone().unwrap_or_default();
    let recording = seen.status.recording.unwrap_or_default();
    let counts = seen.status.ranks.unwrap_or_default();
    if coverage.ranks_reporting < coverage.ranks {
        return Some(format!(
            "Only {} of {} ranks report: see invivo status",
            coverage.ranks_reporting, coverage.ranks
        ));
    }
    if recording.shut_down {
        return Some("The measurement was shut down; the job runs on unobserved".into());
    }
    if recording.on == 0 && recording.off > 0 {
        return Some("Recording is off; switch it on: invivo record on".into());
    }
    if seen.status.pause.is_some() || counts.paused > 0 {
        return Some("The application is paused; let it go on: invivo resume".into());
    }
    (counts.held > 0)
        .then(|| "Ranks are held behind MPI_Init; let them go on: invivo resume".into())
}

fn judged(seen: &Seen, of: &Efficiency, site: Option<&Site>) -> (Limit, String) {
    let percent = |part: f64| share(part, 1.0);
    let numbers = format!(
        "parallel efficiency {}, load balance {}, communication efficiency {}",
        percent(of.parallel_efficiency),
        percent(of.load_balance),
        percent(of.communication_efficiency)
    );
    let last = duration(seen.interval_ns);
    if of.parallel_efficiency >= GOOD {
        let text = format!(
            "Nothing limits it: in the last {last} the ranks computed for {} of the time \
             ({numbers})",
            percent(of.parallel_efficiency)
        );
        return (Limit::None, text);
    }
    let in_mpi = 1.0 - of.parallel_efficiency;
    let counts = seen.status.ranks.unwrap_or_default();
    if site.is_none_or(|site| site.calls == 0) && in_mpi > GOOD && counts.computing == 0 {
        let text = format!(
            "No MPI call has ended in the last {last}, and no rank computes; see who waits for \
             whom: invivo hang"
        );
        return (Limit::Standstill, text);
    }
    let at = site.map_or_else(String::new, |site| {
        format!("; {}", most(site, seen.interval_ns))
    });
    if of.load_balance < of.communication_efficiency {
        let longer = percent(1.0 / of.load_balance - 1.0);
        let text = format!(
            "Rank {} computes {longer} longer than the mean of {} ranks in the last {last}, and \
             the others wait ({numbers}){at}",
            of.max_rank, of.ranks
        );
        return (Limit::LoadBalance, text);
    }
    let moments = moments(&seen.grid);
    // At any time somebody computes, and few do.
    if moments.is_some_and(|(balance, busiest)| balance < GOOD && busiest >= GOOD) {
        let at_once = of.parallel_efficiency * f64::from(of.ranks);
        let text = format!(
            "Ranks compute in turn: {at_once:.1} of {} at a time in the last {last}, and the \
             others wait, though each computes as long as the next ({numbers}){at}",
            of.ranks
        );
        return (Limit::Serialisation, text);
    }
    let text = format!(
        "The ranks are in MPI for {} of the last {last}, all alike: they communicate, or wait for \
         each other for less than can be told apart ({numbers}){at}",
        percent(in_mpi)
    );
    (Limit::Communication, text)
}

/// "61 % of the time in MPI is MPI_Allreduce at solve (solver.c:212): 1,200 calls a second and
/// rank, of 8 B each".
fn most(site: &Site, interval_ns: u64) -> String {
    let mut text = format!(
        "{} of the time in MPI is {} at {}",
        share(site.share, 1.0),
        site.function,
        site.place
    );
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

/// Over the columns, the mean load balance, and the mean part for which the rank that computes
/// longest does: what the ranks do at any time. Nothing of few columns.
fn moments(grid: &GridReply) -> Option<(f64, f64)> {
    let columns = grid.efficiencies.iter().filter_map(|one| one.efficiency);
    let columns: Vec<Efficiency> = columns.collect();
    let mean =
        |of: fn(&Efficiency) -> f64| columns.iter().map(of).sum::<f64>() / columns.len() as f64;
    (columns.len() >= COLUMNS_MIN).then(|| {
        (
            mean(|of| of.load_balance),
            mean(|of| of.communication_efficiency),
        )
    })
}

/// The call site with the most time between two answers.
fn site(before: &CallSitesReply, after: &CallSitesReply) -> Option<Site> {
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

#[cfg(test)]
mod tests;
