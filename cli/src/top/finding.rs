//! Chooses the sentence about the job that matters most at present.

use super::picture::Picture;
use invivo_grpc::convert::state_name;
use invivo_grpc::v1::{
    AnalysisStatus, Coverage, FunctionRow, JobStatus, RankState, RankStatus, Snapshot,
};
use invivo_report::explain::Limit;
use invivo_report::functions::{mpi_ns_until_now, observed_mpi_ns};
use invivo_report::recording::span_ns;
use invivo_report::units::{count, counted, duration, share};

/// A call that lasts longer than this is worth a sentence, in ns: ordinary waits are far shorter.
const LONG_CALL_NS: u64 = 5_000_000_000;
/// Share of the calls that may be dropped before that is what matters most.
const DROPPED_SHARE: f64 = 0.01;
/// Ranks differ if one spends so many times the share of another in MPI.
const IMBALANCE: f64 = 1.5;
/// Below this share of time in MPI nothing else about MPI matters.
const MPI_MATTERS: f64 = 0.1;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// As it should be.
    Fine,
    /// Worth a look.
    Notable,
    /// Something is wrong with the job or the measurement.
    Trouble,
}

/// The sentence, and its weight.
pub fn finding(picture: &Picture) -> (String, Weight) {
    let Some(snapshot) = &picture.snapshot else {
        return (
            "Nothing has been seen of the job yet.".to_owned(),
            Weight::Fine,
        );
    };
    let coverage = snapshot.coverage.clone().unwrap_or_default();
    let status = snapshot.status.clone().unwrap_or_default();
    let trouble = |text| (text, Weight::Trouble);
    let notable = |text| (text, Weight::Notable);
    // In the order of importance: numbers that are wrong come before anything that they say.
    silence(&coverage)
        .map(trouble)
        .or_else(|| losses(&coverage).map(trouble))
        .or_else(|| unobserved(&status).map(notable))
        .or_else(|| without_functions(picture, &status).map(notable))
        .or_else(|| standstill(&status).map(notable))
        .or_else(|| stuck(picture, &status, &coverage))
        .or_else(|| explained(picture))
        .or_else(|| imbalance(&status).map(notable))
        .unwrap_or_else(|| (time_in_mpi(snapshot, &status, &coverage), Weight::Fine))
}

/// Without the table nothing below is known.
fn without_functions(picture: &Picture, status: &JobStatus) -> Option<String> {
    let is_off = |one: &AnalysisStatus| one.name == "functions" && one.off > 0;
    let off = status.analyses.iter().any(is_off);
    let sentence = picture.off("functions").filter(|_| off)?;
    Some(format!("{sentence}."))
}

fn silence(coverage: &Coverage) -> Option<String> {
    let missing = coverage.members_missing;
    (missing > 0).then(|| {
        format!(
            "{} not answer: {} of {} report.",
            if missing == 1 {
                "1 tool process does".to_owned()
            } else {
                format!("{missing} tool processes do")
            },
            coverage.ranks_reporting,
            counted(coverage.ranks.into(), "rank"),
        )
    })
}

fn losses(coverage: &Coverage) -> Option<String> {
    let ledger = coverage.ledger.unwrap_or_default();
    let dropped = dropped(coverage);
    (dropped as f64 > ledger.entered as f64 * DROPPED_SHARE).then(|| {
        format!(
            "{} of the calls were dropped: the tool places cannot keep up, numbers below are too \
             small.",
            share(dropped as f64, ledger.entered as f64)
        )
    })
}

/// Calls that were dropped, whatever the reason.
pub fn dropped(coverage: &Coverage) -> u64 {
    let ledger = coverage.ledger.unwrap_or_default();
    let shim = ledger.dropped.unwrap_or_default();
    shim.no_packet + shim.no_location + ledger.dropped_by_place
}

fn unobserved(status: &JobStatus) -> Option<String> {
    let recording = status.recording.as_ref()?;
    if recording.shut_down {
        return Some("The measurement was shut down; the job runs on unobserved.".to_owned());
    }
    (recording.on == 0 && recording.off > 0)
        .then(|| "Recording is off: the job runs unobserved, numbers stand still.".to_owned())
}

