//! Rules as users write them, and the limits of what they may be.
//!
//! ```text
//! NAME  name:NAME   regions of such names; MPI functions, where NAME begins with MPI
//! source:FILE       regions whose function is in such a source file
//! module:FILE       regions whose function is in such a program or library
//! group:GROUP       the MPI functions of a group
//! shorter:1us       regions that are entered often (10000 times) and take less on average
//! shorter:1us@500   the same of those that are entered 500 times
//! ```

use super::{Fits, PATTERN_BYTES_MAX, RULES_MAX, Rule, Selection};
use crate::control::whole_time::WholeTime;
use crate::mpi::Group;
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// Visits behind which a region's mean time counts where a rule does not say: recorded in less than
/// a millisecond. TAU's throttling waits for ten times as many.
const VISITS_DEFAULT: u64 = 10_000;
/// The longest mean time of a region that may be left out by it, in ns.
const MEAN_NS_MAX: u64 = 1_000_000_000;

/// Why something is no rule, or rules are too many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidRule {
    Empty,
    Long { bytes: usize },
    Folder(String),
    Character(String),
    Nothing,
    Group(String),
    Short(String),
    TooMany { rules: usize },
}

impl fmt::Display for InvalidRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidRule::Empty => f.write_str("a pattern is empty; give a name, such as solve*"),
            InvalidRule::Long { bytes } => write!(
                f,
                "a pattern of {bytes} bytes: at most {PATTERN_BYTES_MAX}; * stands for any text"
            ),
            InvalidRule::Folder(pattern) => write!(
                f,
                "source:{pattern}: source files are known by their names without folders; give \
                 such a name, as in source:*.f90"
            ),
            InvalidRule::Character(pattern) => write!(
                f,
                "the pattern {pattern:?} has a ;, a control character, or a space or colon at its \
                 border, which no name has; ? stands for any character"
            ),
            InvalidRule::Nothing => {
                f.write_str("no rule is given; give some, or replace all rules by none")
            }
            InvalidRule::Group(word) => {
                write!(f, "{word:?} is no group of MPI functions; there are")?;
                for (at, group) in Group::ALL.into_iter().enumerate() {
                    write!(f, "{} {}", if at == 0 { "" } else { "," }, group.name())?;
                }
                Ok(())
            }
            InvalidRule::Short(text) => write!(
                f,
                "shorter:{text}: give a time of at most a second and, behind @, after how many \
                 visits it counts: shorter:1us or shorter:500ns@100000"
            ),
            InvalidRule::TooMany { rules } => write!(
                f,
                "{rules} rules: at most {RULES_MAX} are in force; replace them by some with * in \
                 their patterns"
            ),
        }
    }
}

impl core::error::Error for InvalidRule {}

impl FromStr for Fits {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Fits, InvalidRule> {
        // A name of C++ has two colons.
        let (key, rest) = match text.split_once(':') {
            Some((key, rest)) if !rest.starts_with(':') => (key, rest),
            _ => ("name", text),
        };
        let rest = rest.trim();
        let pattern = rest.to_owned();
        let fits = match key.trim() {
            "name" => Fits::Name(pattern),
            // Of any folder, as filter files of Score-P have it.
            "source" => Fits::Source(rest.strip_prefix("*/").unwrap_or(rest).to_owned()),
            "module" => Fits::Module(pattern),
            "group" => {
                let group = Group::ALL.into_iter().find(|group| group.name() == rest);
                Fits::Group(group.ok_or(InvalidRule::Group(pattern))?)
            }
            "shorter" => short(rest).ok_or(InvalidRule::Short(pattern))?,
            _ => Fits::Name(text.trim().to_owned()),
        };
        fits.checked()
    }
}

fn short(text: &str) -> Option<Fits> {
    let (time, visits) = match text.split_once('@') {
        Some((time, visits)) => (time, visits.parse().ok()?),
        None => (text, VISITS_DEFAULT),
    };
    let WholeTime(mean_ns) = WholeTime::parse(time)?;
    Some(Fits::Short { visits, mean_ns })
}

impl Fits {
    /// The same, within the limits.
    ///
    /// # Errors
    /// What is wrong.
    pub fn checked(self) -> Result<Fits, InvalidRule> {
        match &self {
            Fits::Name(pattern) | Fits::Source(pattern) | Fits::Module(pattern) => {
                let bytes = pattern.len();
                let is_name = matches!(self, Fits::Name(_));
                let is_odd = pattern.chars().any(|one| one == ';' || one.is_control());
                match bytes {
                    _ if is_odd
                        || pattern.trim() != pattern
                        || !is_name && pattern.starts_with(':') =>
                    {
                        Err(InvalidRule::Character(pattern.clone()))
                    }
                    _ if matches!(self, Fits::Source(_)) && pattern.contains('/') => {
                        Err(InvalidRule::Folder(pattern.clone()))
                    }
                    0 => Err(InvalidRule::Empty),
                    1..=PATTERN_BYTES_MAX => Ok(self),
                    _ => Err(InvalidRule::Long { bytes }),
                }
            }
            Fits::Short { mean_ns, .. } if !(1..=MEAN_NS_MAX).contains(mean_ns) => {
                let time = alloc::format!("{mean_ns}ns");
                Err(InvalidRule::Short(time))
            }
            Fits::Group(_) | Fits::Short { .. } => Ok(self),
        }
    }
}

/// As [`Fits::from_str`] reads it.
impl fmt::Display for Fits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fits::Name(pattern) => match pattern.parse() {
                Ok(Fits::Name(same)) if same == *pattern => f.write_str(pattern),
                _ => write!(f, "name:{pattern}"),
            },
            Fits::Source(pattern) => write!(f, "source:{pattern}"),
            Fits::Module(pattern) => write!(f, "module:{pattern}"),
            Fits::Group(group) => write!(f, "group:{}", group.name()),
            Fits::Short { visits, mean_ns } => {
                write!(f, "shorter:{}@{visits}", WholeTime(*mean_ns))
            }
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.include { "include" } else { "exclude" };
        write!(f, "{word} {}", self.fits)
    }
}

/// For the audit log: the first rules.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 4;
        match (self.replaces, self.rules.is_empty()) {
            (true, true) => return f.write_str("all is recorded"),
            (true, false) => f.write_str("only: ")?,
            (false, _) => {}
        }
        for (at, rule) in self.rules.iter().take(SHOWN).enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{rule}")?;
        }
        match self.rules.len() {
            rules if rules > SHOWN => write!(f, ", and {} more", rules - SHOWN),
            _ => Ok(()),
        }
    }
}

impl Selection {
    /// The same, within the limits.
    ///
    /// # Errors
    /// What is wrong.
    pub fn checked(self) -> Result<Selection, InvalidRule> {
        let rules = self.rules.len();
        if rules > RULES_MAX {
            return Err(InvalidRule::TooMany { rules });
        }
        if rules == 0 && !self.replaces {
            return Err(InvalidRule::Nothing);
        }
        for rule in &self.rules {
            rule.fits.clone().checked()?;
        }
        Ok(self)
    }
}
