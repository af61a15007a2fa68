//! The parts of long checks: what `cargo xtask test --all` runs, remembers and names one by one.

use super::ended::Ended;
use anyhow::Result;

/// A part of a check.
pub struct Part {
    /// The check's name, a slash, and its own: `fuzz/packet`, `e2e/kills/the_name_of_a_test`.
    pub name: String,
    pub run: Box<dyn Fn() -> Result<Ended> + Send + Sync>,
}

/// All parts of a check.
pub struct Parts {
    /// So many run beside each other.
    pub at_once: usize,
    pub parts: Vec<Part>,
}
