//! A whole program that is run with and without tools, and what it reports of itself.

use anyhow::Result;
use std::path::{Path, PathBuf};

/// Ranks, where nothing else is said: with two, a small machine's cores are all theirs, and the
/// tools take from them.
pub const RANKS: u32 = 2;

/// One program as it is run in pairs.
pub struct App {
    pub name: String,
    pub about: String,
    pub ranks: u32,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    pub read: fn(&str, &Path) -> Result<Said>,
}

/// What a run said of itself.
#[derive(Debug, PartialEq)]
pub struct Said {
    /// Of the main loop; without it the whole job counts.
    pub seconds: Option<f64>,
    /// Must be the same in both.
    pub answer: String,
    /// Calls by function, of all ranks; of real programs nobody says.
    pub made: Vec<(String, u64)>,
}
