//! The strategy of a buffer as plain data with a text: what it keeps when not everything fits.
//!
//! A place makes its buffers' own strategy of it, with its clock's ticks for nanoseconds.
//!
//! ```text
//! strategy  rule{,rule}[,time]              detail is given up in the order of the rules
//! rule      duration:1ms                    short calls first; those of at least 1 ms stay longest
//!           iterations:4@MPI_Barrier        every second iteration first, four times over;
//!                                           one in 16 stays longest
//!           depth:2                         the deepest regions first, with the calls in them;
//!                                           what is at most 2 deep stays longest
//!           class:region                    all visits of regions, or all calls (class:call), or
//!                                           all samples (class:sample)
//!           samples                         every second sample first, then every second of what
//!                                           is left: and ranks are sampled less often
//! time      the oldest first: what holds for everything that no rule claims;
//!           alone it is the flight recorder
//! ```
//!
//! The language has more words, for events that nothing records yet. No user reaches them: reading
//! a text refuses what has no effect, and only [`Strategy::parse`] reads them.
//!
//! ```text
//! class:metric    all metrics
//! cap=50%         at half of the buffer all that is no sample is dropped, for good
//! ```

mod text;

use super::record_class::RecordClass;
use crate::ids::RegionId;
use crate::mpi;
use alloc::format;
use alloc::string::String;
use bincode::{Decode, Encode};
use core::fmt;

/// Rules of a strategy: one of each kind, and some twice.
pub const RULES_MAX: usize = 8;
/// Levels of a strategy, what no rule claims included: each costs a buffer memory and a bin that is
/// not full.
pub const LEVELS_MAX: u32 = 64;
/// Depths that a rule distinguishes; what is deeper goes first, all together.
pub const DEPTH_LEVELS: u8 = 8;
/// Powers of two that a rule distinguishes; what is shorter goes first, all together.
pub const DURATION_LEVELS: u8 = 8;
/// How often a rule halves the frequency of samples: 1 kHz comes down to one per minute.
pub const SAMPLE_LEVELS: u8 = 16;
/// How often a rule halves the number of iterations: one in 65,536 is left.
pub const ITERATION_LEVELS_MAX: u8 = 16;

/// Bytes that a buffer must have for each level: four of the smallest bins. It works as it should
/// with eight times as many.
pub const LEVEL_BYTES_MIN: u64 = 4096;

/// In which order a buffer gives up detail. Without rules it is a flight recorder: the newest is
/// kept complete.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Strategy {
    /// In their order; what is given goes before what is not.
    rules: [Option<Rule>; RULES_MAX],
    /// Part of the buffer that what is no sample may take before all of it is dropped, in
    /// thousandths; 0 is all of it.
    cap_permille: u16,
}

/// Some events, and how they are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Rule {
    /// All events of a class.
    Class(RecordClass),
    /// Calls and regions deeper than `kept`, the deepest first.
    Depth {
        /// The greatest depth that is not claimed.
        kept: u8,
    },
    /// Calls and regions, the shortest first.
    Duration {
        /// From so many ns on they are not claimed. A place takes the power of two of its clock's
        /// ticks below.
        kept_ns: u64,
    },
    /// What ends in an iteration: of every second one first, then of every second of what is left.
    /// A location's iteration ends with each of its calls of a function on `MPI_COMM_WORLD` (or on
    /// none, where the function has none).
    Iterations {
        /// How often.
        levels: u8,
        at: RegionId,
    },
    /// Samples by their ordinals: every second one first, then every second of what is left.
    Samples,
}

impl Rule {
    /// Levels that it sorts into.
    pub const fn levels(&self) -> u8 {
        match *self {
            Rule::Class(_) => 1,
            Rule::Depth { .. } => DEPTH_LEVELS,
            Rule::Duration { .. } => DURATION_LEVELS,
            Rule::Iterations { levels, .. } => levels,
            Rule::Samples => SAMPLE_LEVELS,
        }
    }
}

