//! The results of checks that did not fail.

/// How a check that did not fail ended.
pub enum Ended {
    /// It ran.
    Passed,
    /// It ran, but for a part that could not: which.
    PassedBut(String),
    /// It only runs in the long campaigns, for this reason.
    Skipped(String),
}
