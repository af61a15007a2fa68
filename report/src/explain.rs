//! What limits a job now, in one sentence, from what its ranks did in the last seconds.
//!
//! The efficiencies of the POP project say which kind of limit it is: where the load balance is the
//! smaller factor, the rank that computes longest; where it is the communication efficiency, that
//! ranks wait for each other in turn (then the load is uneven in every moment, and even over the
//! interval), or communicate. Wait states say how much of it is waiting for a rank that comes late,
//! and for which; call sites where in the program the time in MPI is.

mod computing;
mod outside;
mod run;
mod sites;
mod waits;

use crate::units::{duration, share};
pub use computing::Computing;
use computing::computing;
use invivo_grpc::v1::{
    CallSitesReply, Efficiency, GridReply, JobStatus, ProfileReply, WaitStatesReply,
};
use outside::outside_mpi;
pub use outside::{COMPUTE, METRICS, OutsideMpi};
pub use run::{Run, explain_run};
use serde::{Deserialize, Serialize};
pub use sites::Site;
use sites::most;
pub use waits::Waiting;

/// From this parallel efficiency on there is nothing to say.
const GOOD: f64 = 0.85;
/// With fewer columns it cannot be seen that ranks take turns.
const COLUMNS_MIN: usize = 8;
/// From this share of the time in MPI on waiting is what the ranks do there.
const WAITS: f64 = 0.5;

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
    /// The wait states at the beginning and at the end.
    pub waits_before: WaitStatesReply,
    pub waits_after: WaitStatesReply,
    /// Between the two, in ns.
    pub interval_ns: u64,
    /// Samples of the rank that computes longest, taken in the interval, where it is sampled; see
    /// [`culprit`].
    pub samples: Option<ProfileReply>,
    /// Of computing ([`COMPUTE`]) and of [`METRICS`], by rank and over the same time in the
    /// interval, where they are measured of the rank that computes longest.
    pub measured: Vec<GridReply>,
    /// It is a whole run, which is over.
    pub whole: bool,
}

/// Which kind of limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Explanation {
    pub limit: Limit,
    pub sentence: String,
    pub interval_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Efficiency>,
    /// The rank that computes longest, where that is the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// In which function that rank is most, where it is sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computing: Option<Computing>,
    /// What that rank did outside MPI when it was not computing, where metrics are measured of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_mpi: Option<OutsideMpi>,
    /// Where most of the time in MPI is, where call sites are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// Waiting for ranks that come late, where wait states are looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}

/// Explains what was seen.
pub fn explain_seen(seen: &Seen) -> Explanation {
    explain(seen, sites::site(&seen.before, &seen.after))
}

/// The rank that is said to compute longest, where that is what limits the job: of it more can be
/// told by its samples.
pub fn culprit(seen: &Seen) -> Option<u32> {
    explain_seen(seen).rank
}

