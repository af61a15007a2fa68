//! Analyses that can be switched: their names, sets of them, and when each was on.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use bincode::{Decode, Encode};
use core::fmt;
use core::str::FromStr;

/// An analysis that costs tool places something for each call, and can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// Calls, time and bytes by MPI function.
    Functions,
    /// Point-to-point messages and bytes between each two ranks.
    Matrix,
    /// Sends matched with receives.
    Messages,
    /// What ranks did over time.
    Grid,
    /// Calls, time and bytes by where in the program calls are made.
    Sites,
    /// Who waits for whom in collectives, and in receives whose messages are matched.
    WaitStates,
    /// Time by region of the program.
    Regions,
}

/// Number of analyses.
pub const ANALYSES: usize = 7;

impl Analysis {
    /// All of them, in the order of their numbers.
    pub const ALL: [Analysis; ANALYSES] = [
        Analysis::Functions,
        Analysis::Matrix,
        Analysis::Messages,
        Analysis::Grid,
        Analysis::Sites,
        Analysis::WaitStates,
        Analysis::Regions,
    ];

    /// As users spell it: the command that shows its answer.
    pub fn name(self) -> &'static str {
        match self {
            Analysis::Functions => "functions",
            Analysis::Matrix => "matrix",
            Analysis::Messages => "messages",
            Analysis::Grid => "heatmap",
            Analysis::Sites => "sites",
            Analysis::WaitStates => "waitstates",
            Analysis::Regions => "regions",
        }
    }

    /// What it costs a tool place for each call, in ns: the row of the benchmark `place` on the
    /// manual's page of performance figures, on the machine of that page.
    pub fn cost_ns(self) -> f64 {
        match self {
            Analysis::Functions => 7.1,
            Analysis::Matrix => 3.4,
            Analysis::Messages => 44.6,
            Analysis::Grid => 2.3,
            Analysis::Sites => 20.2,
            Analysis::WaitStates => 0.8,
            Analysis::Regions => 0.0,
        }
    }

    /// What it answers.
    pub fn answers(self) -> &'static str {
        match self {
            Analysis::Functions => "calls, time and bytes by MPI function",
            Analysis::Matrix => "messages and bytes between each two ranks",
            Analysis::Messages => "sends matched with receives: transfer times, late senders",
            Analysis::Grid => "time in MPI, calls and bytes of each rank over time",
            Analysis::Sites => {
                "calls, time and bytes by where in the program calls are made; distributions; loops"
            }
            Analysis::WaitStates => {
                "who waits for whom in collectives; late senders, with messages"
            }
            Analysis::Regions => {
                "time by region that the program marks, and by instrumented function"
            }
        }
    }
}

/// Some analyses; a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AnalysisSet(u8);

impl AnalysisSet {
    /// None of them: tool places only keep buffers.
    pub const NONE: AnalysisSet = AnalysisSet(0);
    /// All of them.
    pub const ALL: AnalysisSet = AnalysisSet((1 << ANALYSES) - 1);
    /// What is on where nobody says otherwise: what the report is made of. Matching of messages
    /// costs as much as the rest together.
    pub const DEFAULT: AnalysisSet = AnalysisSet(
        1 << Analysis::Functions as u8
            | 1 << Analysis::Matrix as u8
            | 1 << Analysis::Grid as u8
            | 1 << Analysis::Sites as u8
            | 1 << Analysis::WaitStates as u8
            | 1 << Analysis::Regions as u8,
    );

    /// One alone.
    pub const fn of(analysis: Analysis) -> AnalysisSet {
        AnalysisSet(1 << analysis as u8)
    }

    #[inline]
    pub const fn contains(self, analysis: Analysis) -> bool {
        self.0 & 1 << analysis as u8 != 0
    }

    /// With those of `other` as well, or without them.
    #[must_use]
    pub const fn switched(self, other: AnalysisSet, on: bool) -> AnalysisSet {
        if on {
            AnalysisSet((self.0 | other.0) & AnalysisSet::ALL.0)
        } else {
            AnalysisSet(self.0 & !other.0 & AnalysisSet::ALL.0)
        }
    }

    /// Whether there are none in it.
    pub const fn is_empty(self) -> bool {
        self.0 & AnalysisSet::ALL.0 == 0
    }

    /// Those in it, in their order.
    pub fn iter(self) -> impl Iterator<Item = Analysis> {
        Analysis::ALL
            .into_iter()
            .filter(move |analysis| self.contains(*analysis))
    }
}

