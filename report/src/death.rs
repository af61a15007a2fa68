//! Sentences about a rank's death: how, in which call, and which ranks were waiting for it.

use crate::rows::{EndedRow, ToolEndedRow, WaitingRow, ns};
use crate::units::{count, duration};

/// Waiting ranks that a sentence names.
const WAITERS_NAMED: usize = 3;
/// The call that ends a rank itself.
pub(crate) const ABORT: &str = "MPI_Abort";

/// How a rank ended, for behind its name.
pub fn how(ended: &EndedRow) -> String {
    match (ended.signal, ended.code, ended.inside.as_deref()) {
        (Some(signal), ..) => format!("was killed by signal {signal}{}", signal_name(signal)),
        // The call's argument as the program gave it: of an exit status only eight bits arrive.
        (None, Some(code), Some(ABORT)) => format!("called MPI_Abort({code})"),
        (None, Some(code), _) => {
            format!("left with exit code {code} before MPI_Finalize was complete")
        }
        (None, None, _) => "ended before MPI_Finalize was complete".to_owned(),
    }
}

/// A sentence about a rank that ended otherwise than through `MPI_Finalize`, without its full stop.
pub fn sentence(ended: &EndedRow) -> String {
    let how = how(ended);
    match ended.inside.as_deref() {
        Some(ABORT) => format!("rank {} {how}", ended.rank),
        Some(function) => format!("rank {} {how}, in {function}", ended.rank),
        None => format!("rank {} {how}, outside MPI", ended.rank),
    }
}

/// That the job was asked to end, as a batch system does at the time limit; of others, nothing.
pub fn asked(by_signal: Option<i32>) -> Option<String> {
    let signal = by_signal?;
    Some(format!(
        "the job was asked to end by signal {signal}{}",
        signal_name(signal)
    ))
}

/// What a result is of which the tool process ended so.
pub fn tool_process(ended: &ToolEndedRow) -> String {
    let how = match (ended.signal, ended.code) {
        (Some(signal), _) => format!("was killed by signal {signal}{}", signal_name(signal)),
        (None, Some(code)) => format!("left with exit code {code}"),
        (None, None) => "ended".to_owned(),
    };
    format!(
        "the tool process {how}: what it held is lost, and this is what lay in the shared memory \
         of its ranks then"
    )
}

/// The ranks that were waiting for the first that ended: "ranks 0 and 3 were waiting for rank 2,
/// rank 3 for 1.20 s in MPI_Wait"; nothing where none was.
pub fn waiting(ended: &[EndedRow], waiting: &[WaitingRow]) -> Option<String> {
    let first = waiting.first()?;
    let whom = ended.first().map_or(0, |ended| ended.rank);
    // The longest first: of many, those that have waited longest are named.
    let mut ranks: Vec<u32> = waiting.iter().map(|waiter| waiter.rank).collect();
    let longest = format!("{} in {}", duration(ns(first.seconds)), first.inside);
    if let [rank] = ranks[..] {
        return Some(format!(
            "rank {rank} was waiting for rank {whom}, for {longest}"
        ));
    }
    let all = ranks.len();
    ranks.truncate(WAITERS_NAMED);
    // Chosen by their waits, named in their order.
    ranks.sort_unstable();
    let names: Vec<String> = ranks.iter().map(u32::to_string).collect();
    let who = match (all - names.len(), names.split_last()) {
        (0, Some((last, before))) => format!("ranks {} and {last}", before.join(", ")),
        (more, _) => format!("ranks {} and {} more", names.join(", "), count(more as u64)),
    };
    Some(format!(
        "{who} were waiting for rank {whom}, rank {} for {longest}",
        first.rank
    ))
}

/// The name of a signal in parentheses; of an unknown one nothing.
pub(crate) fn signal_name(signal: i32) -> String {
    let name = nix::sys::signal::Signal::try_from(signal);
    name.map_or_else(
        |_| String::new(),
        |signal| format!(" ({})", signal.as_str()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_die_has_its_words() {
        let ended = |signal, code, inside: Option<&str>| EndedRow {
            rank: 5,
            signal,
            code,
            inside: inside.map(str::to_owned),
            fault: None,
        };
        for (ended, expected) in [
            (
                ended(Some(9), None, Some("MPI_Send")),
                "was killed by signal 9 (SIGKILL), in MPI_Send",
            ),
            (
                ended(Some(11), None, None),
                "was killed by signal 11 (SIGSEGV), outside MPI",
            ),
            // A real-time signal has no name.
            (
                ended(Some(34), None, None),
                "was killed by signal 34, outside MPI",
            ),
            (ended(None, Some(7), Some(ABORT)), "called MPI_Abort(7)"),
            (ended(None, Some(-1), Some(ABORT)), "called MPI_Abort(-1)"),
            (
                ended(None, Some(3), Some("an MPI call")),
                "left with exit code 3 before MPI_Finalize was complete, in an MPI call",
            ),
        ] {
            assert_eq!(sentence(&ended), format!("rank 5 {expected}"));
        }
    }

    /// Who was waiting is named as far as a sentence bears it.
    #[test]
    fn a_sentence_names_a_few_waiting_ranks() {
        let dead = [EndedRow {
            rank: 2,
            ..EndedRow::default()
        }];
        let of = |ranks: &[u32]| {
            let row = |rank: &u32| WaitingRow {
                rank: *rank,
                inside: "MPI_Wait".into(),
                seconds: 1.5,
            };
            waiting(&dead, &ranks.iter().map(row).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(
            of(&[3]).as_deref(),
            Some("rank 3 was waiting for rank 2, for 1.50 s in MPI_Wait")
        );
        assert_eq!(
            of(&[3, 0]).as_deref(),
            Some("ranks 0 and 3 were waiting for rank 2, rank 3 for 1.50 s in MPI_Wait")
        );
        assert_eq!(
            of(&[3, 0, 1, 7, 9]).as_deref(),
            Some("ranks 0, 1, 3 and 2 more were waiting for rank 2, rank 3 for 1.50 s in MPI_Wait")
        );
    }
}
