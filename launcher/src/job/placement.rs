//! On which host of the job this process runs, and what that makes of it. Pure: the layout is
//! arithmetic, the launcher's numbers are given.
//!
//! With one tool process on each of several nodes, a process needs to know its number on its own
//! node and nothing else: the last one is the tool ([`LocalRank`]). The tool processes find the
//! tree among themselves after `MPI_Init`, whatever the nodes have.
//!
//! Where the user gives the fan-in in numbers, or the nodes or ranks of the job, the layout is
//! known before, and the launcher must have put everybody where it says. With several hosts each
//! process knows only its own host's numbers. That is enough: the layout says which process is the
//! first of which host and how many each host has, so every process checks its own host, and
//! together they check all. Where nobody says how many hosts there are, they follow from the same
//! numbers, unless two answers fit.

use crate::job::environment::World;
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::local::LocalRank;
use invivo_tbon::layout::{FanIn, Layout, LayoutError, Policy};
use std::ops::Range;

/// The requested tree.
#[derive(Clone, Copy, Debug)]
pub struct TreeRequest {
    /// Ranks per place, members per node.
    pub fan_in: FanIn,
    /// Hosts of the job, where the user says so.
    pub nodes: Option<u32>,
    /// Ranks of the application, where the total alone does not say it.
    pub app: Option<u32>,
}

/// Why the launcher's processes make no tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    /// The numbers fit no layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The layout puts other processes on this host than the launcher did.
    #[error(
        "the launcher gave node {number} of {hosts} the processes {given}, the layout has {wanted} \
         there: give {each} \
         processes to every node, one node after the other, and {last} to the last one (`invivo \
         plan -n {app} --nodes \
         {hosts}` prints a host file)",
        number = host + 1,
        given = span(given),
        wanted = span(wanted)
    )]
    Elsewhere {
        /// This host, from 0.
        host: u32,
        /// Hosts of the job.
        hosts: u32,
        /// World ranks of the processes on this host.
        given: Range<u32>,
        /// Those that should be.
        wanted: Range<u32>,
        /// Processes of every host but the last.
        each: u32,
        /// Processes of the last one.
        last: u32,
        /// Ranks of the application.
        app: u32,
    },
    /// A node has no room for a rank and its tool process.
    #[error(
        "a node was given one process of the job's {size}: each node needs one more than ranks, \
         for the tool process; start at least 2 on every node (`invivo plan -n N --nodes H` prints \
         how many), or all on fewer nodes"
    )]
    NoRoom {
        /// Processes of the job.
        size: u32,
    },
    /// Several hosts, and their number is not known.
    #[error(
        "the job runs on several nodes ({local} of its {size} processes on this one), and {}; give \
         their number with \
         --nodes, and place the processes as `invivo plan -n N --nodes H` says",
        undecided(candidates)
    )]
    HowMany {
        /// Processes on this host.
        local: u32,
        /// Processes of the job.
        size: u32,
        /// Numbers of hosts that fit what this process knows.
        candidates: Vec<u32>,
    },
}

fn span(processes: &Range<u32>) -> String {
    match processes.len() {
        1 => processes.start.to_string(),
        _ => format!("{} to {}", processes.start, processes.end.saturating_sub(1)),
    }
}

fn undecided(candidates: &[u32]) -> String {
    match candidates {
        [] => "no number of nodes fits that".to_owned(),
        fitting => {
            let numbers: Vec<String> = fitting.iter().map(u32::to_string).collect();
            format!("{} nodes would fit", numbers.join(" or "))
        }
    }
}

/// What this process' host has of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// World ranks of its processes.
    pub processes: Range<u32>,
    /// How many of them are ranks of the application: the first ones.
    pub ranks: u32,
    /// The process that outlives all other tool processes here and tidies up: the root, or the
    /// host's highest process.
    pub last_tool: WorldRank,
}

impl Host {
    /// Number `host` of a layout.
    pub fn of(layout: &Layout, host: u32) -> Host {
        let each = layout.processes_per_host();
        let last = host + 1 == layout.hosts();
        let end = if last {
            layout.total()
        } else {
            (host + 1) * each
        };
        Host {
            processes: host * each..end,
            ranks: layout.app() / layout.hosts(),
            last_tool: WorldRank(end - 1),
        }
    }