/// Why a text or a list of rules is no strategy; a sentence that says what would be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoStrategy(pub String);

impl fmt::Display for NoStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for NoStrategy {}

impl Strategy {
    /// The newest complete.
    pub const FLIGHT_RECORDER: Strategy = Strategy {
        rules: [None; RULES_MAX],
        cap_permille: 0,
    };

    /// These rules in their order, and a cap in thousandths of the buffer (0: none).
    ///
    /// # Errors
    /// When there are too many, the same rule comes twice, or a number is out of its bounds.
    pub fn new(rules: &[Rule], cap_permille: u16) -> Result<Strategy, NoStrategy> {
        if rules.len() > RULES_MAX {
            return Err(NoStrategy(format!(
                "a strategy has at most {RULES_MAX} rules"
            )));
        }

        if cap_permille > 1000 {
            return Err(NoStrategy("a cap is a part of the buffer: cap=50%".into()));
        }
        let mut strategy = Strategy {
            cap_permille,
            ..Strategy::FLIGHT_RECORDER
        };

        for (index, rule) in rules.iter().enumerate() {
            check(rule)?;
            if rules[..index].contains(rule) {
                return Err(NoStrategy(format!(
                    "{rule} comes twice; the second claims nothing"
                )));
            }
            // A list of fixed length keeps a strategy `Copy` and its encoding bounded.
            strategy.rules[index] = Some(*rule);
        }

        if strategy.levels() > LEVELS_MAX {
            let levels = strategy.levels();
            return Err(NoStrategy(format!(
                "{levels} levels are too many, at most {LEVELS_MAX} are possible: give fewer \
                 rules, or fewer iterations"
            )));
        }

        Ok(strategy)
    }

    /// Its rules, in the order in which detail is given up.
    pub fn rules(&self) -> impl Iterator<Item = Rule> + Clone + '_ {
        self.rules.iter().flatten().copied()
    }

    /// Part of the buffer that what is no sample may take before all of it is dropped, in
    /// thousandths.
    pub fn cap_permille(&self) -> Option<u16> {
        (self.cap_permille != 0).then_some(self.cap_permille)
    }

    /// Levels that it sorts into, what no rule claims included.
    pub fn levels(&self) -> u32 {
        1 + self
            .rules()
            .map(|rule| u32::from(rule.levels()))
            .sum::<u32>()
    }

    /// The smallest buffer that can keep like that, in bytes.
    pub fn buffer_bytes_min(&self) -> u64 {
        u64::from(self.levels()) * LEVEL_BYTES_MIN
    }

    /// The function at whose calls iterations end; the first one, where rules differ.
    pub fn iterations_at(&self) -> Option<RegionId> {
        self.rules().find_map(|rule| match rule {
            Rule::Iterations { at, .. } => Some(at),
            _ => None,
        })
    }
}

fn check(rule: &Rule) -> Result<(), NoStrategy> {
    match *rule {
        Rule::Duration { kept_ns: 0 } => Err(NoStrategy(
            "no call is shorter than 0; give duration:1ms".into(),
        )),
        Rule::Iterations { levels, .. } if !(1..=ITERATION_LEVELS_MAX).contains(&levels) => {
            Err(NoStrategy(format!(
                "iterations are halved 1 to {ITERATION_LEVELS_MAX} times, not {levels}: \
                 iterations:4@MPI_Barrier"
            )))
        }
        // Region 0 is no function: it is a call of which nobody noted the name.
        Rule::Iterations { at, .. } if at.0 == 0 || usize::from(at.0) >= mpi::FUNCTIONS.len() => {
            Err(NoStrategy(
                "iterations end at a function: iterations:4@MPI_Barrier".into(),
            ))
        }
        _ => Ok(()),
    }
}

impl fmt::Debug for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Strategy({self})")
    }
}
