//! What a tool process is told of the layout at its start: all of it, or who is on its node.
//!
//! As text, for its command line: a layout as ever, `8:2,2:tail`, or `found:node,16:0,2,5`, which
//! says that the tool processes find the layout among themselves, and the world ranks of the ranks
//! on this node. `found=8:node,16:0,2,5` says as well how many ranks there are to be.

use super::{FanIn, Layout, LayoutError};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

const FOUND: &str = "found";

/// The job has other nodes than were known when its processes were counted: one tool process on
/// each leaves another number of ranks than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RanksError {
    /// Ranks asked for.
    pub ranks: u32,
    /// Nodes that there are.
    pub nodes: u32,
}

impl fmt::Display for RanksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RanksError { ranks, nodes } = self;
        let total = u64::from(*ranks) + u64::from(*nodes);
        write!(
            f,
            "the launcher put the job on {nodes} nodes, each of which needs a tool process: \
             {ranks} ranks take {total} processes; type: invivo run --nodes {nodes} -- and the line"
        )
    }
}

impl core::error::Error for RanksError {}

/// What is known of the layout before MPI begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// All of it.
    Layout(Layout),
    /// The tool processes find it among themselves: [`Layout::found`].
    RollCall {
        /// Members per node of the tree; one tool process per node of the cluster.
        fan_in: FanIn,
        /// Ranks that the user has asked for, where that is known.
        ranks: Option<u32>,
        /// World ranks of the ranks on this node.
        here: Vec<u32>,
    },
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plan::Layout(layout) => layout.fmt(f),
            Plan::RollCall {
                fan_in,
                ranks,
                here,
            } => {
                f.write_str(FOUND)?;
                ranks.map_or(Ok(()), |ranks| write!(f, "={ranks}"))?;
                write!(f, ":{fan_in}:")?;
                here.iter().enumerate().try_for_each(|(at, world)| {
                    let comma = if at == 0 { "" } else { "," };
                    write!(f, "{comma}{world}")
                })
            }
        }
    }
}

impl FromStr for Plan {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Plan, LayoutError> {
        let Some(found) = text.strip_prefix(FOUND) else {
            return Ok(Plan::Layout(text.parse()?));
        };
        let (ranks, found) = found.split_once(':').ok_or(LayoutError::Text)?;
        let ranks = match ranks.strip_prefix('=') {
            Some(ranks) => Some(ranks.parse().map_err(|_| LayoutError::Text)?),
            None if ranks.is_empty() => None,
            None => return Err(LayoutError::Text),
        };
        let (fan_in, here) = found.split_once(':').ok_or(LayoutError::Text)?;
        let fan_in: FanIn = fan_in.parse()?;
        let here: Result<Vec<u32>, _> = here.split(',').map(str::parse).collect();
        let here = here.map_err(|_| LayoutError::Text)?;
        // A layout is found only where there is one tool process on each node.
        if !fan_in.is_one_per_node() {
            return Err(LayoutError::Text);
        }
        Ok(Plan::RollCall {
            fan_in,
            ranks,
            here,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn text_tells_the_whole_plan() {
        for text in [
            "8:2,2:tail",
            "8:node,16:nodes=2",
            "found:node,2:0,3,5",
            "found=12:node,16:0,3",
            "found:node,16:7",
        ] {
            let plan: Plan = text.parse().expect("a plan");
            assert_eq!(plan.to_string(), text);
        }
        for text in [
            "found:",
            "found",
            "found=:node,16:0",
            "found9:node,16:0",
            "found:node,16",
            "found:node,16:",
            "found:4,16:0",
            "found:node,1:0",
        ] {
            assert!(text.parse::<Plan>().is_err(), "{text}");
        }
    }
}
