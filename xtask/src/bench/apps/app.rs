//! A whole program that is run with and without tools, and what it reports of itself.

use anyhow::Result;
use std::path::{Path, PathBuf};

/// Ranks unless a program says otherwise: with two, the cores of a small machine are all in use,
/// and the tools take from them.
pub const RANKS: u32 = 2;

/// One program that is run in pairs.
pub struct App {
    pub name: String,
    pub about: String,
    pub ranks: u32,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Working directory of the program.
    pub folder: PathBuf,
    pub read: fn(&str, &Path) -> Result<Said>,
}

/// What a run reports of itself.
#[derive(Debug, PartialEq)]
pub struct Said {
    /// Time of the main loop; without it the whole job counts.
    pub seconds: Option<f64>,
    /// Result of the computation, which must be the same in both runs.
    pub answer: String,
    /// Calls by function, of all ranks; empty for real programs, which do not count them.
    pub made: Vec<(String, u64)>,
}
