//! What a buffer keeps when not everything fits, as plain data with a text. A place makes its
//! buffers' own strategy of it, with its clock's ticks for nanoseconds.
//!
//! ```text
//! strategy  rule{,rule}[,time][,cap=P%]     detail is given up in the order of the rules
//! rule      duration:1ms                    short calls first; those of at least 1 ms stay longest
//!           iterations:4@MPI_Barrier        every second iteration first, four times over; one in 16 stays longest
//!           depth:2                         the deepest first; what is at most 2 deep stays longest
//!           class:metric                    all of a class: call, region, sample or metric
//!           samples                         every second sample first, then every second of what is left
//! time      the oldest first: what holds for everything that no rule claims; alone it is the flight recorder
//! cap=50%   at half of the buffer all that is no sample is dropped, for good
//! ```

use super::buffers::RecordClass;
use crate::ids::RegionId;
use crate::mpi;
use alloc::format;
use alloc::string::String;
use bincode::{Decode, Encode};
use core::fmt;
use core::str::FromStr;

/// Rules of a strategy: one of each kind, and some twice.
pub const RULES_MAX: usize = 8;
/// Levels of a strategy, what no rule claims included: each costs a buffer memory and a bin that is
/// not full.
pub const LEVELS_MAX: u32 = 64;
/// Depths that a rule tells apart; what is deeper goes first, all together.
pub const DEPTH_LEVELS: u8 = 8;
/// Powers of two that a rule tells apart; what is shorter goes first, all together.
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
        /// The function.
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
            strategy.rules[index] = Some(*rule);
        }
        if strategy.levels() > LEVELS_MAX {
            let levels = strategy.levels();
            return Err(NoStrategy(format!(
                "{levels} levels are too many, at most {LEVELS_MAX} are possible: give fewer rules, or fewer iterations"
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
                "iterations are halved 1 to {ITERATION_LEVELS_MAX} times, not {levels}: iterations:4@MPI_Barrier"
            )))
        }
        Rule::Iterations { at, .. } if at.0 == 0 || usize::from(at.0) >= mpi::FUNCTIONS.len() => {
            Err(NoStrategy(
                "iterations end at a function: iterations:4@MPI_Barrier".into(),
            ))
        }
        _ => Ok(()),
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Rule::Class(class) => write!(f, "class:{}", class.name()),
            Rule::Depth { kept } => write!(f, "depth:{kept}"),
            Rule::Duration { kept_ns } => {
                let (unit_ns, unit) = UNITS
                    .into_iter()
                    .find(|(unit_ns, _)| kept_ns.is_multiple_of(*unit_ns))
                    .unwrap_or((1, "ns"));
                write!(f, "duration:{}{unit}", kept_ns / unit_ns)
            }
            Rule::Iterations { levels, at } => write!(f, "iterations:{levels}@{}", mpi::name(at)),
            Rule::Samples => f.write_str("samples"),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for rule in self.rules() {
            write!(f, "{between}{rule}")?;
            between = ",";
        }
        if between.is_empty() {
            f.write_str("time")?;
        }
        match self.cap_permille() {
            None => Ok(()),
            Some(permille) if permille.is_multiple_of(10) => write!(f, ",cap={}%", permille / 10),
            Some(permille) => write!(f, ",cap={}.{}%", permille / 10, permille % 10),
        }
    }
}

impl fmt::Debug for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Strategy({self})")
    }
}

/// Units of time, the longest first.
const UNITS: [(u64, &str); 4] = [
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1_000, "us"),
    (1, "ns"),
];

impl FromStr for Strategy {
    type Err = NoStrategy;

