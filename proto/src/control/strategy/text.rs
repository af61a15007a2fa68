//! The text of a strategy: how it is written, read and refused.

use super::{NoStrategy, RULES_MAX, Rule, Strategy};
use crate::control::record_class::RecordClass;
use crate::control::whole_time::WholeTime;
use crate::ids::RegionId;
use crate::mpi;
use alloc::format;
use core::fmt;
use core::str::FromStr;

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Rule::Class(class) => write!(f, "class:{}", class.name()),
            Rule::Depth { kept } => write!(f, "depth:{kept}"),
            Rule::Duration { kept_ns } => write!(f, "duration:{}", WholeTime(kept_ns)),
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

impl FromStr for Strategy {
    type Err = NoStrategy;

    /// Reads what a user gives, and refuses what would have no effect.
    fn from_str(text: &str) -> Result<Strategy, NoStrategy> {
        let strategy = Strategy::parse(text)?;
        // Users are refused what would do nothing; `parse` itself takes every rule.
        match without_effect(&strategy) {
            Some(refusal) => Err(refusal),
            None => Ok(strategy),
        }
    }
}

/// Why a part of a strategy would do nothing: buffers hold MPI calls, visits of regions and
/// samples, and no metrics yet.
fn without_effect(strategy: &Strategy) -> Option<NoStrategy> {
    let of_rule = strategy.rules().find_map(|rule| {
        let reason = match rule {
            Rule::Class(RecordClass::Metric) => "buffers hold no metrics yet",
            Rule::Class(RecordClass::Call | RecordClass::Region | RecordClass::Sample)
            | Rule::Samples
            | Rule::Depth { .. }
            | Rule::Duration { .. }
            | Rule::Iterations { .. } => return None,
        };
        Some(NoStrategy(format!(
            "{rule} has no effect: {reason}; {INSTEAD}"
        )))
    });
    // A cap does something, and nothing that anybody wants.
    let of_cap = || {
        strategy.cap_permille().map(|_| {
            NoStrategy(format!(
                "a cap has no use: a quarter of the buffer is left to samples in any case, while \
                 there are some; {INSTEAD}"
            ))
        })
    };

    of_rule.or_else(of_cap)
}

/// What a refusal advises.
const INSTEAD: &str =
    "give time, duration:1ms, depth:2, class:region, samples or iterations:4@MPI_Barrier";

impl Strategy {
    /// Reads any text of the language, also what has no effect yet: for texts that are known to be
    /// strategies, and for tests.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Strategy, NoStrategy> {
        let mut rules = [Rule::Samples; RULES_MAX];
        // A cap of 0 is none: `permille` never returns it.
        let (mut count, mut cap_permille, mut is_complete) = (0, 0, false);
        for word in text.split(',').map(str::trim) {
            if let Some(part) = word.strip_prefix("cap=") {
                if cap_permille != 0 {
                    return Err(NoStrategy("there is one cap at most".into()));
                }
                cap_permille = permille(part)?;
                continue;
            }
            // Rules claim events in their order, so none is left for a rule behind `time`.
            if is_complete {
                return Err(NoStrategy(format!(
                    "{word} stands behind `time`, which claims everything: give `time` last, or \
                     not at all"
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
    // A rule without a value, as `samples`, has an empty one.
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
                    "{value:?} are no iterations; give how often they are halved and the function \
                     that ends them, as \
                     iterations:4@MPI_Barrier"
                ))
            };
            let (levels, function) = value.split_once('@').ok_or_else(wrong)?;
            let levels = levels.parse().map_err(|_| wrong())?;
            let at = mpi::FUNCTIONS
                .iter()
                // A function whose calls are not recorded would never end an iteration.
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
            "{word:?} is no rule of a strategy; there are time, duration:1ms, depth:2, \
             class:region, samples and iterations:4@MPI_Barrier, joined by commas in the order in \
             which detail is given up"
        ))),
    }
}

fn duration(value: &str) -> Result<u64, NoStrategy> {
    let WholeTime(ns) = WholeTime::parse(value).ok_or_else(|| {
        NoStrategy(format!(
            "{value:?} is no duration; give one as 500ns, 20us, 1ms or 2s"
        ))
    })?;
    Ok(ns)
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
            // In integers: a cap must read back as it was written, and 0.1 has no exact binary
            // fraction.
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