    /// Tool processes of it.
    pub fn tools(&self) -> u32 {
        self.processes.len() as u32 - self.ranks
    }
}

/// What a process knows of the tree before MPI begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// All of it.
    Planned(Layout),
    /// Its own node, and that every node has a tool process.
    OnNode {
        /// The process among those of its node.
        local: LocalRank,
        /// Members per node of the tree.
        fan_in: FanIn,
        /// The layout if all nodes have as many processes as this one, node after node. Nothing
        /// depends on it but what the application finds in its environment before `MPI_Init`.
        likely: Option<Layout>,
    },
}

/// Whether the layout is known before MPI begins: on one node, and where the user says more of it
/// than that every node has a tool process.
pub fn is_planned(world: &World, request: TreeRequest) -> bool {
    let has_said = request.nodes.is_some() || request.app.is_some();
    let is_spread = world.local.is_some_and(|(_, here)| here < world.size);
    has_said || !is_spread || !request.fan_in.is_one_per_node()
}

/// Where this process stands, from the launcher's numbers and the user's options.
///
/// # Errors
/// Why there is no tree, with the numbers that would do.
pub fn placement(world: &World, request: TreeRequest) -> Result<Placement, HostsError> {
    let Some((rank, size)) = world.local.filter(|_| !is_planned(world, request)) else {
        return layout(world, request).map(Placement::Planned);
    };
    let local = LocalRank { rank, size };
    if local.role().is_none() {
        return Err(HostsError::NoRoom { size: world.size });
    }
    Ok(Placement::OnNode {
        local,
        fan_in: request.fan_in,
        likely: layout(world, request).ok(),
    })
}

/// The layout of the job, from the launcher's numbers and the user's options.
///
/// # Errors
/// Why there is no tree, with the numbers that would do.
pub fn layout(world: &World, request: TreeRequest) -> Result<Layout, HostsError> {
    let of = |policy| Layout::of_total(world.size, request.fan_in, policy, request.app);
    let layout = match (request.nodes.or(world.nodes), local(world)) {
        // What the user or a resource manager says goes before what the numbers of this host allow.
        (Some(hosts), _) if hosts > 1 => of(Policy::PerNode { hosts })?,
        (None, Some(given)) if (given.len() as u32) < world.size => spread(world, &given, of)?,
        _ => of(Policy::Tail)?,
    };
    check(world, &layout)?;
    Ok(layout)
}

/// World ranks of this host's processes, if the launcher tells and puts neighbours together.
fn local(world: &World) -> Option<Range<u32>> {
    let (rank, size) = world.local?;
    let first = world.rank.checked_sub(rank)?;
    Some(first..first.saturating_add(size))
}

/// The layout over as many hosts as fit what this process sees.
fn spread(
    world: &World,
    given: &Range<u32>,
    of: impl Fn(Policy) -> Result<Layout, LayoutError>,
) -> Result<Layout, HostsError> {
    // Every host has a rank and a tool place at least, so there are at most half as many hosts.
    let fitting: Vec<Layout> = (2..=world.size / 2)
        .filter_map(|hosts| of(Policy::PerNode { hosts }).ok())
        .filter(|layout| {
            layout
                .host_of(WorldRank(world.rank))
                .is_some_and(|host| Host::of(layout, host).processes == *given)
        })
        .collect();
    // Several numbers of hosts may fit one host's numbers, and other hosts might pick another one:
    // then the user has to say it.
    match fitting.as_slice() {
        [layout] => Ok(*layout),
        others => Err(HostsError::HowMany {
            local: given.len() as u32,
            size: world.size,
            candidates: others.iter().map(Layout::hosts).collect(),
        }),
    }
}

/// This process' host has the processes that the layout puts there.
fn check(world: &World, layout: &Layout) -> Result<(), HostsError> {
    let (Some(given), Some(host)) = (local(world), layout.host_of(WorldRank(world.rank))) else {
        return Ok(());
    };
    let wanted = Host::of(layout, host).processes;
    if wanted == given {
        return Ok(());
    }
    Err(HostsError::Elsewhere {
        host,
        hosts: layout.hosts(),
        given,
        wanted,
        each: layout.processes_per_host(),
        last: Host::of(layout, layout.hosts() - 1).processes.len() as u32,
        app: layout.app(),
    })
}

#[cfg(test)]
mod tests;
