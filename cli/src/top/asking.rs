//! What is asked before something is done to the job, and what is told afterwards.

use crate::steer::Order;
use crate::view::command;
use invivo_grpc::v1::CommandReply;
use invivo_report::units::{counted, duration};
use std::time::Duration;

/// The question before an order is given to a job of `ranks` ranks.
pub fn question(order: Order, ranks: u32) -> String {
    let ranks = counted(ranks.into(), "rank");
    match order {
        Order::Pause(lease) => format!(
            "Pause the application ({ranks}) for at most {}? y/n",
            time(lease)
        ),
        Order::Resume => format!("Let the application ({ranks}) go on? y/n"),
        Order::Hold(lease) => format!(
            "Hold {ranks} behind MPI_Init for at most {}? y/n",
            time(lease)
        ),
        Order::Reset => "Forget everything recorded so far? y/n".to_owned(),
        Order::Record(true) => format!("Switch recording on ({ranks})? y/n"),
        Order::Record(false) => format!("Switch recording off ({ranks} run on unobserved)? y/n"),
        Order::Window(length) => format!(
            "Forget everything so far and record {} only? y/n",
            time(length)
        ),
        Order::Strategy(strategy) => format!("Let the buffers of {ranks} keep by {strategy}? y/n"),
        Order::Shutdown => "End the measurement? y/n".to_owned(),
    }
}

/// While it is done.
pub fn progress(order: Order) -> String {
    match order {
        Order::Pause(_) => "pausing ...".to_owned(),
        Order::Resume => "resuming ...".to_owned(),
        Order::Hold(_) => "holding ...".to_owned(),
        Order::Reset => "resetting ...".to_owned(),
        Order::Record(true) => "switching recording on ...".to_owned(),
        Order::Record(false) => "switching recording off ...".to_owned(),
        Order::Window(length) => format!("recording a window of {} ...", time(length)),
        Order::Strategy(_) => "changing the buffers ...".to_owned(),
        Order::Shutdown => "ending the measurement ...".to_owned(),
    }
}

/// How it went, in a line that begins with what matters, and whether it was done on every rank.
pub fn outcome(order: Order, reply: &CommandReply) -> (String, bool) {
    let sentence = order.sentence(reply);
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
fn time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 1..60 if time.subsec_nanos() == 0 => format!("{seconds} s"),
        seconds @ 60..3600 if time.subsec_nanos() == 0 && seconds.is_multiple_of(60) => {
            format!("{} min", seconds / 60)
        }
        _ => duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{CommandFailure, SlowestRank};

    #[test]
    fn every_order_says_what_it_would_do() {
        let minute = Duration::from_secs(60);
        let questions = [
            Order::Pause(10 * minute),
            Order::Resume,
            Order::Record(false),
            Order::Record(true),
            Order::Reset,
            Order::Window(Duration::from_millis(1500)),
        ]
        .map(|order| question(order, 8));
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
        assert_eq!(time(Duration::from_secs(2)), "2 s");
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
        let pause = Order::Pause(Duration::ZERO);
        assert_eq!(
            outcome(pause, &reply),
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
        let (text, complete) = outcome(Order::Reset, &missing);
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
            outcome(pause, &failed)
                .0
                .starts_with("rank 2: its supervisor is gone; paused 6")
        );
        assert!(!outcome(pause, &CommandReply::default()).1, "of nobody");
    }
}
