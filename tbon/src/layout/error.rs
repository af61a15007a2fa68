//! Reports why there is no layout, and what to type instead.

use super::fan_in::{FanIn, FanInError};
use crate::limits::TOTAL_MAX;
use core::fmt;

/// A number of processes and the number of application ranks among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Processes in all: what the launcher is told.
    pub total: u32,
    /// Ranks of the application among them.
    pub ranks: u32,
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} ranks)", self.total, self.ranks)
    }
}

/// Why there is no layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// An application of no ranks.
    NoRanks,
    /// A job on no host.
    NoHosts,
    /// Ranks that cannot be shared evenly by the hosts.
    Uneven {
        /// Ranks asked for.
        ranks: u32,
        /// Hosts there are.
        hosts: u32,
    },
    /// More processes than MPI can number.
    TooMany {
        /// Processes needed.
        total: u64,
    },
    /// Too few processes for one rank and its place on each host, and the root.
    TooFew {
        /// Processes there are.
        total: u32,
        /// Hosts there are.
        hosts: u32,
        /// The smallest total that fits.
        smallest: Fit,
    },
    /// No number of ranks gives this total.
    NoFit {
        /// Processes there are.
        total: u32,
        /// Ranks per place, and members per node.
        fan_in: FanIn,
        /// Hosts that share the ranks evenly.
        hosts: u32,
        /// The next total below that fits.
        below: Fit,
        /// The next total above that fits, if MPI can number it.
        above: Option<Fit>,
        /// A number of ranks that fits this very total when it is given by `--app`.
        app: Option<u32>,
    },
    /// The ranks asked for cannot be shared evenly by the processes that remain.
    NoFitForApp {
        /// Processes there are.
        total: u32,
        /// Ranks asked for.
        app: u32,
        /// The fan-in wished for.
        fan_in: FanIn,
        /// The total for these ranks with the fan-in wished for.
        usual: u32,
    },
    /// Numbers that are no fan-in.
    FanIn(FanInError),
    /// Text that is no layout.
    Text,
}

impl From<FanInError> for LayoutError {
    fn from(error: FanInError) -> LayoutError {
        LayoutError::FanIn(error)
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            LayoutError::NoRanks => f.write_str("the application has no rank; give at least 1"),
            LayoutError::NoHosts => f.write_str("the job has no node; give at least 1"),
            LayoutError::Uneven { ranks, hosts } => uneven(f, ranks, hosts),
            LayoutError::TooMany { total } => write!(
                f,
                "{total} processes are more than MPI can number; start at most {TOTAL_MAX}"
            ),
            LayoutError::TooFew {
                total,
                hosts,
                smallest,
            } => {
                let each = if hosts > 1 { " on each node" } else { "" };
                // With one tool process per node there is none for the root alone.
                let needed = match smallest.total == 2 * hosts {
                    true => format_args!("one rank and the tool process{each}"),
                    false => format_args!("one rank and its tool place{each} and the root"),
                };
                write!(
                    f,
                    "{total} processes are too few: {needed} need {0}; start at least {0}",
                    smallest.total
                )
            }
            LayoutError::NoFit {
                total,
                fan_in,
                hosts,
                below,
                above,
                app,
            } => no_fit(f, total, fan_in, hosts, below, above, app),
            LayoutError::NoFitForApp {
                total,
                app,
                fan_in,
                usual,
            } => write!(
                f,
                "{total} processes do not fit `--app {app}`: {} are left beside {app} ranks, and \
                 no even sharing of the \
                 ranks needs exactly as many; start {usual} processes (fan-in {fan_in})",
                i64::from(total) - i64::from(app),
            ),
            LayoutError::FanIn(error) => error.fmt(f),
            LayoutError::Text => f.write_str(
                "a layout is ranks, fan-in and policy; write it like `8:4,16:tail` or \
                 `8:4,16:nodes=2`",
            ),
        }
    }
}

fn uneven(f: &mut fmt::Formatter<'_>, ranks: u32, hosts: u32) -> fmt::Result {
    write!(
        f,
        "{ranks} ranks cannot be shared evenly by {hosts} nodes; start "
    )?;
    let below = ranks - ranks % hosts;
    if below > 0 {
        write!(f, "{below} or ")?;
    }
    write!(f, "{} ranks", u64::from(below) + u64::from(hosts))
}

fn no_fit(
    f: &mut fmt::Formatter<'_>,
    total: u32,
    fan_in: FanIn,
    hosts: u32,
    below: Fit,
    above: Option<Fit>,
    app: Option<u32>,
) -> fmt::Result {
    write!(
        f,
        "{total} processes cannot be shared out: with fan-in {fan_in}"
    )?;
    if hosts > 1 {
        write!(f, " on {hosts} nodes")?;
    }

    write!(f, " no number of ranks needs {total}; start {below}")?;
    if let Some(above) = above {
        write!(f, " or {above}")?;
    }

    match app {
        Some(app) => write!(f, " processes, or keep {total} and say `--app {app}`"),
        None => f.write_str(" processes, or say how many ranks by `--app N`"),
    }
}

impl core::error::Error for LayoutError {}
