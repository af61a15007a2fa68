//! Processes of jobs as the launchers tell them, in tables of their environments.

use super::*;
use crate::job::environment::{self, Environment};
use crate::job::placement::{self, TreeRequest};
use invivo_tbon::layout::FanIn;

/// A process' environment: what a launcher writes into it.
fn env(pairs: &[(&str, String)]) -> Environment {
    let pairs = pairs
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    pairs.collect()
}

/// How a launcher tells a process its numbers.
type Tells = fn(Process) -> Environment;

/// One process of a job.
#[derive(Clone, Copy)]
struct Process {
    rank: u32,
    size: u32,
    local: u32,
    here: u32,
    node: usize,
    /// Processes of every node.
    nodes: &'static [u32],
}

/// `mpirun` of Open MPI 4.1.
fn open_mpi(one: Process) -> Environment {
    env(&[
        ("OMPI_COMM_WORLD_RANK", one.rank.to_string()),
        ("OMPI_COMM_WORLD_SIZE", one.size.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", one.local.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", one.here.to_string()),
        ("PMIX_RANK", one.rank.to_string()),
    ])
}

/// `mpiexec.hydra` of MPICH and Intel MPI.
fn hydra(one: Process) -> Environment {
    env(&[
        ("PMI_RANK", one.rank.to_string()),
        ("PMI_SIZE", one.size.to_string()),
        ("MPI_LOCALRANKID", one.local.to_string()),
        ("MPI_LOCALNRANKS", one.here.to_string()),
    ])
}

fn slurm(one: Process, mpi: [(&str, String); 2]) -> Environment {
    let per_node: Vec<String> = one.nodes.iter().map(u32::to_string).collect();
    let mut all = env(&[
        ("SLURM_PROCID", one.rank.to_string()),
        ("SLURM_LOCALID", one.local.to_string()),
        ("SLURM_NODEID", one.node.to_string()),
        ("SLURM_STEP_NUM_TASKS", one.size.to_string()),
        ("SLURM_STEP_NUM_NODES", one.nodes.len().to_string()),
        ("SLURM_STEP_TASKS_PER_NODE", per_node.join(",")),
    ]);
    all.extend(env(&mpi));
    all
}

/// `srun --mpi=pmix`.
fn srun_pmix(one: Process) -> Environment {
    let rank = ("PMIX_RANK", one.rank.to_string());
    slurm(one, [rank, ("SLURM_NTASKS", one.size.to_string())])
}

/// `srun --mpi=pmi2`.
fn srun_pmi2(one: Process) -> Environment {
    let rank = ("PMI_RANK", one.rank.to_string());
    slurm(one, [rank, ("PMI_SIZE", one.size.to_string())])
}

const LAUNCHERS: [Tells; 4] = [open_mpi, hydra, srun_pmix, srun_pmi2];

/// All processes of a job on nodes of these sizes, by the node of each.
fn job(node_of: &[usize], nodes: &'static [u32]) -> Vec<Process> {
    let mut filled = vec![0; nodes.len()];
    let processes = node_of.iter().zip(0..).map(|(&node, rank)| {
        filled[node] += 1;
        Process {
            rank,
            size: node_of.len() as u32,
            local: filled[node] - 1,
            here: nodes[node],
            node,
            nodes,
        }
    });
    processes.collect()
}

fn block(nodes: &[u32]) -> Vec<usize> {
    let node = |(node, &here): (usize, &u32)| vec![node; here as usize];
    nodes.iter().enumerate().flat_map(node).collect()
}

fn cyclic(nodes: &[u32]) -> Vec<usize> {
    let turns = 0..nodes.iter().copied().max().unwrap_or(0);
    let turn = |turn| (0..nodes.len()).filter(move |&node| turn < nodes[node]);
    turns.flat_map(turn).collect()
}

fn request() -> TreeRequest {
    TreeRequest {
        fan_in: FanIn::default(),
        nodes: None,
        app: None,
    }
}

fn part_of(environment: &Environment, all: &[Process]) -> (Part, NodeShare) {
    let world = environment::world(environment).expect("a world");
    let placement = placement::placement(&world, request()).expect("a place");
    let me = all
        .iter()
        .find(|one| one.rank == world.rank)
        .expect("in the job");
    let here = all.iter().filter(|one| one.node == me.node);
    let here: Vec<u32> = here.map(|one| one.rank).collect();
    let gather = |processes| (here.len() == processes as usize).then_some(here.clone());
    part(&world, placement, None, gather).expect("a part")
}

