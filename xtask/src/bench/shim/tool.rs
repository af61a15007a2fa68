//! The tools that stand beside Invivo in the bench of single calls.

/// Ranks: one works.
pub const RANKS: u32 = 2;

/// What the program runs under.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    Bare,
    Pass,
    Stamps,
    Off,
    On,
    Eztrace,
}
