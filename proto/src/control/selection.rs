//! What of the program's regions and of MPI's functions is recorded: rules, and how they stand.
//!
//! Rules are read in their order, and the last one that fits decides, as in Score-P's filter files;
//! what none fits is recorded. A rule fits by the name of a region or function, by a region's
//! source file or the file that it is loaded from, by a group of MPI functions, or by how short a
//! region is.

mod glob;
mod rules_text;
mod text;

pub use glob::fits;
pub use rules_text::InvalidText;
pub use text::InvalidRule;

use crate::mpi::{FUNCTIONS, Group};
use crate::record::REGIONS_END;
use crate::shm::OFF_WORDS;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};
use core::cmp::Ordering;

/// Rules in force at most.
pub const RULES_MAX: usize = 64;
/// Bytes of a pattern.
pub const PATTERN_BYTES_MAX: usize = 256;

/// How names of MPI functions begin.
const MPI: &str = "MPI";

/// What a rule fits. Patterns are those of a shell: `*`, `?` and `[a-z]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Fits {
    /// Regions of such names; and the MPI functions, where the pattern begins with `MPI`: who has
    /// all regions left out (`*`) does not mean those.
    Name(String),
    /// Regions whose function is in such a source file, by its name without folders.
    Source(String),
    /// Regions whose function is in such a program or library, by the file's name.
    Module(String),
    /// The MPI functions of a group.
    Group(Group),
    /// Regions that a rank has entered so often and that took less than this on average, in ns,
    /// with what lies below them. Looked at twice a second; a region that fits once fits until the
    /// rules change.
    Short { visits: u64, mean_ns: u64 },
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Rule {
    /// What it fits is recorded, or is not.
    pub include: bool,
    pub fits: Fits,
}

/// A change of the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Selection {
    /// They take the place of those in force, or come behind them.
    pub replaces: bool,
    pub rules: Vec<Rule>,
}

impl Selection {
    /// What is in force behind a change of these rules; nothing where that would be too many.
    pub fn after(&self, rules: &[Rule]) -> Option<Vec<Rule>> {
        let before = if self.replaces { &[] } else { rules };
        let after: Vec<Rule> = before.iter().chain(&self.rules).cloned().collect();
        (after.len() <= RULES_MAX).then_some(after)
    }
}

/// What is known of a region or function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Its name; of one without a name empty.
    pub name: &'a str,
    /// Of a function of the program, its source file; else empty.
    pub source: &'a str,
    /// The same of the file that it is loaded from.
    pub module: &'a str,
    /// Of a function of MPI.
    pub group: Option<Group>,
    /// How often it was entered, and its mean time, in ns.
    pub visits: u64,
    pub mean_ns: u64,
}

impl Fits {
    /// Whether the rule is about names, so that these have to be looked up.
    pub fn needs_names(&self) -> bool {
        !self.fits_all() && matches!(self, Fits::Name(_) | Fits::Source(_))
    }

    /// Whether it fits every region.
    pub fn fits_all(&self) -> bool {
        matches!(self, Fits::Name(pattern) | Fits::Source(pattern) | Fits::Module(pattern)
            if !pattern.is_empty() && pattern.bytes().all(|byte| byte == b'*'))
    }

    /// Whether it fits what is known.
    pub fn fit(&self, known: &Known<'_>) -> bool {
        let is_function = known.group.is_some();
        match self {
            Fits::Name(pattern) => {
                (!is_function || pattern.starts_with(MPI))
                    && (self.fits_all() || fits(pattern, meant(pattern, known.name)))
            }
            Fits::Source(pattern) => {
                !is_function && (self.fits_all() || fits(pattern, known.source))
            }
            Fits::Module(pattern) => {
                !is_function && (self.fits_all() || fits(pattern, known.module))
            }
            Fits::Group(group) => known.group == Some(*group),
            Fits::Short { visits, mean_ns } => {
                !is_function && known.visits >= *visits && known.mean_ns < *mean_ns
            }
        }
    }
}

/// What of a name a pattern is about: who writes `*Vector*` means no function with a parameter of
/// such a type, and who writes parameters means these.
fn meant<'a>(pattern: &str, name: &'a str) -> &'a str {
    match without_parameters(pattern) == pattern {
        true => without_parameters(name),
        false => name,
    }
}

