//! On how many nodes a line's ranks and tool processes come, and whether there is room for them.
//! What cannot run is refused before anything starts, with what to ask for. Pure.

use crate::command_line::allocation::{Allocation, Given};
use crate::command_line::launcher_options::Flavour;
use crate::command_line::wording;
use invivo_tbon::layout::Layout;

/// Why a job cannot run where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// There are no places for the tool processes.
    NoRoom {
        /// Ranks and tool processes.
        sum: String,
        /// Nodes of the job.
        nodes: u32,
        /// Processes that each of them would have, at most.
        each: u32,
        /// Processes in all.
        total: u32,
        /// Places that there are in all.
        slots: u64,
        /// Who gives them.
        given: Given,
        /// The launcher.
        flavour: Flavour,
    },
    /// The number of nodes is a range.
    Range {
        /// The text.
        nodes: String,
    },
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::NoRoom {
                sum,
                nodes,
                each,
                total,
                slots,
                given,
                flavour,
            } => {
                let on = match nodes {
                    1 => "take".to_owned(),
                    _ => format!("on {nodes} nodes take"),
                };
                let most = match each.checked_mul(*nodes) == Some(*total) {
                    true => "",
                    false => "up to ",
                };
                let who = match given {
                    Given::Slurm | Given::Pbs => "the allocation",
                    Given::Line(words) => words,
                };
                write!(
                    f,
                    "{sum} {on} {total} places, {most}{each} on each, and {who} has room for \
                     {slots}; "
                )?;
                f.write_str(&advice(given, *flavour, *nodes, *each))
            }
            Problem::Range { nodes } => write!(
                f,
                "--nodes={nodes} leaves open how many nodes there will be, and each has a tool \
                 process; give one number"
            ),
        }
    }
}

/// What to ask for, and what to type where one can do without.
fn advice(given: &Given, flavour: Flavour, nodes: u32, each: u32) -> String {
    let ask = match given {
        Given::Slurm => format!("ask sbatch or salloc for --ntasks-per-node={each}"),
        Given::Pbs => {
            format!("ask qsub for -l select={nodes}:ncpus={each}:mpiprocs={each}")
        }
        Given::Line(words) => format!("give each node {each} places in {words}"),
    };
    match (flavour, nodes) {
        (Flavour::Slurm, _) => format!("{ask}, or type --overcommit behind srun"),
        (Flavour::OpenMpi, _) => format!("{ask}, or type --oversubscribe behind the launcher"),
        (Flavour::Hydra, 2..) => format!("{ask}, or type -ppn {each} behind the launcher"),
        _ => ask,
    }
}

/// Ranks of each node when a launcher fills one node after the other and leaves one place on each
/// for the tool process; nothing where not all find a place. With `per_node` no node has more
/// ranks.
fn filled(slots: &[u32], ranks: u32, per_node: Option<u32>, tools: u32) -> Option<Vec<u32>> {
    let mut left = ranks;
    let mut found = Vec::new();
    for slots in slots {
        let room = slots.saturating_sub(tools);
        let here = per_node.map_or(room, |each| each.min(room)).min(left);
        if here > 0 {
            found.push(here);
        }
        left -= here;
        if left == 0 {
            return Some(found);
        }
    }
    None
}

/// The nodes of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// How many.
    pub number: u32,
    /// Ranks of each, in the launcher's order, where that is certain.
    pub ranks: Option<Vec<u32>>,
}

impl From<u32> for Used {
    fn from(number: u32) -> Used {
        Used {
            number,
            ranks: None,
        }
    }
}

/// The nodes that `mpiexec` uses for so many ranks with a tool process on each. Where there is no
/// room, `crowded` says that the launcher starts them all the same, as many on each node.
///
/// # Errors
/// What to ask for.
pub fn nodes_of_mpiexec(
    allocation: &Allocation,
    flavour: Flavour,
    ranks: u32,
    per_node: Option<u32>,
    crowded: bool,
) -> Result<Used, Problem> {
    // Hydra puts as many on each node as it is told, whatever there is room for.
    let told = per_node.filter(|_| flavour == Flavour::Hydra);
    let told = told.map(|each| vec![each.saturating_add(1); allocation.slots.len()]);
    let slots = told.as_ref().unwrap_or(&allocation.slots);
    let bare = filled(slots, ranks, per_node, 0);
    let bare = bare.map_or(slots.len(), |found| found.len()) as u32;
    let each = ranks.div_ceil(bare.max(1)) + 1;
    let found = match filled(slots, ranks, per_node, 1) {
        Some(found) => found,
        None if crowded => return Ok(bare.into()),
        // On one node Hydra starts any number, and what a list of hosts says of one node Open MPI
        // tells by itself.
        None if slots.len() == 1 && flavour != Flavour::OpenMpi => return Ok(1.into()),
        None if slots.len() == 1 && matches!(allocation.given, Given::Line(_)) => {
            return Ok(1.into());
        }
        None => {
            return Err(Problem::NoRoom {
                sum: sum(ranks, bare),
                nodes: bare,
                each,
                total: ranks.saturating_add(bare),
                slots: slots.iter().map(|slots| u64::from(*slots)).sum(),
                given: allocation.given.clone(),
                flavour,
            });
        }
    };
    Ok(Used {
        number: found.len() as u32,
        ranks: Some(found),
    })
}