fn standstill(status: &JobStatus) -> Option<String> {
    let counts = status.ranks.unwrap_or_default();
    if let Some(pause) = &status.pause {
        return Some(format!(
            "The application stands still by command {}, for at most {} more.",
            pause.command_id,
            duration(pause.lease_left_ns)
        ));
    }
    (counts.held > 0).then(|| {
        format!(
            "{} right behind MPI_Init; P lets the application go on.",
            if counts.held == 1 {
                "1 rank stands".to_owned()
            } else {
                format!("{} ranks stand", counts.held)
            }
        )
    })
}

/// A rank that has been in one call for long; if no rank calls anything any more, perhaps for ever.
fn stuck(picture: &Picture, status: &JobStatus, coverage: &Coverage) -> Option<(String, Weight)> {
    let in_mpi = |rank: &&RankStatus| rank.state == i32::from(RankState::InMpi);
    let longest = status
        .named
        .iter()
        .filter(in_mpi)
        // Of equals the lowest rank, so that the sentence does not jump between ranks.
        .max_by_key(|rank| (rank.since_ns, std::cmp::Reverse(rank.rank)))
        .filter(|rank| rank.since_ns >= LONG_CALL_NS)?;
    let counts = status.ranks.unwrap_or_default();
    let (rank, function, since) = (longest.rank, &longest.function, duration(longest.since_ns));
    // Without a new call in the last interval: ranks that poll in MPI do get on.
    let idle = picture.history.last().calls_per_s == Some(0.0);
    if counts.in_mpi + counts.finished == coverage.ranks && idle {
        let text = format!(
            "No rank gets on: all {} are in MPI, rank {rank} in {function} for {since}. Deadlock?",
            counts.in_mpi
        );
        return Some((text, Weight::Trouble));
    }
    let text = format!("Rank {rank} has been in {function} for {since}.");
    Some((text, Weight::Notable))
}

/// What limits the job, by its last seconds. Nothing where that is not known.
fn explained(picture: &Picture) -> Option<(String, Weight)> {
    let told = picture.explained.as_ref()?;
    let weight = match told.limit {
        Limit::Unknown => return None,
        Limit::None | Limit::OffProcessor | Limit::Communication => Weight::Fine,
        Limit::LoadBalance | Limit::Serialisation | Limit::NoProcessor | Limit::IdleThreads => {
            Weight::Notable
        }
        Limit::Standstill => Weight::Trouble,
    };
    Some((format!("{}.", told.sentence), weight))
}

/// The rank that waits least is the one that the others wait for.
fn imbalance(status: &JobStatus) -> Option<String> {
    let span_ns = span_ns(status);
    if status.named.len() < 2 || span_ns == 0 {
        return None;
    }
    let of = |rank: &RankStatus| rank.mpi_ns as f64 / span_ns as f64;
    let (least, most) = (status.named.first()?, status.named.last()?);
    (of(most) > MPI_MATTERS && of(most) > IMBALANCE * of(least)).then(|| {
        format!(
            "Rank {} spends {} of its time in MPI and rank {} only {}: the others wait for it.",
            most.rank,
            share(of(most).min(1.0), 1.0),
            least.rank,
            share(of(least).min(1.0), 1.0),
        )
    })
}

/// The functions of which the time is part of the time observed, the one with the most time first.
pub fn observed(rows: &[FunctionRow]) -> impl Iterator<Item = &FunctionRow> {
    rows.iter()
        .filter(|row| observed_mpi_ns(std::slice::from_ref(row)) > 0)
}

