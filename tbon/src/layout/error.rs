//! Why there is no layout, and what to type instead.

use core::fmt;

/// A number of processes and the number of application ranks among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Processes in all: what the launcher is told.
    pub total: u32,
    /// Ranks of the application among them.
    pub ranks: u32,
}

/// Why there is no layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// An application of no ranks.
    NoRanks,
    /// Places of no ranks.
    NoFanIn,
    /// Nodes that take fewer than two members: the tree would never come to a root.
    NarrowNodes {
        /// Members per node asked for.
        node_fan_in: u32,
    },
    /// More processes than MPI can number.
    TooMany {
        /// Processes needed.
        total: u64,
    },
    /// Too few processes for one rank, its place and the root.
    TooFew {
        /// Processes there are.
        total: u32,
    },
    /// No number of ranks gives this total.
    NoFit {
        /// Processes there are.
        total: u32,
        /// Ranks per place.
        fan_in: u32,
        /// The next total below that fits.
        below: Fit,
        /// The next total above that fits.
        above: Fit,
        /// A number of ranks that fits this very total when it is given by `--app`.
        app: Option<u32>,
    },
    /// The ranks asked for cannot be shared evenly by the places that remain.
    NoFitForApp {
        /// Processes there are.
        total: u32,
        /// Ranks asked for.
        app: u32,
        /// Ranks per place wished for.
        fan_in: u32,
        /// The total for these ranks with the fan-in wished for.
        usual: u32,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            LayoutError::NoRanks => f.write_str("the application has no rank; give at least 1"),
            LayoutError::NoFanIn => {
                f.write_str("a tool place takes at least 1 rank; give a fan-in of 1 or more")
            }
            LayoutError::NarrowNodes { node_fan_in } => {
                write!(
                    f,
                    "an analysis node takes at least 2 members, not {node_fan_in}; give 2 or more"
                )
            }
            LayoutError::TooMany { total } => {
                write!(
                    f,
                    "{total} processes are more than MPI can number; start at most {}",
                    super::TOTAL_MAX
                )
            }
            LayoutError::TooFew { total } => {
                write!(
                    f,
                    "{total} processes are too few: one rank, its tool place and the root need 3; start at least 3"
                )
            }
            LayoutError::NoFit {
                total,
                fan_in,
                below,
                above,
                app,
            } => {
                write!(
                    f,
                    "{total} processes cannot be shared out: with {fan_in} ranks per tool place and one root no number of \
                     ranks needs {total}; start {} processes ({} ranks) or {} ({} ranks)",
                    below.total, below.ranks, above.total, above.ranks
                )?;
                match app {
                    Some(app) => write!(f, ", or keep {total} and say `--app {app}`"),
                    None => f.write_str(", or say how many ranks by `--app N`"),
                }
            }
            LayoutError::NoFitForApp {
                total,
                app,
                fan_in,
                usual,
            } => {
                write!(
                    f,
                    "{total} processes do not fit `--app {app}`: beside {app} ranks and the root, {} are left, and no even \
                     sharing of the ranks uses exactly as many tool places; start {usual} processes ({fan_in} ranks per \
                     place)",
                    i64::from(total) - i64::from(app) - 1,
                )
            }
        }
    }
}

impl core::error::Error for LayoutError {}