/// Each launcher, block and cyclic, unequal nodes: one tool process on each, one root, and the tool
/// processes find the ranks that are left.
#[test]
fn one_process_of_each_node_is_the_tool() {
    const NODES: &[u32] = &[6, 4, 5, 2];
    for tells in LAUNCHERS {
        for node_of in [block(NODES), cyclic(NODES)] {
            let all = job(&node_of, NODES);
            let mut tools = vec![Vec::new(); NODES.len()];
            let mut roots = 0;
            for &one in &all {
                let (part, share) = part_of(&tells(one), &all);
                assert_eq!((share.ranks, share.tools), (one.here - 1, 1));
                let Part::Tool {
                    plan,
                    is_root,
                    is_alone,
                } = part
                else {
                    assert!(!share.is_last_tool && one.local + 1 < one.here);
                    continue;
                };
                assert!(share.is_last_tool && !is_alone);
                let here = all.iter().filter(|other| other.node == one.node);
                let here = here
                    .filter(|other| other.rank != one.rank)
                    .map(|other| other.rank);
                let expected = Plan::RollCall {
                    fan_in: request().fan_in,
                    ranks: None,
                    here: here.collect(),
                };
                assert_eq!(plan, expected);
                tools[one.node].push(one.rank);
                roots += u32::from(is_root);
                assert_eq!(is_root, node_of.last() == Some(&one.node));
            }
            assert!(tools.iter().all(|tools| tools.len() == 1), "{tools:?}");
            assert_eq!(roots, 1);
        }
    }
}

/// What the application finds before `MPI_Init`: its own numbers where nodes are equal, and its
/// size where the launcher says how many nodes there are; else what the launcher wrote.
#[test]
fn numbers_are_the_applications_where_they_follow() {
    let numbers = |tells: Tells, node_of: &[usize], nodes: &'static [u32], rank: usize| {
        let all = job(node_of, nodes);
        match part_of(&tells(all[rank]), &all).0 {
            Part::Rank {
                planned: None,
                numbers,
            } => numbers,
            other => panic!("{other:?}"),
        }
    };
    const EQUAL: &[u32] = &[3, 3];
    for tells in LAUNCHERS {
        let expected = Numbers {
            rank: 3,
            ranks: 4,
            on_host: 2,
            hosts: 2,
        };
        assert_eq!(numbers(tells, &block(EQUAL), EQUAL, 4), expected);
    }
    const UNEQUAL: &[u32] = &[6, 4, 5, 2];
    let expected = Numbers {
        rank: 7,
        ranks: 13,
        on_host: 3,
        hosts: 4,
    };
    assert_eq!(numbers(srun_pmi2, &block(UNEQUAL), UNEQUAL, 7), expected);
    let left = numbers(open_mpi, &block(UNEQUAL), UNEQUAL, 7);
    assert_eq!((left.rank, left.ranks, left.on_host), (7, 17, 3));
}

#[test]
fn a_node_without_room_is_refused() {
    let all = job(&[0, 0, 1], &[2, 1]);
    let world = environment::world(&hydra(all[2])).expect("a world");
    let refused = placement::placement(&world, request()).expect_err("no room");
    let why = refused.to_string();
    assert!(why.contains("one process of the job's 3"), "{why}");
    let world = environment::world(&hydra(all[1])).expect("a world");
    let placement = placement::placement(&world, request()).expect("a place");
    let why = part(&world, placement, None, |_| None).expect_err("nobody came");
    assert!(why.contains("not all of the 2 processes"), "{why}");
    // Slurm says on how many nodes the job is, and it is not as `invivo run` has reckoned.
    const EQUAL: &[u32] = &[3, 3];
    let all = job(&block(EQUAL), EQUAL);
    let world = environment::world(&srun_pmi2(all[0])).expect("a world");
    let placement = placement::placement(&world, request()).expect("a place");
    let why = part(&world, placement, Some(5), |_| None).expect_err("a rank too few");
    assert!(why.contains("--nodes 2"), "{why}");
    assert!(part(&world, placement, Some(4), |_| None).is_ok());
}
