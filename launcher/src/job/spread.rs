//! Which node has which process of a step of Slurm, where the nodes have as many as they can have
//! alike: planned before the start, and compared by every process with what Slurm has done. Pure.
//!
//! Where the programs of a job stand in a file by the numbers of their processes, the file is right
//! only if the tool processes, the last ones of their nodes, have the numbers that were planned.

use crate::job::environment::{Environment, processes_here, processes_of_nodes};
use std::fmt;
use std::str::FromStr;

/// In which order processes come to the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One node after the other.
    Block,
    /// One to each node in turn.
    Cyclic,
    /// So many to each node in turn.
    Plane(u32),
}

/// So many processes on so many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Their order.
    pub order: Order,
    /// Ranks and tool processes.
    pub processes: u32,
    /// 1 at least.
    pub nodes: u32,
}

impl Spread {
    /// The node of every process.
    pub fn nodes_of_processes(self) -> impl DoubleEndedIterator<Item = u32> + Clone {
        let (each, more) = (self.processes / self.nodes, self.processes % self.nodes);
        // The first nodes have one more where they cannot be alike.
        let of_larger = more * (each + 1);
        (0..self.processes).map(move |process| match self.order {
            Order::Block if process < of_larger => process / (each + 1),
            Order::Block => more + (process - of_larger) / each.max(1),
            Order::Cyclic => process % self.nodes,
            Order::Plane(size) => process / size.max(1) % self.nodes,
        })
    }

    /// Which processes are the tools: the last one of each node.
    pub fn tools(self) -> Vec<bool> {
        let mut seen = vec![false; self.nodes as usize];
        let is_last = |node: u32| !std::mem::replace(&mut seen[node as usize], true);
        let mut tools: Vec<bool> = self.nodes_of_processes().rev().map(is_last).collect();
        tools.reverse();
        tools
    }

    /// Why the step is another one than was planned. Every process sees how many each node has, and
    /// which are on its own node.
    pub fn differs(self, environment: &Environment) -> Option<String> {
        let mut counts = vec![0; self.nodes as usize];
        self.nodes_of_processes()
            .for_each(|node| counts[node as usize] += 1);
        let planned_here = |node: u32| -> Vec<u32> {
            let nodes = (0..).zip(self.nodes_of_processes());
            nodes
                .filter(|(_, at)| *at == node)
                .map(|(process, _)| process)
                .collect()
        };
        let is_alike = processes_of_nodes(environment).is_some_and(|found| found == counts);
        let here = processes_here(environment);
        let is_here = here.is_some_and(|(node, here)| here == planned_here(node));
        (!is_alike || !is_here).then(|| {
            "Slurm has put the processes on other nodes than `invivo run` had planned, so that \
             ranks would run programs of others; put `invivo exec --` into the file of programs, \
             with a line for the last process of each node (manual: Clusters, Several programs), \
             and start it without `invivo run`"
                .to_owned()
        })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.order {
            Order::Block => f.write_str("block")?,
            Order::Cyclic => f.write_str("cyclic")?,
            Order::Plane(size) => write!(f, "plane={size}")?,
        }
        write!(f, ":{}:{}", self.processes, self.nodes)
    }
}

impl FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Spread, String> {
        let read = || {
            let mut parts = text.split(':');
            let order = match parts.next()? {
                "block" => Order::Block,
                "cyclic" => Order::Cyclic,
                other => Order::Plane(other.strip_prefix("plane=")?.parse().ok()?),
            };
            let processes = parts.next()?.parse().ok()?;
            let is_number = |nodes: &u32| (1..=processes).contains(nodes);
            let nodes = parts.next()?.parse().ok().filter(is_number)?;
            Some(Spread {
                order,
                processes,
                nodes,
            })
        };
        read().ok_or_else(|| format!("{text:?} is not ORDER:PROCESSES:NODES"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(text: &str) -> Spread {
        let spread: Spread = text.parse().expect("a spread");
        assert_eq!(spread.to_string(), text);
        spread
    }

    #[test]
    fn the_last_process_of_each_node_is_the_tool() {
        for (text, nodes, tools) in [
            ("block:6:2", vec![0, 0, 0, 1, 1, 1], vec![2, 5]),
            ("block:7:3", vec![0, 0, 0, 1, 1, 2, 2], vec![2, 4, 6]),
            ("cyclic:7:3", vec![0, 1, 2, 0, 1, 2, 0], vec![4, 5, 6]),
            ("plane=2:6:2", vec![0, 0, 1, 1, 0, 0], vec![3, 5]),
        ] {
            let spread = spread(text);
            assert_eq!(
                spread.nodes_of_processes().collect::<Vec<_>>(),
                nodes,
                "{text}"
            );
            let found = (0..).zip(spread.tools());
            let found: Vec<u32> = found.filter(|(_, tool)| *tool).map(|(at, _)| at).collect();
            assert_eq!(found, tools, "{text}");
        }
        for wrong in [
            "",
            "block",
            "block:4",
            "block:4:0",
            "plane:4:2",
            "arbitrary:4:2",
        ] {
            assert!(wrong.parse::<Spread>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_slurm_has_done_is_compared() {
        let environment = |each: &str, node: &str, here: &str| -> Environment {
            let pairs = [
                ("SLURM_STEP_TASKS_PER_NODE", each),
                ("SLURM_NODEID", node),
                ("SLURM_GTIDS", here),
            ];
            pairs
                .map(|(name, value)| (name.into(), value.into()))
                .into()
        };
        let block = spread("block:7:3");
        for (each, node, here, is_planned) in [
            ("3,2(x2)", "0", "0,1,2", true),
            ("3,2(x2)", "2", "5,6", true),
            ("3,2(x2)", "0", "0,3,6", false),
            ("3(x2),1", "0", "0,1,2", false),
            ("3,2", "0", "0,1,2", false),
        ] {
            let found = block.differs(&environment(each, node, here));
            assert_eq!(found.is_none(), is_planned, "{each} {node} {here}");
        }
        assert!(
            block.differs(&Environment::new()).is_some(),
            "nothing is known"
        );
    }
}
