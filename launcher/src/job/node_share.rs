//! What a process of the job is, and what of the job is on its node. Pure but for the notes of the
//! node's processes, which are handed in.

use super::environment::{Numbers, World};
use super::placement::{Host, Placement};
use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::layout::local::{self, LocalRole};
use invivo_tbon::layout::{Layout, Plan, RanksError, Role};

/// The processes of the job on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeShare {
    /// Ranks of the application.
    pub ranks: u32,
    /// Tool processes.
    pub tools: u32,
    /// This one is the tool process that outlives the others here and tidies up.
    pub is_last_tool: bool,
}

/// What a process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A rank of the application.
    Rank {
        /// Its rank and its place, where they are known before MPI begins.
        planned: Option<(Rank, WorldRank)>,
        /// What it is to find in its environment.
        numbers: Numbers,
    },
    /// A tool process.
    Tool {
        /// What it knows of the tree.
        plan: Plan,
        /// It holds the root.
        is_root: bool,
        /// The job has no other tool process.
        is_alone: bool,
    },
}

/// What the process is, and what is on its node. `expected`: the ranks that the user has asked for,
/// where there is one tool process per node and the number of these may not be known. `gather`
/// waits for the notes of so many processes of the node; a tool process alone calls it.
///
/// # Errors
/// When the layout has no such process, or not all processes of the node have come.
pub fn part(
    world: &World,
    placement: Placement,
    expected: Option<u32>,
    gather: impl FnOnce(u32) -> Option<Vec<u32>>,
) -> Result<(Part, NodeShare), String> {
    match placement {
        Placement::Planned(layout) => planned(world, layout),
        Placement::OnNode {
            local,
            fan_in,
            likely,
        } => {
            if let (Some(ranks), Some(nodes)) = (expected, world.nodes)
                && u64::from(world.size) != u64::from(ranks) + u64::from(nodes)
            {
                return Err(RanksError { ranks, nodes }.to_string());
            }
            let is_tool = local.role() == Some(LocalRole::Tool);
            let share = NodeShare {
                ranks: local.ranks(),
                tools: 1,
                is_last_tool: is_tool,
            };
            if !is_tool {
                let numbers = likely_numbers(world, local.ranks(), likely);
                let planned = None;
                return Ok((Part::Rank { planned, numbers }, share));
            }
            let processes = gather(local.size).ok_or_else(|| {
                format!(
                    "not all of the {} processes that the launcher put on this node have started \
                     here, or others have; the job cannot be observed",
                    local.size
                )
            })?;
            let here = local::ranks(&processes, world.rank);
            let part = Part::Tool {
                plan: Plan::RollCall {
                    fan_in,
                    ranks: expected,
                    here,
                },
                is_root: local::holds_root(&processes, world.size),
                is_alone: false,
            };
            Ok((part, share))
        }
    }
}

fn planned(world: &World, layout: Layout) -> Result<(Part, NodeShare), String> {
    let me = WorldRank(world.rank);
    let (Some(role), Some(host)) = (layout.role(me), layout.host_of(me)) else {
        return Err("the layout has no such process".to_owned());
    };
    let host = Host::of(&layout, host);
    let share = NodeShare {
        ranks: host.ranks,
        tools: host.tools(),
        is_last_tool: host.last_tool == me,
    };
    let part = match role {
        Role::Application(rank) => Part::Rank {
            planned: Some((rank, layout.place_of(rank))),
            numbers: Numbers {
                rank: rank.0,
                ranks: layout.app(),
                on_host: host.ranks,
                hosts: layout.hosts(),
            },
        },
        Role::Place { .. } | Role::Node { .. } | Role::Root => Part::Tool {
            // Whatever else that process is.
            is_root: layout.process_of(layout.root()) == Some(me),
            is_alone: layout.is_one_per_node() && layout.hosts() == 1,
            plan: Plan::Layout(layout),
        },
    };
    Ok((part, share))
}

/// What a rank is to find in its environment where the tree is found later: the application's
/// numbers where they follow from what the launcher says of all nodes, or would be these if all
/// nodes were like this one, else the launcher's own.
fn likely_numbers(world: &World, on_host: u32, likely: Option<Layout>) -> Numbers {
    let equal = likely.and_then(|layout| {
        Some(Numbers {
            rank: layout.rank_of(WorldRank(world.rank))?.0,
            ranks: layout.app(),
            on_host,
            hosts: layout.hosts(),
        })
    });
    let left = || Numbers {
        rank: world.rank,
        // One tool process on each node.
        ranks: world.size.saturating_sub(world.nodes.unwrap_or(0)),
        on_host,
        // That it is not one.
        hosts: world.nodes.unwrap_or(2),
    };
    equal.unwrap_or_else(left)
}

#[cfg(test)]
mod tests;
