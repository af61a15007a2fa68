//! What Slurm says to the processes that `srun` starts. Tried with Slurm 22.05.

use super::variables::{Environment, Numbers, text};
use std::ffi::OsString;

/// The rank among the processes of this node.
pub const LOCAL_RANK: &str = "SLURM_LOCALID";
/// The node's number in the step.
const NODE: &str = "SLURM_NODEID";
/// Numbers of the processes on this node, as in `0,4,8`.
const HERE: &str = "SLURM_GTIDS";
/// Nodes of the step.
const NODES: &str = "SLURM_STEP_NUM_NODES";
/// Processes of each node of the step, as in `2(x3),1`.
const TASKS_PER_NODE: &str = "SLURM_STEP_TASKS_PER_NODE";
/// Processes of each node of the whole allocation, which for a plain `srun` is the step.
const TASKS_PER_NODE_OF_JOB: &str = "SLURM_TASKS_PER_NODE";
/// Processes of the step.
const TASKS: &str = "SLURM_STEP_NUM_TASKS";
/// Processes of the step under other names, unless there is an allocation around the step.
const OTHER_TASKS: [&str; 2] = ["SLURM_NTASKS", "SLURM_NPROCS"];

/// Rank among the processes of this node, and their number.
pub fn local(env: &Environment) -> Option<(u32, u32)> {
    let number = |name: &str| text(env, name)?.parse::<u32>().ok();
    let here = on_node(text(env, TASKS_PER_NODE)?, number(NODE)?)?;
    Some((number(LOCAL_RANK)?, here))
}

/// Nodes of the step.
pub fn nodes(env: &Environment) -> Option<u32> {
    text(env, NODES)?.parse().ok()
}

/// How many processes of the step each node has.
pub fn processes_of_nodes(env: &Environment) -> Option<Vec<u32>> {
    let list = text(env, TASKS_PER_NODE)?;
    Some((0..).map_while(|node| on_node(list, node)).collect())
}

/// The number of this node in the step, and those of its processes.
pub fn processes_here(env: &Environment) -> Option<(u32, Vec<u32>)> {
    Some((text(env, NODE)?.parse().ok()?, numbers_here(env)?))
}

fn numbers_here(env: &Environment) -> Option<Vec<u32>> {
    let numbers = text(env, HERE)?.split(',');
    numbers.map(|number| number.parse().ok()).collect()
}

/// Whether a node of several has one process only.
pub fn has_node_of_one(env: &Environment) -> bool {
    let list = text(env, TASKS_PER_NODE).filter(|_| nodes(env).is_some_and(|nodes| nodes > 1));
    let tasks = |entry: &str| entry.split('(').next().and_then(|tasks| tasks.parse().ok());
    list.is_some_and(|list| list.split(',').any(|entry| tasks(entry) == Some(1)))
}

/// Why the processes of a step make no tree that is planned before it starts, where Slurm has not
/// put the same number on every node, one node after the other. Every process sees that: none
/// begins a job that others refuse.
pub fn unequal(env: &Environment) -> Option<String> {
    let nodes = nodes(env).filter(|nodes| *nodes > 1)?;
    let tasks: u32 = text(env, TASKS)?.parse().ok()?;
    let each = text(env, TASKS_PER_NODE)?;
    let neighbours = numbers_here(env)?
        .windows(2)
        .all(|pair| pair[0] + 1 == pair[1]);
    let equal = on_node(each, 0)?.checked_mul(nodes) == Some(tasks) && !each.contains(',');
    if neighbours && equal {
        return None;
    }
    let what = match equal {
        true => "neighbouring processes on different nodes".to_owned(),
        false => format!("{each} processes on {nodes} nodes"),
    };
    Some(format!(
        "Slurm has put {what}; every node must have the same number, one node after the other: \
         type --ntasks-per-node={} --distribution=block behind srun",
        tasks.div_ceil(nodes)
    ))
}

/// Processes of one node in a list such as `2(x3),1`.
fn on_node(list: &str, node: u32) -> Option<u32> {
    let mut before = 0;
    for entry in list.split(',') {
        let (tasks, nodes) = match entry.split_once("(x") {
            Some((tasks, rest)) => (tasks, rest.strip_suffix(')')?.parse().ok()?),
            None => (entry, 1_u32),
        };
        before += nodes;
        if node < before {
            return tasks.parse().ok();
        }
    }
    None
}

/// The list for a job with one process less on each of so many nodes; nothing where it has another
/// number of nodes.
fn one_less(list: &str, nodes: u32) -> Option<String> {
    let mut entries = Vec::new();
    let mut counted = 0;
    for entry in list.split(',') {
        let (tasks, times) = entry.split_once('(').unwrap_or((entry, "x1)"));
        let fewer = tasks.parse::<u32>().ok()?.checked_sub(1)?;
        counted += times
            .strip_prefix('x')?
            .strip_suffix(')')?
            .parse::<u32>()
            .ok()?;
        entries.push(match times {
            "x1)" => fewer.to_string(),
            times => format!("{fewer}({times}"),
        });
    }
    (counted == nodes).then(|| entries.join(","))
}