fn time_in_mpi(snapshot: &Snapshot, status: &JobStatus, coverage: &Coverage) -> String {
    // Initialisation lies before the time that is observed.
    let Some(top) = observed(&snapshot.functions).next() else {
        let counts = status.ranks.unwrap_or_default();
        return if counts.starting > 0 {
            format!(
                "{} of {} ranks are still starting.",
                counts.starting, coverage.ranks
            )
        } else {
            format!(
                "No MPI call has ended yet; {} {}.",
                counted(coverage.ranks_reporting.into(), "rank"),
                state_name(RankState::Computing.into())
            )
        };
    };
    let in_mpi = mpi_ns_until_now(&snapshot.functions, status);
    let rank_ns = span_ns(status) as f64 * f64::from(coverage.ranks_reporting);
    format!(
        "The ranks spend {} of their time in MPI, most of it in {} ({}, {} calls).",
        // A call that began before the span counts as a whole, so the sum may exceed it.
        share((in_mpi as f64).min(rank_ns), rank_ns),
        top.function,
        share(top.time_ns as f64, in_mpi as f64),
        count(top.calls),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::model::Event;
    use crate::top::samples;
    use invivo_grpc::v1::{DroppedByShim, PauseStatus, RankCounts, RecordingStatus};
    use invivo_report::explain::Explanation;

    fn of(change: impl Fn(&mut Coverage, &mut JobStatus)) -> (String, Weight) {
        let mut snapshot = samples::snapshot(2);
        let (mut coverage, mut status) = (
            snapshot.coverage.take().expect("coverage"),
            snapshot.status.take().expect("status"),
        );
        change(&mut coverage, &mut status);
        (snapshot.coverage, snapshot.status) = (Some(coverage), Some(status));
        let first = samples::snapshot(1);
        let model =
            samples::model(&[first, snapshot].map(|snapshot| Event::Snapshot(Box::new(snapshot))));
        finding(&model.live)
    }

    #[test]
    fn what_matters_most_is_said() {
        assert_eq!(
            of(|_, _| ()),
            (
                "Rank 2 spends 80.0 % of its time in MPI and rank 3 only 20.0 %: the others wait \
                 for it."
                    .to_owned(),
                Weight::Notable
            )
        );
        let even = of(|_, status| status.named.truncate(1));
        assert_eq!(
            even,
            (
                "The ranks spend 50.0 % of their time in MPI, most of it in MPI_Allreduce (75.0 %, \
                 6,000 calls)."
                    .to_owned(),
                Weight::Fine
            )
        );
        let stands = of(|_, status| {
            status.pause = Some(PauseStatus {
                command_id: 7,
                lease_left_ns: 60_000_000_000,
            });
        });
        assert!(
            stands
                .0
                .starts_with("The application stands still by command 7, for at most 1 min")
        );
        let off = of(|_, status| {
            status.recording = Some(RecordingStatus {
                off: 4,
                ..RecordingStatus::default()
            });
        });
        assert!(off.0.starts_with("Recording is off"), "{off:?}");
        let lossy = of(|coverage, _| {
            let ledger = coverage.ledger.as_mut().expect("ledger");
            ledger.dropped = Some(DroppedByShim {
                no_packet: 1_000,
                ..DroppedByShim::default()
            });
        });
        assert!(
            lossy.0.starts_with("10.0 % of the calls were dropped") && lossy.1 == Weight::Trouble
        );
        let silent =
            of(|coverage, _| (coverage.members_missing, coverage.ranks_reporting) = (1, 2));
        assert_eq!(
            silent.0,
            "1 tool process does not answer: 2 of 4 ranks report."
        );
    }

    #[test]
    fn the_last_seconds_say_more_than_the_whole() {
        let told = |limit| Explanation {
            limit,
            sentence: "Ranks compute in turn".into(),
            interval_ns: 10,
            efficiency: None,
            computing: None,
            outside_mpi: None,
            rank: None,
            site: None,
            waiting: None,
            growth: None,
        };
        let mut picture = samples::model(&[Event::Snapshot(Box::new(samples::snapshot(1)))]).live;
        let before = finding(&picture);
        picture.explained = Some(told(Limit::Serialisation));
        let sentence = "Ranks compute in turn.".to_owned();
        assert_eq!(finding(&picture), (sentence, Weight::Notable));
        picture.explained = Some(told(Limit::Unknown));
        assert_eq!(finding(&picture), before);
    }

    #[test]
    fn a_job_in_which_nobody_gets_on_is_told() {
        let long = of(|_, status| status.named[3].since_ns = 2 * LONG_CALL_NS);
        assert_eq!(
            long,
            (
                "Rank 2 has been in MPI_Recv for 10.0 s.".to_owned(),
                Weight::Notable
            )
        );
        let dead = of(|coverage, status| {
            status.named[3].since_ns = 2 * LONG_CALL_NS;
            status.ranks = Some(RankCounts {
                in_mpi: 4,
                ..RankCounts::default()
            });
            coverage.ledger = samples::snapshot(1)
                .coverage
                .and_then(|coverage| coverage.ledger);
        });
        assert_eq!(
            dead,
            (
                "No rank gets on: all 4 are in MPI, rank 2 in MPI_Recv for 10.0 s. Deadlock?"
                    .to_owned(),
                Weight::Trouble
            )
        );
    }
}
