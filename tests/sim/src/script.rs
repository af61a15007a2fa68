//! What is asked from above, and when.

use crate::agenda::{SECOND, Time};
use crate::case::{Case, stream};
use invivo_proto::control::tree::{Command, Query, Verb};
use invivo_proto::ids::CommandId;
use invivo_tbon::root::Ask;

/// When the last ask comes at the latest.
pub const SCRIPT_NS: Time = 5 * SECOND;

/// The asks of a case with their times.
pub fn plan(case: &Case) -> Vec<(Time, Ask)> {
    let mut rng = stream(case.seed, "script");
    let mut asks = Vec::new();
    for _ in 0..case.questions {
        let query = match rng.u32(..4) {
            0 => Query::Functions { per_rank: true },
            1 => Query::Functions { per_rank: false },
            2 => Query::Matrix,
            _ => Query::Status,
        };
        asks.push((rng.u64(..SCRIPT_NS), Ask::Query(query)));
    }
    let mut given: Vec<(Time, Command)> = Vec::new();
    for id in 0..case.commands {
        // One in three repeats an earlier one, at once or later.
        let (after, command) = match given.get(rng.usize(..given.len().max(1))) {
            Some(&(at, ref earlier)) if rng.u32(..3) == 0 => (at, earlier.clone()),
            _ => {
                let pause = Verb::Pause {
                    lease_ns: rng.u64(..SECOND / 2),
                };
                let verb = if rng.bool() { pause } else { Verb::Resume };
                (
                    rng.u64(..SCRIPT_NS / 2),
                    Command {
                        id: CommandId(u64::from(id)),
                        verb,
                    },
                )
            }
        };
        given.push((after + rng.u64(..SCRIPT_NS / 2), command));
    }
    asks.extend(given.into_iter().map(|(at, command)| (at, Ask::Command(command))));
    asks
}