/// Variables with what the application would find in them without us. The allocation's own are left
/// alone.
pub fn for_application(env: &Environment, numbers: Numbers) -> Vec<(&'static str, OsString)> {
    let Some(tasks) = text(env, TASKS) else {
        return Vec::new();
    };
    let ranks = || OsString::from(numbers.ranks.to_string());
    let equal = || match numbers.hosts {
        1 => numbers.on_host.to_string(),
        hosts => format!("{}(x{hosts})", numbers.on_host),
    };
    let tools = tasks.parse::<u32>().ok();
    let tools = tools.and_then(|tasks| tasks.checked_sub(numbers.ranks));
    let less = text(env, TASKS_PER_NODE).and_then(|list| one_less(list, tools?));
    let per_node = || OsString::from(less.clone().unwrap_or_else(equal));
    let same = |name: &str, as_in: &str| text(env, name) == text(env, as_in);
    let mut changes = vec![(TASKS, ranks()), (TASKS_PER_NODE, per_node())];
    // With another value they are the allocation's, which `sbatch` set and srun left alone.
    let others = OTHER_TASKS
        .into_iter()
        .filter(|name| text(env, name) == Some(tasks));
    changes.extend(others.map(|name| (name, ranks())));
    if same(TASKS_PER_NODE_OF_JOB, TASKS_PER_NODE) {
        changes.push((TASKS_PER_NODE_OF_JOB, per_node()));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Environment {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        pairs.collect()
    }

    #[test]
    fn a_list_of_nodes_is_read() {
        for (list, node, tasks) in [
            ("4", 0, Some(4)),
            ("4", 1, None),
            ("2(x3),1", 2, Some(2)),
            ("2(x3),1", 3, Some(1)),
            ("2(x3", 0, None),
            ("", 0, None),
        ] {
            assert_eq!(on_node(list, node), tasks, "{list}, node {node}");
        }
    }

    #[test]
    fn a_node_of_one_process_is_seen() {
        for (nodes, each, expected) in [
            ("4", "6,4,5,1", true),
            ("4", "3(x2),1(x2)", true),
            ("4", "11,4(x3)", false),
            ("1", "1", false),
        ] {
            let step = [(NODES, nodes), (TASKS_PER_NODE, each)];
            assert_eq!(has_node_of_one(&env(&step)), expected, "{each}");
        }
        assert!(!has_node_of_one(&env(&[])), "nothing is known");
    }

    #[test]
    fn only_equal_blocks_make_a_planned_tree() {
        for (tasks, each, here, said) in [
            ("12", "3(x4)", "3,4,5", None),
            ("12", "3(x4)", "1,5,9", Some("neighbouring")),
            (
                "17",
                "6,4,5,2",
                "15,16",
                Some("6,4,5,2 processes on 4 nodes"),
            ),
            ("12", "4(x2),2(x2)", "6,7", Some("--ntasks-per-node=3")),
        ] {
            let step = [
                (TASKS, tasks),
                (TASKS_PER_NODE, each),
                (NODES, "4"),
                (HERE, here),
            ];
            let found = unequal(&env(&step));
            match said {
                None => assert_eq!(found, None, "{each} {here}"),
                Some(part) => assert!(found.is_some_and(|text| text.contains(part)), "{part}"),
            }
        }
        let one = [
            (TASKS, "3"),
            (TASKS_PER_NODE, "3"),
            (NODES, "1"),
            (HERE, "0,1,2"),
        ];
        assert_eq!(unequal(&env(&one)), None);
        assert_eq!(unequal(&env(&[(NODES, "4")])), None, "nothing is known");
    }

    #[test]
    fn a_step_shows_the_application_alone_and_an_allocation_itself() {
        let numbers = Numbers {
            rank: 0,
            ranks: 4,
            on_host: 4,
            hosts: 1,
        };
        let step = [
            (TASKS, "6"),
            (TASKS_PER_NODE, "6"),
            ("SLURM_NTASKS", "6"),
            ("SLURM_NPROCS", "8"),
            (TASKS_PER_NODE_OF_JOB, "8"),
        ];
        let four = |name: &'static str| (name, OsString::from("4"));
        assert_eq!(
            for_application(&env(&step), numbers),
            [four(TASKS), four(TASKS_PER_NODE), four("SLURM_NTASKS")]
        );
        let two = Numbers {
            on_host: 2,
            hosts: 2,
            ..numbers
        };
        let per_node = for_application(&env(&[(TASKS, "7"), (TASKS_PER_NODE, "3,4")]), two);
        assert_eq!(per_node[1], (TASKS_PER_NODE, OsString::from("2(x2)")));
        assert_eq!(for_application(&env(&[("SLURM_NTASKS", "6")]), numbers), []);
        // Nodes of different sizes, each with a tool process.
        let uneven = Numbers {
            ranks: 13,
            hosts: 4,
            ..numbers
        };
        let per_node = for_application(&env(&[(TASKS, "17"), (TASKS_PER_NODE, "6,4,5,2")]), uneven);
        assert_eq!(per_node[1], (TASKS_PER_NODE, OsString::from("5,3,4,1")));
        let per_node = for_application(&env(&[(TASKS, "17"), (TASKS_PER_NODE, "5(x3),2")]), uneven);
        assert_eq!(per_node[1], (TASKS_PER_NODE, OsString::from("4(x3),1")));
    }
}
