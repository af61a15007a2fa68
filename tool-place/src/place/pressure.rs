//! Says when a place does not keep up with its ranks, and what to ask for.

use super::local_ranks::LocalRanks;
use crate::time_point::{LATENCY_NS, Now};
use invivo_proto::packet::DropReason;

/// Records as old as this are late: ten times what one waits for at most where the place keeps up.
const LATE_NS: u64 = 10 * LATENCY_NS;

/// The sentence for the status answer, where calls were dropped for want of a packet or records
/// wait too long.
pub fn note(now: Now, local: &LocalRanks) -> Option<String> {
    let coverage = local.coverage(now);
    let dropped = coverage.ledger.dropped[DropReason::NoPacket as usize];
    let what = match (dropped, coverage.lag_ns) {
        (0, lag_ns) if lag_ns < LATE_NS => return None,
        (0, lag_ns) => format!("records wait for {:.1} s", lag_ns as f64 / 1e9),
        (dropped, _) => format!("{dropped} calls dropped for want of a free packet"),
    };
    let ranks: Vec<u32> = local.numbers().map(|rank| rank.0).collect();
    Some(match ranks.as_slice() {
        [first, .., last] => format!(
            "the tool place of ranks {first} to {last} does not keep up: {what}; --fan-in {} gives \
             them two",
            ranks.len().div_ceil(2),
        ),
        ranks => format!(
            "the tool place of rank {} does not keep up: {what}; give it a core of its own",
            ranks.first().copied().unwrap_or_default(),
        ),
    })
}