/// `8 ranks + 4 tool processes`
fn sum(ranks: u32, nodes: u32) -> String {
    let tools = wording::counted(nodes, "tool process");
    format!("{} + {tools}", wording::counted(ranks, "rank"))
}

/// Whether Slurm's allocation has room for a step of this layout.
///
/// # Errors
/// What to ask for.
pub fn of_srun(layout: &Layout, allocation: &Allocation) -> Result<(), Problem> {
    let nodes = layout.hosts();
    let each = match nodes {
        1 => layout.total(),
        _ => layout.processes_of_host(0),
    };
    let with_room = |least: u32| {
        let fitting = allocation.slots.iter().filter(|slots| **slots >= least);
        fitting.count() as u64 >= u64::from(nodes)
    };
    let fits = match layout.is_found() {
        // Nodes that differ: a rank and the tool process on each, and the others anywhere.
        true => with_room(2) && most_room(&allocation.slots, nodes) >= u64::from(layout.total()),
        false => with_room(each),
    };
    if fits {
        return Ok(());
    }
    Err(Problem::NoRoom {
        sum: wording::sum(layout),
        nodes,
        each,
        total: layout.total(),
        slots: allocation.slots.iter().map(|slots| u64::from(*slots)).sum(),
        given: allocation.given.clone(),
        flavour: Flavour::Slurm,
    })
}

/// The room of the largest nodes.
fn most_room(slots: &[u32], nodes: u32) -> u64 {
    let mut slots = slots.to_vec();
    slots.sort_unstable_by(|a, b| b.cmp(a));
    slots
        .iter()
        .take(nodes as usize)
        .map(|slots| u64::from(*slots))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_tbon::layout::{FanIn, Policy};

    fn slurm(slots: &[u32]) -> Allocation {
        Allocation {
            slots: slots.to_vec(),
            given: Given::Slurm,
        }
    }

    fn nodes(slots: &[u32], ranks: u32, per_node: Option<u32>) -> Result<u32, String> {
        nodes_of_mpiexec(&slurm(slots), Flavour::OpenMpi, ranks, per_node, false)
            .map(|used| used.number)
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn nodes_are_filled_with_one_place_left() {
        assert_eq!(nodes(&[3; 4], 8, None), Ok(4));
        assert_eq!(nodes(&[3; 4], 4, None), Ok(2));
        assert_eq!(nodes(&[129; 4], 512, None), Ok(4));
        assert_eq!(nodes(&[16; 4], 8, Some(2)), Ok(4));
        assert_eq!(nodes(&[5], 4, None), Ok(1));
        assert_eq!(nodes(&[128; 4], 128, None), Ok(2), "127 and 1");
        assert_eq!(nodes(&[6, 4, 5, 2], 13, None), Ok(4));
    }

    #[test]
    fn what_does_not_fit_says_what_to_ask_for() {
        let full = nodes(&[128; 4], 512, None).expect_err("full");
        assert_eq!(
            full,
            "512 ranks + 4 tool processes on 4 nodes take 516 places, 129 on each, and the \
             allocation has room for 512; ask sbatch or salloc for --ntasks-per-node=129, or type \
             --oversubscribe behind the launcher"
        );
        let pbs = Allocation {
            slots: vec![4, 4],
            given: Given::Pbs,
        };
        let said = nodes_of_mpiexec(&pbs, Flavour::Hydra, 8, None, false).expect_err("full");
        let said = said.to_string();
        let parts = ["select=2:ncpus=5:mpiprocs=5", "type -ppn 5"];
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }

    #[test]
    fn who_may_crowd_the_nodes_does() {
        let crowded = |flavour, slots: &[u32], ranks, crowded| {
            let used = nodes_of_mpiexec(&slurm(slots), flavour, ranks, None, crowded);
            used.map(|used| used.number)
        };
        assert_eq!(crowded(Flavour::OpenMpi, &[2; 4], 8, true), Ok(4));
        assert_eq!(crowded(Flavour::Hydra, &[4], 4, false), Ok(1));
        assert!(crowded(Flavour::OpenMpi, &[4], 4, false).is_err());
    }

    #[test]
    fn a_step_has_its_processors_or_is_refused() {
        let layout = |ranks, hosts| {
            let policy = match hosts {
                1 => Policy::Tail,
                hosts => Policy::PerNode { hosts },
            };
            Layout::shared_out(ranks, FanIn::default(), policy).expect("a layout")
        };
        assert_eq!(of_srun(&layout(8, 4), &slurm(&[3; 4])), Ok(()));
        assert_eq!(of_srun(&layout(4, 2), &slurm(&[2, 3, 3, 2])), Ok(()));
        assert_eq!(of_srun(&layout(13, 4), &slurm(&[6, 4, 5, 2])), Ok(()));
        assert!(of_srun(&layout(13, 4), &slurm(&[9, 9, 9, 1])).is_err());
        for (layout, slots, each) in [
            (layout(8, 4), vec![2; 4], 3),
            (layout(8, 4), vec![9, 9, 9, 2], 3),
            (layout(4, 1), vec![4], 5),
            (layout(13, 4), vec![6, 4, 5, 1], 5),
            (layout(13, 4), vec![4; 4], 5),
        ] {
            let said = of_srun(&layout, &slurm(&slots)).expect_err("no room");
            let said = said.to_string();
            let asked = format!("--ntasks-per-node={each}, or type --overcommit behind srun");
            assert!(said.ends_with(&asked), "{said}");
        }
    }
}
