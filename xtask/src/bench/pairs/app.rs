//! A whole program that is run with and without tools, and what it reports of itself.

use crate::bench::mpi::Mpi;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Ranks unless a program says otherwise: with two, the cores of a small machine are all in use,
/// and the tools take from them.
pub const RANKS: u32 = 2;

/// One program that is run in pairs.
#[derive(Clone)]
pub struct App {
    pub mpi: Mpi,
    pub name: String,
    pub about: String,
    pub ranks: u32,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Which argument the length of the main loop is proportional to, if any: it is made longer,
    /// until the bare loop takes long enough.
    pub steps: Option<usize>,
    /// Working directory of the program.
    pub folder: PathBuf,
    /// Whether the rival runs in the same turns.
    pub rival: bool,
    pub read: fn(&str, &Path) -> Result<Said>,
}

/// What a run reports of itself.
#[derive(Debug, Default, PartialEq)]
pub struct Said {
    /// Time of the main loop; without it the whole job counts.
    pub seconds: Option<f64>,
    /// CPU time of all ranks in the main loop, in seconds.
    pub cpu_s: Option<f64>,
    /// Result of the computation, which must be the same in both runs.
    pub answer: String,
    /// Calls by function, of all ranks; empty for real programs, which do not count them.
    pub made: Vec<(String, u64)>,
    /// ns of one operation, by its name.
    pub times: Vec<(String, f64)>,
}
