//! What a comparison finds: the runs of both sides, and every quantity beside itself.

use super::quantities::Quantity;
use serde::Serialize;

/// The probability of seeing a difference somewhere where there is none: in the whole run and its
/// functions, and in its regions.
pub const CHANCE_MAX: f64 = 0.05;

/// Runs of a program, before and after something.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub base: Runs,
    pub new: Runs,
    /// They are windows of jobs that run on: times, calls and bytes are those of a second of
    /// recorded time.
    pub windows: bool,
    /// Relative; smaller differences are not judged.
    pub threshold: f64,
    /// Of each side, from which on a difference can be told from chance.
    pub runs_needed: usize,
    /// Whether something is worse.
    pub worse: bool,
    /// The whole run first, then functions and then regions, those with the most time first.
    pub changes: Vec<Change>,
    /// What may make the two sides unlike.
    pub notes: Vec<String>,
}

/// One side: runs of the same program.
#[derive(Clone, Debug, Serialize)]
pub struct Runs {
    pub runs: usize,
    /// Of the first of them, as everything below.
    pub ranks: u32,
    pub library: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// A quantity on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    #[serde(flatten)]
    pub quantity: Quantity,
    /// One number of each run.
    pub base: Vec<f64>,
    pub new: Vec<f64>,
    pub base_median: f64,
    pub new_median: f64,
    /// The new median over the base's, less one; nothing where the base's is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// How probable a difference of this size or more is by chance, for all that were judged
    /// together (Holm 1979); nothing where it was not judged, or there are too few runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    pub verdict: Verdict,
    /// Of a call site: how much more time all take that have its name, whatever their number.
    #[serde(skip)]
    pub with_namesakes: Option<f64>,
}

/// What is said of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No difference, or too small a one, or it may be chance.
    Same,
    Better,
    Worse,
    /// Neither is better.
    Other,
}
