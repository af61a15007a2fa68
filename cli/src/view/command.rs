//! Sentences about the outcome of a command: ranks that acknowledged, cuts, failures.

use invivo_grpc::v1::{CommandReply, Cut};
use invivo_report::terminal;
use invivo_report::units::{counted, duration};

/// Whether every rank has acknowledged, and there was one.
pub fn complete(reply: &CommandReply) -> bool {
    // A command to no rank at all is not a success: the job may not have started.
    reply.targets > 0
        && reply.done == reply.targets
        && reply.failures.is_empty()
        && reply.missing.is_empty()
}

/// "paused 8 of 8 ranks in 3.1 ms, slowest rank 5 (3 held in MPI, 1 partly held)".
pub fn sentence(done: &str, reply: &CommandReply) -> String {
    let ranks = counted(reply.targets.into(), "rank");
    let mut text = format!(
        "{done} {} of {ranks} in {}",
        reply.done,
        duration(reply.took_ns)
    );
    if let Some(slowest) = &reply.slowest {
        text.push_str(&format!(", slowest rank {}", slowest.rank));
    }
    let held = [
        (reply.held_in_mpi, "held in MPI"),
        (reply.partly, "partly held"),
    ];
    let held: Vec<String> = held
        .iter()
        .filter(|(ranks, _)| *ranks > 0)
        .map(|(ranks, how)| format!("{ranks} {how}"))
        .collect();
    if !held.is_empty() {
        text.push_str(&format!(" ({})", held.join(", ")));
    }
    text
}

/// Where the cuts of a command lay and what they cut: "from 12.5 s to 14.5 s after the start (2.00
/// s; the ranks' clocks agree within 3.00 us), complete 12.0 ms after its end, 4 calls clipped, 1
/// call still open". Nothing of a command that cuts nothing.
pub fn cuts(reply: &CommandReply) -> Option<String> {
    let from = reply.from.as_ref()?;
    let mut text = match &reply.to {
        Some(to) => format!(
            "from {} to {} after the start ({}; {})",
            moment(from),
            moment(to),
            // From the first place that began to the last that ended: every rank's window lies
            // within.
            duration(to.latest_ns.saturating_sub(from.earliest_ns)),
            agreement(from.error_ns.max(to.error_ns)),
        ),
        None => format!(
            "cut at {} after the start ({})",
            moment(from),
            agreement(from.error_ns)
        ),
    };
    if let Some(to) = reply.to.as_ref().filter(|_| reply.complete_ns > 0) {
        let after = duration(reply.complete_ns.saturating_sub(to.latest_ns));
        text.push_str(&format!(", complete {after} after its end"));
    }
    if reply.clipped > 0 {
        text.push_str(&format!(", {} clipped", counted(reply.clipped, "call")));
    }
    if reply.open > 0 {
        text.push_str(&format!(", {} still open", counted(reply.open, "call")));
    }
    Some(text)
}

fn agreement(error_ns: u64) -> String {
    format!("clocks agree within {}", duration(error_ns))
}

/// A point in job time in seconds to the microsecond; where tool places received the command too
/// late, the earliest and the latest.
fn moment(cut: &Cut) -> String {
    let spread = cut.latest_ns.saturating_sub(cut.earliest_ns);
    if spread == 0 {
        seconds(cut.earliest_ns)
    } else {
        let late = duration(spread);
        format!(
            "{}, on some ranks {late} later as they heard of it too late,",
            seconds(cut.earliest_ns)
        )
    }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}

/// Who has not acknowledged, one line each.
pub fn failures(reply: &CommandReply) -> Vec<String> {
    let ranks = reply
        .failures
        .iter()
        .map(|failure| format!("rank {}: {}", failure.rank, terminal::line(&failure.why)));
    let missing = reply
        .missing
        .iter()
        .map(|world| format!("the tool process of world rank {world} did not answer"));
    ranks.chain(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{CommandFailure, SlowestRank};

    fn reply() -> CommandReply {
        let slowest = Some(SlowestRank {
            rank: 5,
            time_ns: 2_000_000,
        });
        CommandReply {
            targets: 8,
            done: 8,
            slowest,
            took_ns: 3_100_000,
            ..CommandReply::default()
        }
    }

    fn cut(earliest_ns: u64, latest_ns: u64) -> Option<Cut> {
        Some(Cut {
            earliest_ns,
            latest_ns,
            error_ns: 3_000,
        })
    }

    #[test]
    fn a_pause_of_all_is_a_sentence() {
        assert_eq!(
            sentence("paused", &reply()),
            "paused 8 of 8 ranks in 3.10 ms, slowest rank 5"
        );
        let held = CommandReply {
            held_in_mpi: 3,
            partly: 1,
            ..reply()
        };
        assert!(
            sentence("paused", &held).ends_with("slowest rank 5 (3 held in MPI, 1 partly held)")
        );
        assert!(complete(&held));
        assert_eq!(cuts(&held), None);
    }

    #[test]
    fn cuts_are_told_with_their_error() {
        let reset = CommandReply {
            from: cut(1_500_000_000, 1_500_000_000),
            ..reply()
        };
        assert_eq!(
            cuts(&reset).as_deref(),
            Some("cut at 1.500000 s after the start (clocks agree within 3.00 us)")
        );
        let window = CommandReply {
            from: cut(12_500_000_000, 12_500_000_000),
            to: cut(14_500_000_000, 14_500_000_000),
            complete_ns: 14_512_000_000,
            clipped: 4,
            open: 1,
            ..reply()
        };
        assert_eq!(
            cuts(&window).as_deref(),
            Some(
                "from 12.500000 s to 14.500000 s after the start (2.00 s; clocks agree within 3.00 \
                 us), complete 12.0 ms after \
                 its end, 4 calls clipped, 1 call still open"
            )
        );
        let late = CommandReply {
            from: cut(1_500_000_000, 1_501_000_000),
            ..reply()
        };
        assert!(
            cuts(&late)
                .is_some_and(|text| text.contains("1.500000 s, on some ranks 1.00 ms later")),
            "a late place is not hidden"
        );
    }

    #[test]
    fn whoever_is_missing_makes_it_incomplete() {
        let failures_in = |reply: CommandReply| (complete(&reply), failures(&reply));
        let why = CommandFailure {
            rank: 2,
            why: "its supervisor is gone".into(),
        };
        let failed = CommandReply {
            done: 7,
            failures: vec![why],
            ..reply()
        };
        assert_eq!(
            failures_in(failed),
            (false, vec!["rank 2: its supervisor is gone".into()])
        );
        let missing = CommandReply {
            done: 4,
            missing: vec![9],
            ..reply()
        };
        assert_eq!(
            failures_in(missing),
            (
                false,
                vec!["the tool process of world rank 9 did not answer".into()]
            )
        );
        assert!(!complete(&CommandReply::default()), "nobody was paused");
    }
}
