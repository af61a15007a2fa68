//! How much of the time in MPI over an interval was waiting for a rank that came late, and for
//! which: wait states by Scalasca's definitions.

use super::Site;
use crate::units::share;
use invivo_grpc::v1::{WaitStateRow, WaitStatesReply};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What waits without a cause ends with: the operation takes its time.
const COMPLETION: &str = "Completion";
/// What functions for messages of two ranks begin with, but for the collectives among them.
const OF_MESSAGES: [&str; 9] = [
    "MPI_Send",
    "MPI_Ssend",
    "MPI_Rsend",
    "MPI_Bsend",
    "MPI_Recv",
    "MPI_Mrecv",
    "MPI_Wait",
    "MPI_Probe",
    "MPI_Mprobe",
];

/// Waiting over an interval.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Waiting {
    /// Of the time in MPI, what was waited for a rank that came late. Late senders are only known
    /// where messages are matched.
    pub share: f64,
    /// The wait state with the most of it, by Scalasca's name.
    pub wait_state: String,
    /// In which MPI function.
    pub function: String,
    /// Of the time in MPI.
    pub wait_state_share: f64,
    /// The rank that the others waited for longest, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causer: Option<u32>,
    /// Of all that was waited.
    pub causer_share: f64,
}

/// What was waited between two answers, of so much time in MPI of all ranks, in ns. Nothing where
/// nobody waited, or it was not looked for.
pub(super) fn waiting(
    before: &WaitStatesReply,
    after: &WaitStatesReply,
    in_mpi_ns: f64,
) -> Option<Waiting> {
    let is_on = after
        .analysis
        .as_ref()
        .is_none_or(|analysis| analysis.on > 0);
    let key = |row: &WaitStateRow| (row.wait_state.clone(), row.function.clone());
    let then: BTreeMap<_, _> = (before.rows.iter())
        .map(|row| (key(row), row.time_ns))
        .collect();
    let rows: Vec<(&WaitStateRow, u64)> = after
        .rows
        .iter()
        .filter(|row| !row.wait_state.ends_with(COMPLETION))
        .map(|row| {
            let then = then.get(&key(row)).copied().unwrap_or(0);
            (row, row.time_ns.saturating_sub(then))
        })
        .collect();
    let all: u64 = rows.iter().map(|(_, time)| time).sum();
    let (most, time) = rows.into_iter().max_by_key(|(_, time)| *time)?;
    if !is_on || all == 0 || in_mpi_ns <= 0.0 {
        return None;
    }
    // A wait that ends in the interval may have begun before.
    let part = |time: u64| (time as f64 / in_mpi_ns).min(1.0);
    let causer = causer(before, after);
    Some(Waiting {
        share: part(all),
        wait_state: most.wait_state.clone(),
        function: most.function.clone(),
        wait_state_share: part(time),
        causer: causer.map(|(rank, _)| rank),
        causer_share: causer.map_or(0.0, |(_, caused)| (caused as f64 / all as f64).min(1.0)),
    })
}

/// The rank that made others wait longest, and for how long.
fn causer(before: &WaitStatesReply, after: &WaitStatesReply) -> Option<(u32, u64)> {
    let then: BTreeMap<u32, u64> = (before.ranks.iter())
        .map(|of| (of.rank, of.caused_ns))
        .collect();
    // Of a rank that the first answer had no room for it is not known what it caused since.
    let had_all = before.ranks.len() >= before.ranks_total as usize;
    let since = after.ranks.iter().filter_map(|of| {
        let then = then.get(&of.rank).copied();
        let then = then.or(had_all.then_some(0))?;
        Some((of.rank, of.caused_ns.saturating_sub(then)))
    });
    // Of equals the lowest rank.
    let most = since.max_by_key(|(rank, caused)| (*caused, std::cmp::Reverse(*rank)));
    most.filter(|(_, caused)| *caused > 0)
}

/// "Wait at Barrier in MPI_Barrier (91.2 % of the time in MPI), 97.3 % of it for rank 3".
pub(super) fn told(of: &Waiting) -> String {
    let mut text = format!(
        "{} in {} ({} of the time in MPI)",
        of.wait_state,
        of.function,
        share(of.wait_state_share, 1.0)
    );
    if let Some(rank) = of.causer {
        text.push_str(&format!(
            "; {} of all waiting is for rank {rank}",
            share(of.causer_share, 1.0)
        ));
    }
    text
}

/// What is not known of waits while messages are not matched, and how to know it.
pub(super) fn unmatched(after: &WaitStatesReply, site: Option<&Site>) -> &'static str {
    let of_messages = |site: &Site| {
        let begins = |name: &&str| site.function.starts_with(name);
        OF_MESSAGES.iter().any(begins)
    };
    let messages = after.messages.as_ref();
    match messages.is_some_and(|of| of.on == 0) && site.is_some_and(of_messages) {
        true => {
            "; whether they wait for each other's messages is told after invivo analyses on \
                 messages"
        }
        false => "",
    }
}