/// The name of a function of C++ without its parameters: the last parentheses, behind which stand
/// only words such as `const`. Of others the whole name.
pub fn without_parameters(name: &str) -> &str {
    // Behind them only words such as const.
    let behind = name.rsplit(')').next().unwrap_or("");
    if !behind.is_empty() && !behind.starts_with(' ') {
        return name;
    }
    let mut open = 0;
    for (at, character) in name.char_indices().rev() {
        match character {
            ')' => open += 1,
            '(' if open == 1 => return name[..at].trim_end(),
            '(' => open -= 1,
            _ => {}
        }
    }
    name
}

/// Whether what is known so is recorded under these rules, and the rule that decides.
pub fn judge(rules: &[Rule], known: &Known<'_>) -> (bool, Option<usize>) {
    let last = rules.iter().rposition(|rule| rule.fits.fit(known));
    (last.is_none_or(|last| rules[last].include), last)
}

/// Whether a region of which nothing is known yet is recorded.
pub fn judge_unknown(rules: &[Rule]) -> bool {
    let last = rules.iter().rfind(|rule| rule.fits.fits_all());
    last.is_none_or(|last| last.include)
}

/// How rules stand on some ranks: numbers of regions are sums over ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SelectionStatus {
    /// Ranks that are counted here.
    pub ranks: u32,
    /// In their order, each with the regions whose last fit it is.
    pub rules: Vec<(Rule, u64)>,
    /// Regions that are recorded.
    pub regions_on: u64,
    /// Regions that are not.
    pub regions_off: u64,
    /// Regions whose names are still looked up.
    pub undecided: u64,
    /// Ranks on which these rules are in force: of a place that refused a change others are. Of
    /// several lists the greatest is given, in the order of their fields.
    pub same: u32,
    /// Since when the rules are in force, in job time, in ns; 0 is the start of the job.
    pub since_ns: u64,
    /// MPI calls that were not recorded because of the rules, since the start of the job.
    pub calls_off: u64,
}

impl SelectionStatus {
    /// Adds the status of other ranks.
    pub fn merge(&mut self, from: SelectionStatus) {
        let rules = self.rules.iter().map(|(rule, _)| rule);
        let compared = rules.cmp(from.rules.iter().map(|(rule, _)| rule));
        match (self.ranks, compared) {
            (0, _) | (_, Ordering::Less) => (self.rules, self.same) = (from.rules, from.same),
            (_, Ordering::Equal) => {
                for (into, (_, regions)) in self.rules.iter_mut().zip(&from.rules) {
                    into.1 = into.1.saturating_add(*regions);
                }
                self.same = self.same.saturating_add(from.same);
            }
            (_, Ordering::Greater) => {}
        }
        self.ranks = self.ranks.saturating_add(from.ranks);
        self.regions_on = self.regions_on.saturating_add(from.regions_on);
        self.regions_off = self.regions_off.saturating_add(from.regions_off);
        self.undecided = self.undecided.saturating_add(from.undecided);
        self.since_ns = self.since_ns.max(from.since_ns);
        self.calls_off = self.calls_off.saturating_add(from.calls_off);
    }
}

/// What a rank does not record while it has met no region, as [`crate::shm::Off`] has it: functions
/// of MPI, and what is met next.
pub fn off_at_first(rules: &[Rule]) -> [u64; OFF_WORDS] {
    let unknown = if judge_unknown(rules) { 0 } else { u64::MAX };
    let mut off = [unknown; OFF_WORDS];
    let (functions, _) = off.split_at_mut(usize::from(REGIONS_END) / 64);
    functions.fill(0);
    for number in functions_off(rules) {
        functions[number / 64] |= 1 << (number % 64);
    }
    off
}

/// The functions of MPI that rules leave out: their numbers.
pub fn functions_off(rules: &[Rule]) -> Vec<usize> {
    judged(rules, true)
}

/// Those that rules would leave out, and that are recorded all the same: without them no message
/// could be followed.
pub fn functions_kept(rules: &[Rule]) -> Vec<usize> {
    judged(rules, false)
}

fn judged(rules: &[Rule], selectable: bool) -> Vec<usize> {
    let functions = FUNCTIONS.iter().enumerate();
    let recorded = functions.filter(|(_, function)| function.recorded);
    let off = recorded.filter(|(_, function)| {
        let known = Known {
            name: function.name,
            group: Some(function.group),
            ..Known::default()
        };
        !judge(rules, &known).0 && function.selectable == selectable
    });
    off.map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests;
