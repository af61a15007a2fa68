//! Where sites put their ranks: nodes that differ, and orders other than one node after the other.
//!
//! A scenario says where the bare run's ranks are. With Invivo each node has one process more, and
//! the same order.

use crate::{NODES, yielding};
use invivo_e2e::checks;
use invivo_e2e::cluster::slurm::{Slurm, Way};
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::Conversation;
use std::path::Path;

/// Where the processes of a job are.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// One node after the other, each with its number of ranks.
    Blocks([u32; NODES as usize]),
    /// One process to each node in turn.
    Cyclic {
        /// On each node.
        ranks: u32,
    },
    /// Some processes to each node in turn.
    Plane {
        /// In each turn.
        size: u32,
        /// Of the job.
        ranks: u32,
    },
}

struct Scenario {
    name: &'static str,
    order: Order,
}

const SCENARIOS: [Scenario; 5] = [
    Scenario {
        name: "equal nodes, listed",
        order: Order::Blocks([2; 4]),
    },
    Scenario {
        name: "unequal nodes",
        order: Order::Blocks([5, 3, 4, 1]),
    },
    Scenario {
        name: "one node fuller than asked",
        order: Order::Blocks([3, 2, 2, 2]),
    },
    Scenario {
        name: "cyclic",
        order: Order::Cyclic { ranks: 2 },
    },
    Scenario {
        name: "plane",
        order: Order::Plane { size: 2, ranks: 8 },
    },
];

impl Order {
    /// The node of every process, with so many more on each node.
    fn nodes(self, more: u32) -> Vec<u32> {
        let on = |nodes: u32, total: u32, size: u32| -> Vec<u32> {
            (0..total).map(|process| process / size % nodes).collect()
        };
        match self {
            Order::Blocks(ranks) => (0..NODES)
                .zip(ranks)
                .flat_map(|(node, ranks)| vec![node; (ranks + more) as usize])
                .collect(),
            Order::Cyclic { ranks } => on(NODES, (ranks + more) * NODES, 1),
            Order::Plane { size, ranks } => on(NODES, ranks + more * NODES, size),
        }
    }

    /// The options of `srun` for that; a list of hosts is for `SLURM_HOSTFILE`.
    fn options(self, nodes: &[u32]) -> Vec<String> {
        let distribution = match self {
            Order::Blocks(_) => "arbitrary".to_owned(),
            Order::Cyclic { .. } => "cyclic".to_owned(),
            Order::Plane { size, .. } => format!("plane={size}"),
        };
        let mut options = vec![format!("--distribution={distribution}")];
        if !matches!(self, Order::Blocks(_)) {
            // Of nodes that it shares, Slurm gives the first one all processors but one on each.
            options.extend([format!("--nodes={NODES}"), "--exclusive".to_owned()]);
        }
        options.extend(["-n".to_owned(), nodes.len().to_string()]);
        options
    }
}

/// The last processes of each node, which are the tools.
fn tools(nodes: &[u32]) -> Vec<u32> {
    let last = |node| nodes.iter().rposition(|at| *at == node);
    let mut tools: Vec<u32> = (0..NODES).filter_map(last).map(|at| at as u32).collect();
    tools.sort_unstable();
    tools
}

fn job(job: Job, slurm: &Slurm, mpi: &'static str, order: Order, more: u32, file: &Path) -> Job {
    let nodes = order.nodes(more);
    let tools = if more == 0 { Vec::new() } else { tools(&nodes) };
    let hosts: String = nodes
        .iter()
        .map(|node| format!("n{}\n", node + 1))
        .collect();
    std::fs::write(file, hosts).expect("a list of hosts");
    let job = job.on_nodes_of(slurm, Way::Srun(mpi));
    let job = yielding(job.placed(&order.options(&nodes), &tools));
    match order {
        Order::Blocks(_) => job.env("SLURM_HOSTFILE", file),
        Order::Cyclic { .. } | Order::Plane { .. } => job,
    }
}

/// Runs all of them on both MPIs: each is as bare.
pub fn all(slurm: &Slurm) {
    let directory = tempfile::tempdir_in("/tmp").expect("a directory");
    let file = directory.path().join("hosts");
    for (family, mpi) in [(Family::Ompi, "pmix"), (Family::Mpich, "pmi2")] {
        let command = Conversation::C.command(family);
        for Scenario { name, order } in SCENARIOS {
            let what = format!("{family:?}, {name}");
            let ranks = order.nodes(0).len() as u32;
            let bare = Job::bare(family, ranks, &command);
            let bare = job(bare, slurm, mpi, order, 0, &file).run();
            assert_eq!(bare.code(), 0, "{what}: the bare run");
            let observed = Job::observed(family, ranks, &command).fan_in("node");
            let observed = job(observed, slurm, mpi, order, 1, &file).run();

            let lines = observed.our_lines();
            assert_eq!(observed.code(), 0, "{what}: {lines:?}");
            assert_eq!(observed.stdout(), bare.stdout(), "{what}");
            let (report, own) = (observed.report(), observed.own_counts());
            assert_eq!(report.job.places, NODES, "{what}");
            checks::complete(&report, ranks);
            checks::same_calls(&report, &own.calls);
            checks::same_traffic(&report, &own);
            observed.assert_nothing_left();
        }
    }
}