    fn from_str(text: &str) -> Result<Strategy, NoStrategy> {
        let mut rules = [Rule::Samples; RULES_MAX];
        let (mut count, mut cap_permille, mut is_complete) = (0, 0, false);
        for word in text.split(',').map(str::trim) {
            if let Some(part) = word.strip_prefix("cap=") {
                if cap_permille != 0 {
                    return Err(NoStrategy("there is one cap at most".into()));
                }
                cap_permille = permille(part)?;
                continue;
            }
            if is_complete {
                return Err(NoStrategy(format!(
                    "{word} stands behind `time`, which claims everything: give `time` last, or not at all"
                )));
            }
            if word == "time" {
                is_complete = true;
                continue;
            }
            let rule = rule(word)?;
            *rules
                .get_mut(count)
                .ok_or_else(|| NoStrategy(format!("a strategy has at most {RULES_MAX} rules")))? =
                rule;
            count += 1;
        }
        Strategy::new(&rules[..count], cap_permille)
    }
}

fn rule(word: &str) -> Result<Rule, NoStrategy> {
    let (name, value) = word.split_once(':').unwrap_or((word, ""));
    match name {
        "class" => {
            let class = RecordClass::ALL
                .into_iter()
                .find(|class| class.name() == value);
            let class = class.ok_or_else(|| {
                NoStrategy(format!(
                    "{value:?} is no class; there are call, region, sample and metric"
                ))
            })?;
            Ok(Rule::Class(class))
        }
        "depth" => {
            let kept = value.parse();
            let kept = kept.map_err(|_| {
                NoStrategy(format!("{value:?} is no depth; give 0 to 255, as depth:2"))
            })?;
            Ok(Rule::Depth { kept })
        }
        "duration" => Ok(Rule::Duration {
            kept_ns: duration(value)?,
        }),
        "iterations" => {
            let wrong = || {
                NoStrategy(format!(
                    "{value:?} are no iterations; give how often they are halved and the function that ends them, as \
                     iterations:4@MPI_Barrier"
                ))
            };
            let (levels, function) = value.split_once('@').ok_or_else(wrong)?;
            let levels = levels.parse().map_err(|_| wrong())?;
            let at = mpi::FUNCTIONS
                .iter()
                .position(|known| known.recorded && known.name == function);
            let at = at.and_then(|at| u16::try_from(at).ok()).ok_or_else(|| {
                NoStrategy(format!(
                    "{function:?} is no MPI function whose calls are recorded, as MPI_Barrier is"
                ))
            })?;
            Ok(Rule::Iterations {
                levels,
                at: RegionId(at),
            })
        }
        "samples" if value.is_empty() => Ok(Rule::Samples),
        _ => Err(NoStrategy(format!(
            "{word:?} is no rule of a strategy; there are time, duration:1ms, iterations:4@MPI_Barrier, depth:2, class:metric, \
             samples and cap=50%, joined by commas in the order in which detail is given up"
        ))),
    }
}

fn duration(value: &str) -> Result<u64, NoStrategy> {
    let digits = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let unit_ns = UNITS
        .into_iter()
        .find(|(_, name)| *name == unit)
        .map(|(unit_ns, _)| unit_ns);
    let ns = number.parse::<u64>().ok().zip(unit_ns);
    ns.and_then(|(number, unit_ns)| number.checked_mul(unit_ns))
        .ok_or_else(|| {
            NoStrategy(format!(
                "{value:?} is no duration; give one as 500ns, 20us, 1ms or 2s"
            ))
        })
}

/// Per cent with at most one digit behind the point, in thousandths.
fn permille(part: &str) -> Result<u16, NoStrategy> {
    let number = || {
        let (whole, tenths) = match part.strip_suffix('%')?.split_once('.') {
            Some((whole, tenths)) if tenths.len() == 1 => (whole, tenths),
            Some(_) => return None,
            None => (part.strip_suffix('%')?, "0"),
        };
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(tenths) {
            return None;
        }
        whole
            .parse::<u16>()
            .ok()?
            .checked_mul(10)?
            .checked_add(tenths.parse().ok()?)
    };
    number()
        .filter(|permille| (1..=1000).contains(permille))
        .ok_or_else(|| {
            NoStrategy(format!(
                "{part:?} is no part of the buffer; give cap=50%, from 0.1% to 100%"
            ))
        })
}
