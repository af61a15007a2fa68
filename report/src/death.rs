//! Sentences about a rank's death: how, in which call, and which ranks were waiting for it.

use crate::timeline_pages::EndContext;
use crate::units::{count, duration};
use invivo_grpc::convert;
use invivo_proto::control::tree::{Ended, RankEnded};
use invivo_proto::ids::RegionId;
use invivo_proto::mpi::ABORT;

/// Waiting ranks that a sentence names.
const WAITERS_NAMED: usize = 3;

/// How a rank ended, for behind its name.
pub fn how(ended: &RankEnded) -> String {
    match (ended.how, ended.inside) {
        // The call's argument as the program gave it: of an exit status only eight bits arrive.
        (Ended::Code(code), Some(ABORT)) => format!("called MPI_Abort({code})"),
        (Ended::Code(code), _) => {
            format!("left with exit code {code} before MPI_Finalize was complete")
        }
        (Ended::Signal(signal), _) => {
            format!("was killed by signal {signal}{}", signal_name(signal))
        }
    }
}

/// A sentence about a rank that ended otherwise than through `MPI_Finalize`, without its full stop.
pub fn sentence(ended: &RankEnded) -> String {
    let how = how(ended);
    match ended.inside {
        Some(ABORT) => format!("rank {} {how}", ended.rank),
        // With recording off the wrapper notes that it is in MPI, but not the function.
        Some(RegionId(0)) => format!("rank {} {how}, in an MPI call", ended.rank),
        Some(region) => format!(
            "rank {} {how}, in {}",
            ended.rank,
            convert::function_name(region)
        ),
        None => format!("rank {} {how}, outside MPI", ended.rank),
    }
}

/// That the job was asked to end, as a batch system does at the time limit; of others, nothing.
pub fn asked(saved: &EndContext) -> Option<String> {
    let signal = saved.asked_by?;
    Some(format!(
        "the job was asked to end by signal {signal}{}",
        signal_name(signal)
    ))
}

/// What a result is of which the tool process ended so.
pub fn tool_process(ended: Ended) -> String {
    let how = match ended {
        Ended::Code(code) => format!("left with exit code {code}"),
        Ended::Signal(signal) => format!("was killed by signal {signal}{}", signal_name(signal)),
    };
    format!(
        "the tool process {how}: what it held is lost, and this is what lay in the shared memory \
         of its ranks then"
    )
}

/// The ranks that were waiting: "ranks 0 and 3 were waiting for rank 2, rank 3 for 1.20 s in
/// MPI_Wait"; nothing where none was.
pub fn waiting(saved: &EndContext) -> Option<String> {
    let first = saved.waiters.first()?;
    let whom = saved.whom;
    // The longest first: of many, those that have waited longest are named.
    let mut ranks: Vec<u32> = saved.waiters.iter().map(|waiter| waiter.rank).collect();
    // Clocks of two nodes may put the begin behind the end.
    let for_ns = saved.to_ns.saturating_sub(first.since_ns);
    let longest = format!("{} in {}", duration(for_ns), first.function);
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
    use invivo_archive::waiters::Waiter;
    use invivo_proto::ids::Rank;

    fn saved(ranks: &[u32]) -> EndContext {
        EndContext {
            waiters: ranks
                .iter()
                .map(|rank| Waiter {
                    rank: *rank,
                    function: "MPI_Wait".into(),
                    since_ns: 1_000_000_000,
                })
                .collect(),
            whom: 2,
            to_ns: 2_500_000_000,
            ..EndContext::default()
        }
    }

    #[test]
    fn each_way_to_die_has_its_words() {
        let send = RegionId(
            invivo_proto::mpi::FUNCTIONS
                .iter()
                .position(|f| f.name == "MPI_Send")
                .unwrap() as u16,
        );
        for (how, inside, expected) in [
            (
                Ended::Signal(9),
                Some(send),
                "was killed by signal 9 (SIGKILL), in MPI_Send",
            ),
            (
                Ended::Signal(11),
                None,
                "was killed by signal 11 (SIGSEGV), outside MPI",
            ),
            // A real-time signal has no name.
            (
                Ended::Signal(34),
                None,
                "was killed by signal 34, outside MPI",
            ),
            (Ended::Code(7), Some(ABORT), "called MPI_Abort(7)"),
            (Ended::Code(-1), Some(ABORT), "called MPI_Abort(-1)"),
            (
                Ended::Code(3),
                Some(RegionId(0)),
                "left with exit code 3 before MPI_Finalize was complete, in an MPI call",
            ),
        ] {
            let rank = Rank(5);
            assert_eq!(
                sentence(&RankEnded { rank, how, inside }),
                format!("rank 5 {expected}")
            );
        }
    }

    /// Who was waiting is named as far as a sentence bears it.
    #[test]
    fn a_sentence_names_a_few_waiting_ranks() {
        assert_eq!(waiting(&saved(&[])), None);
        assert_eq!(
            waiting(&saved(&[3])).as_deref(),
            Some("rank 3 was waiting for rank 2, for 1.50 s in MPI_Wait")
        );
        assert_eq!(
            waiting(&saved(&[3, 0])).as_deref(),
            Some("ranks 0 and 3 were waiting for rank 2, rank 3 for 1.50 s in MPI_Wait")
        );
        assert_eq!(
            waiting(&saved(&[3, 0, 1, 7, 9])).as_deref(),
            Some("ranks 0, 1, 3 and 2 more were waiting for rank 2, rank 3 for 1.50 s in MPI_Wait")
        );
    }
}
