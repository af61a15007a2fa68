//! Which part of an answer a question is about.

/// Which part of an answer is meant; nothing is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// An MPI function.
    pub function: Option<String>,
    /// A rank.
    pub rank: Option<u32>,
    /// The sending rank.
    pub source: Option<u32>,
    /// The receiving rank.
    pub destination: Option<u32>,
}
