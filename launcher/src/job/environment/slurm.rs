//! What Slurm says to the processes that `srun` starts. Tried with Slurm 22.05.

use super::variables::{Environment, Numbers, text};
use std::ffi::OsString;

/// The rank among the processes of this node.
pub const LOCAL_RANK: &str = "SLURM_LOCALID";
/// The node's number in the step.
const NODE: &str = "SLURM_NODEID";
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

/// Variables with what the application would find in them without us. The allocation's own are left
/// alone.
pub fn for_application(env: &Environment, numbers: Numbers) -> Vec<(&'static str, OsString)> {
    let Some(tasks) = text(env, TASKS) else {
        return Vec::new();
    };
    let ranks = || OsString::from(numbers.ranks.to_string());
    let per_node = || match numbers.hosts {
        1 => OsString::from(numbers.on_host.to_string()),
        hosts => format!("{}(x{hosts})", numbers.on_host).into(),
    };
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
    }
}