impl Default for AnalysisSet {
    fn default() -> Self {
        AnalysisSet::DEFAULT
    }
}

/// As [`AnalysisSet::from_str`] reads it.
impl fmt::Display for AnalysisSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (at, analysis) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}", analysis.name())?;
        }
        Ok(())
    }
}

/// A word that names no analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAnalysis(String);

impl fmt::Display for UnknownAnalysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownAnalysis(word) = self;
        write!(
            f,
            "{word:?} is no analysis; give some of {} joined by commas, or default, all, none",
            AnalysisSet::ALL.to_string().replace(',', ", ")
        )
    }
}

impl core::error::Error for UnknownAnalysis {}

/// Names joined by commas; `default`, `all` and `none` stand for sets.
impl FromStr for AnalysisSet {
    type Err = UnknownAnalysis;

    fn from_str(text: &str) -> Result<AnalysisSet, UnknownAnalysis> {
        let mut set = AnalysisSet::NONE;
        for word in text.split(',').map(str::trim) {
            let named = Analysis::ALL
                .into_iter()
                .find(|analysis| analysis.name() == word);
            let these = match (word, named) {
                (_, Some(analysis)) => AnalysisSet::of(analysis),
                ("default", None) => AnalysisSet::DEFAULT,
                ("all", None) => AnalysisSet::ALL,
                ("none", None) => AnalysisSet::NONE,
                _ => return Err(UnknownAnalysis(word.to_string())),
            };
            set = set.switched(these, true);
        }
        Ok(set)
    }
}

/// Intervals in which an analysis was off that an answer names: the last ones.
pub const GAPS_MAX: usize = 8;

/// The intervals in which an analysis was off, in job time, oldest first.
///
/// Of two places the greater one counts, in the order of the fields: theirs are the same but for a
/// place that heard of a switch too late.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Gaps {
    /// Intervals before those that are named.
    pub earlier: u32,
    /// Their length in all, in ns.
    pub earlier_ns: u64,
    /// Begin and end of the last ones, at most [`GAPS_MAX`]; the end of one that goes on is
    /// `u64::MAX`. The begin 0 is the start of the job.
    pub last: Vec<(u64, u64)>,
}

/// Whether an analysis is on, and when it was not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct AnalysisStatus {
    /// Ranks whose calls it gets.
    pub on: u32,
    /// Ranks whose calls it does not get.
    pub off: u32,
    /// Since when it is as it is, in job time; 0 is the start of the job.
    pub since_ns: u64,
    /// When it was off, from where the answers begin.
    pub gaps: Gaps,
}

/// All analyses of some ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct AnalysesStatus {
    /// In the order of [`Analysis::ALL`].
    pub of: [AnalysisStatus; ANALYSES],
    /// Job time of this answer, in ns.
    pub now_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_as_they_are_written() {
        for (text, set) in [
            ("none", AnalysisSet::NONE),
            (
                "functions,matrix,heatmap,sites,waitstates,regions",
                AnalysisSet::DEFAULT,
            ),
            (
                "functions,matrix,messages,heatmap,sites,waitstates,regions",
                AnalysisSet::ALL,
            ),
            ("messages", AnalysisSet::of(Analysis::Messages)),
        ] {
            assert_eq!(set.to_string(), text);
            assert_eq!(text.parse(), Ok(set));
        }
        assert_eq!("default, messages".parse(), Ok(AnalysisSet::ALL));
        assert_eq!("all".parse(), Ok(AnalysisSet::ALL));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names() {
        for text in ["", "function", "functions;matrix", "matrix,,messages"] {
            let refused = text.parse::<AnalysisSet>().expect_err("no analysis");
            let told = refused.to_string();
            assert!(
                told.contains("functions, matrix, messages, heatmap, sites, waitstates, regions")
                    && told.contains("none"),
                "{told}"
            );
        }
    }

    #[test]
    fn switching_changes_only_what_is_named() {
        let messages = AnalysisSet::of(Analysis::Messages);
        let on = AnalysisSet::DEFAULT.switched(messages, true);
        assert_eq!(on, AnalysisSet::ALL);
        assert_eq!(on.switched(messages, false), AnalysisSet::DEFAULT);
        assert_eq!(
            on.switched(messages, false).switched(messages, false),
            AnalysisSet::DEFAULT
        );
        assert!(
            AnalysisSet::ALL
                .switched(AnalysisSet::ALL, false)
                .is_empty()
        );
    }
}
