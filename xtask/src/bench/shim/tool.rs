//! The tools that the bench of single calls compares.

/// Ranks of the bench; one of them works.
pub const RANKS: u32 = 2;

/// A tool that the program runs under.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    Bare,
    Pass,
    Stamps,
    Off,
    On,
    Eztrace,
}