/// Explains it, with the call site that has most of the time in MPI.
fn explain(seen: &Seen, site: Option<Site>) -> Explanation {
    let efficiency = seen.grid.efficiency;
    let waiting = efficiency.and_then(|of| {
        let all_ns = seen.interval_ns as f64 * f64::from(of.ranks);
        let in_mpi_ns = (1.0 - of.parallel_efficiency) * all_ns;
        waits::waiting(&seen.waits_before, &seen.waits_after, in_mpi_ns)
    });
    let (limit, sentence) = match (unknown(seen), &efficiency) {
        (Some(why), _) => (Limit::Unknown, why),
        (None, None) => (
            Limit::Unknown,
            "Nothing was recorded in this time; see which analyses are on: invivo analyses".into(),
        ),
        (None, Some(of)) => judged(seen, of, site.as_ref(), waiting.as_ref()),
    };
    let rank = efficiency
        .filter(|_| limit == Limit::LoadBalance)
        .map(|of| of.max_rank);
    Explanation {
        limit,
        sentence,
        interval_ns: seen.interval_ns,
        computing: (limit == Limit::LoadBalance)
            .then(|| seen.samples.as_ref().and_then(computing))
            .flatten(),
        outside_mpi: rank.and_then(|rank| outside_mpi(&seen.measured, rank)),
        rank,
        efficiency: efficiency.filter(|_| limit != Limit::Unknown),
        site: site.filter(|_| limit != Limit::Unknown),
        waiting: waiting.filter(|_| limit != Limit::Unknown),
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
    let forgotten = |reply: &WaitStatesReply| {
        let ledger = reply.coverage.as_ref().and_then(|coverage| coverage.ledger);
        ledger.map_or(0, |ledger| ledger.reset)
    };
    if forgotten(&seen.waits_before) != forgotten(&seen.waits_after) {
        return Some("Everything so far was forgotten in this time; ask again".into());
    }
    if seen.status.pause.is_some() || counts.paused > 0 {
        return Some("The application is paused; let it go on: invivo resume".into());
    }
    (counts.held > 0)
        .then(|| "Ranks are held behind MPI_Init; let them go on: invivo resume".into())
}

fn judged(
    seen: &Seen,
    of: &Efficiency,
    site: Option<&Site>,
    waiting: Option<&Waiting>,
) -> (Limit, String) {
    let percent = |part: f64| share(part, 1.0);
    let numbers = format!(
        "parallel efficiency {}, load balance {}, communication efficiency {}",
        percent(of.parallel_efficiency),
        percent(of.load_balance),
        percent(of.communication_efficiency)
    );
    let time = duration(seen.interval_ns);
    let when = match seen.whole {
        true => format!("over the run of {time}"),
        false => format!("in the last {time}"),
    };
    if of.parallel_efficiency >= GOOD {
        let text = format!(
            "Nothing limits it: {when} the ranks computed for {} of the time \
             ({numbers})",
            percent(of.parallel_efficiency)
        );
        return (Limit::None, text);
    }
    let in_mpi = 1.0 - of.parallel_efficiency;
    let counts = seen.status.ranks.unwrap_or_default();
    let none_ended = !seen.whole && site.is_none_or(|site| site.calls == 0);
    if none_ended && in_mpi > GOOD && counts.computing == 0 {
        let text = format!(
            "No MPI call has ended {when}, and no rank computes; see who waits for \
             whom: invivo hang"
        );
        return (Limit::Standstill, text);
    }
    let at = site.map_or_else(String::new, |site| {
        format!("; {}", most(site, seen.interval_ns))
    });
    if of.load_balance < of.communication_efficiency {
        let longer = percent(1.0 / of.load_balance - 1.0);
        // Of a rank that waits itself nothing is said while another one is known to be late.
        let waits = waiting.filter(|one| one.share >= WAITS && one.causer == Some(of.max_rank));
        let waits = waits.map_or_else(String::new, |of| format!(", in {}", waits::told(of)));
        let computes = seen.samples.as_ref().and_then(computing);
        let computes =
            computes.map_or_else(String::new, |of| format!(", {}", computing::told(&of)));
        let outside = outside_mpi(&seen.measured, of.max_rank)
            .as_ref()
            .and_then(outside::told);
        let outside = outside.map_or_else(String::new, |told| format!(", though {told}"));
        let text = format!(
            "Rank {} computes {longer} longer than the mean of {} ranks {when}{computes}{outside}, \
             and the others wait{waits} ({numbers}){at}",
            of.max_rank, of.ranks
        );
        return (Limit::LoadBalance, text);
    }
    let moments = moments(&seen.grid);
    // At any time somebody computes, and few do.
    if moments.is_some_and(|(balance, busiest)| balance < GOOD && busiest >= GOOD) {
        let at_once = of.parallel_efficiency * f64::from(of.ranks);
        let text = format!(
            "Ranks compute in turn: {at_once:.1} of {} at a time {when}, and the \
             others wait, though each computes as long as the next ({numbers}){at}",
            of.ranks
        );
        return (Limit::Serialisation, text);
    }
    if let Some(waiting) = waiting.filter(|of| of.share >= WAITS) {
        // Whoever they wait for computes as long as the others, so that it waits as well.
        let text = format!(
            "Ranks wait for each other in turn, for {} of their time in MPI {when}, \
             though each computes as long as the next: {} ({numbers}){at}",
            percent(waiting.share),
            waits::told(waiting)
        );
        return (Limit::Serialisation, text);
    }
    let known = match waiting {
        Some(of) => format!("; {} of that is waiting for late ranks", percent(of.share)),
        None => String::new(),
    };
    let text = format!(
        "The ranks communicate: they are in MPI for {} of their time {when}, all alike{known}{} \
         ({numbers}){at}",
        percent(in_mpi),
        waits::unmatched(&seen.waits_after, site)
    );
    (Limit::Communication, text)
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

#[cfg(test)]
mod tests;
