//! Strategies that sort calls into levels, written once more without the code of the buffer.

use crate::full_record::all;
use crate::kept::Known;
use invivo_proto::mpi;
use invivo_proto::record::Call;
use serde_json::Value;
use std::path::Path;

/// A rule of a strategy.
enum Rule {
    /// The number of halvings.
    Iterations(u32),
    /// The bounds of its levels, as logarithms to base 2 of ticks.
    Shorter(Vec<u32>),
    Class {
        is_call: bool,
    },
    Depth,
}

/// Gives each call its level. Level 0 is given up first.
pub struct Sorter {
    strategy: &'static str,
    rules: Vec<Rule>,
    /// Iterations that have ended so far.
    iterations: u64,
    barrier: u16,
}

impl Sorter {
    /// The sorter of a strategy. The bounds of its levels in ticks are in the answer of `buffers`.
    pub fn new(strategy: &'static str, buffers: &Value) -> Sorter {
        let levels = buffers["levels"].as_array().expect("levels");
        let shorter = levels
            .iter()
            .filter_map(|level| level["shorter_than_log2_ticks"].as_u64());
        let shorter: Vec<u32> = shorter.map(|log2| log2 as u32).collect();

        let rule = |rule: &str| match rule.split_once(':')? {
            ("iterations", value) => Some(Rule::Iterations(value.split('@').next()?.parse().ok()?)),
            ("duration", _) => Some(Rule::Shorter(shorter.clone())),
            ("class", class) => Some(Rule::Class {
                is_call: class == "call",
            }),
            ("depth", _) => Some(Rule::Depth),
            _ => None,
        };

        let barrier = mpi::FUNCTIONS
            .iter()
            .position(|function| function.name == "MPI_Barrier");
        Sorter {
            strategy,
            rules: strategy.split(',').filter_map(rule).collect(),
            iterations: 0,
            barrier: barrier.expect("a function") as u16,
        }
    }

    fn level(&mut self, call: &Call) -> usize {
        // The barrier itself belongs to the iteration that it ends.
        let iteration = self.iterations;
        if call.facts.region.0 == self.barrier {
            self.iterations += 1;
        }

        let mut below = 0;
        for rule in &self.rules {
            match rule {
                Rule::Iterations(halvings) => {
                    // Iterations are numbered from 1; before the first barrier there is none.
                    if iteration != 0 && iteration.trailing_zeros() < *halvings {
                        return below + iteration.trailing_zeros() as usize;
                    }
                    below += *halvings as usize;
                }
                Rule::Shorter(bounds) => {
                    if let Some(level) = bounds.iter().position(|log2| call.duration < 1 << log2) {
                        return below + level;
                    }
                    below += bounds.len();
                }
                Rule::Class { is_call: true } => return below,
                Rule::Class { is_call: false } => below += 1,
                // No call is inside of another region.
                Rule::Depth => below += 8,
            }
        }
        below
    }
}

/// Checks what a buffer keeps: of one level the newest calls, of all levels above it every call, of
/// those below it none.
pub fn assert_is_the_strategys(sorter: &mut Sorter, kept: &[Known], tap: &Path, rank: u32) {
    let last_end = kept.last().expect("something is kept").0;
    let what = format!("rank {rank} under {}", sorter.strategy);
    // The level of a call depends on all calls before it, so that the full record is needed.
    let mut levels: Vec<(u64, Vec<Known>)> = Vec::new();

    let mut next = kept.iter().peekable();
    all(tap, rank, |call, parts| {
        // Calls behind the last kept one came after the buffer was read.
        if call.end > last_end {
            return;
        }

        let level = sorter.level(call);
        if levels.len() <= level {
            levels.resize_with(level + 1, Default::default);
        }
        let (count, newest) = &mut levels[level];
        *count += 1;

        let facts = &call.facts;
        let known = (
            call.end,
            call.duration,
            facts.region.0,
            facts.tag,
            facts.bytes_out,
            parts.len(),
        );
        match next.next_if_eq(&&known) {
            Some(_) => newest.push(known),
            // A call of this level was given up: whatever is kept of it must be newer.
            None => newest.clear(),
        }
    });

    assert_eq!(
        next.next(),
        None,
        "{what}: it is kept and was never taken, or is in no order"
    );

    let found: usize = levels.iter().map(|(_, newest)| newest.len()).sum();
    assert_eq!(
        found,
        kept.len(),
        "{what}: something of a level is kept and something newer of it is not"
    );

    // The lowest level of which something is kept may be incomplete.
    let occupied = levels.iter().filter(|(count, _)| *count > 0);
    let mut of_higher = occupied.skip_while(|(_, newest)| newest.is_empty());
    of_higher.next();
    for (count, newest) in of_higher {
        assert_eq!(
            newest.len() as u64,
            *count,
            "{what}: a lower level is kept beside a part of this one"
        );
    }
}
