//! What limits a job, in one sentence, from what its ranks did in the last seconds, or in a time
//! that is past.
//!
//! The efficiencies of the POP project say which kind of limit it is: where the load balance is the
//! smaller factor, the rank that computes longest; where it is the communication efficiency, that
//! ranks wait for each other in turn (then the load is uneven in every moment, and even over the
//! interval), or communicate. Wait states say how much of it is waiting for a rank that comes late,
//! and for which; call sites where in the program the time in MPI is. What each moment was like
//! tells two late ranks from one, and one stretch from all of the time.

mod computing;
mod growth;
mod idle;
mod judged;
mod measured;
mod moments;
mod outside;
mod phases;
mod run;
mod seen;
mod sites;
mod small;
mod waits;

pub use computing::Computing;
use computing::computing;
pub use growth::{Growth, MOVED};
use invivo_grpc::v1::{Efficiency, WaitStatesReply};
use judged::judged;
pub use measured::COMPUTE;
use measured::Whose;
use outside::outside_mpi;
pub use outside::{METRICS, OutsideMpi};
pub use run::{Run, explain_run};
pub use seen::{Limit, Seen, Time};
use serde::{Deserialize, Serialize};
pub use sites::{Receiver, Site};
pub use small::Small;
pub use waits::{Late, Waiting};

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
    /// What that rank did outside MPI when it was not computing, where metrics are measured of it;
    /// where there is no such rank, what the ranks did in the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_mpi: Option<OutsideMpi>,
    /// Where most of the time in MPI is, where call sites are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// Waiting for ranks that come late, where wait states are looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// Of ranks that communicate: how their calls have grown, where they have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
}

/// Explains what was seen.
pub fn explain_seen(seen: &Seen) -> Explanation {
    explain(
        seen,
        sites::site(&seen.before, &seen.after, seen.interval_ns),
    )
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
        // What is on now says nothing of a time that is past: it has the waits that were found.
        let analysis = seen.waits_after.analysis.as_ref();
        let is_off = analysis.is_some_and(|analysis| analysis.on == 0);
        if is_off && !matches!(seen.time, Time::Past { .. }) {
            return None;
        }
        let of = waits::waiting(&seen.waits_before, &seen.waits_after, in_mpi_ns)?;
        let at = sites::waited_at(&seen.before, &seen.after, &of.wait_state, &of.function);
        let (place, place_share) = at.unwrap_or_default();
        Some(Waiting {
            place,
            place_share,
            ..of
        })
    });
    let mut explanation = Explanation {
        limit: Limit::Unknown,
        sentence: String::new(),
        interval_ns: seen.interval_ns,
        efficiency: None,
        rank: None,
        computing: None,
        outside_mpi: None,
        site: None,
        waiting: None,
        growth: None,
    };
    let of = match (unknown(seen), efficiency) {
        (Some(why), _) => {
            explanation.sentence = why;
            return explanation;
        }
        (None, None) => {
            explanation.sentence =
                "Nothing was recorded in this time; see which analyses are on: invivo analyses"
                    .into();
            return explanation;
        }
        (None, Some(of)) => of,
    };
    let judged = judged(seen, &of, site.as_ref(), waiting.as_ref());
    let whose = judged.rank.map_or(Whose::All, Whose::Rank);
    let computing = || seen.samples.as_ref().and_then(computing);
    Explanation {
        limit: judged.limit,
        sentence: judged.sentence,
        efficiency: Some(of),
        computing: judged.rank.and_then(|_| computing()),
        outside_mpi: outside_mpi(&seen.measured, whose),
        rank: judged.rank,
        growth: judged.growth,
        site,
        waiting: waiting.map(|waiting| Waiting {
            late: judged.late,
            ..waiting
        }),
        ..explanation
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
    if seen.time != Time::Lately {
        // What the job does now has no part in it.
        return None;
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

#[cfg(test)]
mod tests;
