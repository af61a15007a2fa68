//! Questions before a command of `top`, and sentences about its outcome.

use crate::steer;
use crate::view::command;
use invivo_grpc::v1::CommandReply;
use invivo_proto::control::order::Order;
use invivo_report::units::{counted, duration};

/// The question before an order is given to a job of `ranks` ranks.
pub fn question(order: &Order, ranks: u32) -> String {
    let ranks = counted(ranks.into(), "rank");
    match order {
        Order::Pause { lease_ns } => format!(
            "Pause the application ({ranks}) for at most {}? y/n",
            time(*lease_ns)
        ),
        Order::Resume => format!("Let the application ({ranks}) go on? y/n"),
        Order::Hold { lease_ns } => format!(
            "Hold {ranks} behind MPI_Init for at most {}? y/n",
            time(*lease_ns)
        ),
        Order::Reset => "Forget everything recorded so far? y/n".to_owned(),
        Order::Record { on: true } => format!("Switch recording on ({ranks})? y/n"),
        Order::Record { on: false } => {
            format!("Switch recording off ({ranks} run on unobserved)? y/n")
        }
        Order::Window { length_ns } => format!(
            "Forget everything so far and record {} only? y/n",
            time(*length_ns)
        ),
        Order::Strategy { strategy } => {
            format!("Let the buffers of {ranks} keep by {strategy}? y/n")
        }
        Order::Analyses { these, on } => {
            let switch = if *on { "on" } else { "off" };
            format!("Switch {these} {switch} ({ranks})? y/n")
        }
        Order::Sampling(sampling) if !sampling.is_on() => {
            format!("End sampling of {ranks}? y/n")
        }
        Order::Sampling(_) => format!("Sample {ranks} at {order}? y/n"),
        Order::Select(selection) if steer::is_all(selection) => {
            format!("Record all regions and functions again ({ranks})? y/n")
        }
        Order::Select(selection) => {
            format!("Select ({ranks}) by {}? y/n", steer::rules(selection))
        }
        Order::Metrics(measured) if measured.set.is_empty() => {
            format!("Measure no metrics of {ranks} any longer? y/n")
        }
        Order::Metrics(measured) => format!("Measure {measured} ({ranks})? y/n"),
        Order::Overhead { cap: Some(cap) } => {
            format!("Keep the overhead below {cap} of the time of {ranks}? y/n")
        }
        Order::Overhead { cap: None } => "Take the cap off the overhead? y/n".to_owned(),
        Order::Shutdown => "End the measurement? y/n".to_owned(),
    }
}

/// While it is done.
pub fn progress(order: &Order) -> String {
    match order {
        Order::Pause { .. } => "pausing ...".to_owned(),
        Order::Resume => "resuming ...".to_owned(),
        Order::Hold { .. } => "holding ...".to_owned(),
        Order::Reset => "resetting ...".to_owned(),
        Order::Record { on: true } => "switching recording on ...".to_owned(),
        Order::Record { on: false } => "switching recording off ...".to_owned(),
        Order::Window { length_ns } => format!("recording a window of {} ...", time(*length_ns)),
        Order::Strategy { .. } => "changing the buffers ...".to_owned(),
        Order::Analyses { .. } => "switching analyses ...".to_owned(),
        Order::Sampling { .. } => "switching sampling ...".to_owned(),
        Order::Select(_) => "changing what is recorded ...".to_owned(),
        Order::Metrics(_) => "changing what is measured ...".to_owned(),
        Order::Overhead { .. } => "capping the overhead ...".to_owned(),
        Order::Shutdown => "ending the measurement ...".to_owned(),
    }
}

/// How it went, in a line that begins with what matters, and whether it was done on every rank.
pub fn outcome(order: &Order, reply: &CommandReply) -> (String, bool) {
    let sentence = steer::sentence(order, reply);
    if command::complete(reply) {
        return (sentence, true);
    }
    let failure = reply
        .failures
        .first()
        .map(|failure| format!("rank {}: {}; ", failure.rank, failure.why));
    let missing = reply
        .missing
        .first()
        .map(|world| format!("tool process {world} did not answer; "));
    let why = failure.or(missing).unwrap_or_default();
    (format!("{why}{sentence}"), false)
}

/// As [`duration`] of nanoseconds, and whole seconds without their digits behind the point.
fn time(ns: u64) -> String {
    match (ns / 1_000_000_000, ns % 1_000_000_000) {
        (seconds @ 1..60, 0) => format!("{seconds} s"),
        (seconds @ 60..3600, 0) if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        _ => duration(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{CommandFailure, SlowestRank};

    #[test]
    fn every_order_says_what_it_would_do() {
        let questions = [
            Order::Pause {
                lease_ns: 600_000_000_000,
            },
            Order::Resume,
            Order::Record { on: false },
            Order::Record { on: true },
            Order::Reset,
            Order::Window {
                length_ns: 1_500_000_000,
            },
        ]
        .map(|order| question(&order, 8));
        assert_eq!(
            questions,
            [
                "Pause the application (8 ranks) for at most 10 min? y/n",
                "Let the application (8 ranks) go on? y/n",
                "Switch recording off (8 ranks run on unobserved)? y/n",
                "Switch recording on (8 ranks)? y/n",
                "Forget everything recorded so far? y/n",
                "Forget everything so far and record 1.50 s only? y/n",
            ]
        );
        assert_eq!(time(2_000_000_000), "2 s");
    }

    #[test]
    fn an_outcome_begins_with_who_is_missing() {
        let reply = CommandReply {
            targets: 8,
            done: 8,
            took_ns: 3_100_000,
            held_in_mpi: 3,
            slowest: Some(SlowestRank {
                rank: 5,
                time_ns: 2_000_000,
            }),
            ..CommandReply::default()
        };
        let pause = Order::Pause { lease_ns: 0 };
        assert_eq!(
            outcome(&pause, &reply),
            (
                "paused 8 of 8 ranks in 3.10 ms, slowest rank 5 (3 held in MPI)".to_owned(),
                true
            )
        );
        let missing = CommandReply {
            done: 6,
            missing: vec![9],
            ..reply
        };
        let (text, complete) = outcome(&Order::Reset, &missing);
        assert!(!complete);
        assert!(
            text.starts_with("tool process 9 did not answer; reset 6 of 8 ranks"),
            "{text}"
        );
        let failed = CommandReply {
            failures: vec![CommandFailure {
                rank: 2,
                why: "its supervisor is gone".into(),
            }],
            ..missing
        };
        assert!(
            outcome(&pause, &failed)
                .0
                .starts_with("rank 2: its supervisor is gone; paused 6")
        );
        assert!(!outcome(&pause, &CommandReply::default()).1, "of nobody");
    }
}
