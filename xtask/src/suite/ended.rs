//! The results of checks that did not fail.

/// How a check that did not fail ended.
#[derive(Debug)]
pub enum Ended {
    /// It ran.
    Passed,
    /// It ran, and found this.
    PassedWith(String),
    /// It ran, but for a part that could not: which.
    PassedBut(String),
    /// It did not run, for this reason.
    Skipped(String),
}
