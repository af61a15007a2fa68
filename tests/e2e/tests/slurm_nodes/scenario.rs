//! Where sites put their ranks: nodes that differ, and orders other than one node after the other.
//!
//! A scenario says where the bare run's ranks are. With Invivo each node has one process more, and
//! the same order.

use crate::{NODES, death, yielding};
use invivo_e2e::checks;
use invivo_e2e::cluster::slurm::{Slurm, Way};
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Conversation, program};
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

/// A job over the nodes.
pub struct Scenario {
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

    /// The options of an MPI's own launcher for that. Open MPI reads the file of hosts, a process
    /// a line, where it deals out several in a turn.
    fn launcher_options(self, family: Family, nodes: &[u32], file: &Path) -> Vec<String> {
        let on = |node| nodes.iter().filter(|at| **at == node).count();
        let hosts = |processes: &dyn Fn(u32) -> usize| -> String {
            let hosts = (0..NODES).map(|node| format!("n{}:{}", node + 1, processes(node)));
            hosts.collect::<Vec<_>>().join(",")
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let file = file.to_str().expect("a path");
        match (family.is_open_mpi(), self) {
            (true, Order::Blocks(_)) => words(&["--host", &hosts(&on)]),
            (true, Order::Cyclic { .. }) => words(&["--host", &hosts(&on), "--map-by", "node"]),
            (true, Order::Plane { .. }) => words(&["--hostfile", file, "--map-by", "seq"]),
            (false, Order::Blocks(_)) => words(&["-hosts", &hosts(&on)]),
            // Hydra fills its hosts in turns, as often as it takes.
            (false, Order::Cyclic { .. }) => words(&["-hosts", &hosts(&|_| 1)]),
            (false, Order::Plane { size, .. }) => words(&["-hosts", &hosts(&|_| size as usize)]),
        }
    }
}

/// The last processes of each node, which are the tools.
fn tools(nodes: &[u32]) -> Vec<u32> {
    let last = |node| nodes.iter().rposition(|at| *at == node);
    let mut tools: Vec<u32> = (0..NODES).filter_map(last).map(|at| at as u32).collect();
    tools.sort_unstable();
    tools
}

/// Who starts a job, with the MPI's own launcher in an allocation of as many tasks on each node as
/// the fullest one takes.
fn ways(family: Family, order: Order) -> [Way; 2] {
    let srun = match family {
        Family::Ompi => Way::Srun("pmix"),
        _ => Way::Srun("pmi2"),
    };
    let nodes = order.nodes(1);
    let on = |node: u32| nodes.iter().filter(|at| **at == node).count() as u32;
    let most = (0..NODES).map(on).max().unwrap_or(0);
    [srun, Way::Mpiexec(most)]
}

/// A job with so many ranks on each node, one node after the other, and so many processes more
/// there.
pub fn evenly(job: Job, way: Way, ranks: u32, more: u32) -> Job {
    let each = ranks + more;
    let processes = NODES * each;
    let options = match way {
        Way::Srun(_) => vec![
            format!("--nodes={NODES}"),
            format!("--ntasks-per-node={each}"),
            "-n".to_owned(),
            processes.to_string(),
        ],
        Way::Mpiexec(_) => Vec::new(),
    };
    let tools: Vec<u32> = (0..processes)
        .filter(|process| process % each >= ranks)
        .collect();
    job.placed(&options, &tools, NODES - 1)
}

/// Runs a check of all scenarios on both MPIs, in every way to start them.
pub fn each(check: impl Fn(&Scenario, Family, Way)) {
    for family in [Family::Ompi, Family::Mpich] {
        for scenario in &SCENARIOS {
            for way in ways(family, scenario.order) {
                check(scenario, family, way);
            }
        }
    }
}

impl Scenario {
    /// The job with its processes on their nodes, so many more than ranks on each.
    fn placed(&self, job: Job, slurm: &Slurm, way: Way, more: u32, file: &Path) -> Job {
        let nodes = self.order.nodes(more);
        let tools = if more == 0 { Vec::new() } else { tools(&nodes) };
        let root = nodes.last().copied().unwrap_or(0);
        let job = job.on_nodes_of(slurm, way);
        let hosts: String = nodes
            .iter()
            .map(|node| format!("n{}\n", node + 1))
            .collect();
        std::fs::write(file, hosts).expect("a list of hosts");
        let job = match way {
            Way::Srun(_) => {
                let job = job.placed(&self.order.options(&nodes), &tools, root);
                match self.order {
                    Order::Blocks(_) => job.env("SLURM_HOSTFILE", file),
                    Order::Cyclic { .. } | Order::Plane { .. } => job,
                }
            }
            Way::Mpiexec(_) => {
                let words = self.order.launcher_options(job.family(), &nodes, file);
                job.placed(&words, &tools, root)
            }
        };
        yielding(job)
    }

    /// Output and status of the bare run, every call and byte counted.
    pub fn is_as_bare(&self, slurm: &Slurm, family: Family, way: Way) {
        let directory = tempfile::tempdir_in("/tmp").expect("a directory");
        let file = directory.path().join("hosts");
        let command = Conversation::C.command(family);
        let ranks = self.ranks();
        let what = format!("{family:?}, {}, {way:?}", self.name);
        let bare = Job::bare(family, ranks, &command);
        let bare = self.placed(bare, slurm, way, 0, &file).run();
        assert_eq!(bare.code(), 0, "{what}: the bare run");
        let observed = Job::observed(family, ranks, &command).fan_in("node");
        let observed = self.placed(observed, slurm, way, 1, &file).run();

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

    /// A pause on all nodes, and a rank that is killed.
    pub fn pauses_and_dies(&self, slurm: &Slurm, family: Family, way: Way) {
        let directory = tempfile::tempdir_in("/tmp").expect("a directory");
        let file = directory.path().join("hosts");
        let command = program(family, "compute", []);
        let job = Job::observed(family, self.ranks(), &command).fan_in("node");
        let job = self.placed(job, slurm, way, 1, &file);
        death::after_a_pause(job, &format!("{family:?}, {}, {way:?}", self.name));
    }

    fn ranks(&self) -> u32 {
        self.order.nodes(0).len() as u32
    }
}
