//! The nodes on which a launcher puts a job, and how many processes each takes: from a list of
//! hosts on its line, from Slurm, or from PBS. Pure; nothing where that is not certain.

use crate::command_line::launcher_options::{Flavour, Line, stem};
use crate::job::environment::Environment;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Options of `mpiexec` that name a file of hosts, and hosts.
const FILES: [&str; 3] = ["hostfile", "machinefile", "f"];
const HOSTS: [&str; 4] = ["H", "host", "hosts", "hostlist"];
/// Options by which processes may come in another order than one node after the other, or on other
/// nodes than these.
const ELSEWHERE: [&str; 15] = [
    "map-by",
    "rank-by",
    "bynode",
    "rankfile",
    "rf",
    "nolocal",
    "order-nodes",
    "default-hostfile",
    "hnp",
    "dvm",
    "pernode",
    "npersocket",
    "ppr",
    "skip-launch-node",
    "machines",
];
/// More nodes than any job has: a list that names more is not believed.
const NODES_MAX: usize = 1 << 20;

/// Who gives the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Slurm's allocation.
    Slurm,
    /// PBS' file of nodes.
    Pbs,
    /// The launcher's line, with the words that say it.
    Line(String),
}

/// Nodes in the launcher's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Processes that each node takes.
    pub slots: Vec<u32>,
    /// Who says so.
    pub given: Given,
}

/// The nodes of a line of `mpiexec`; `read` gives the text of a file.
pub fn of_mpiexec(
    line: &Line,
    words: &[OsString],
    environment: &Environment,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<Allocation> {
    let options = words.get(1..line.parts.first()?.program.start)?;
    let mut said = None;
    for (at, word) in options.iter().enumerate() {
        let Some((name, value)) = word.to_str().and_then(stem).map(parted) else {
            continue;
        };
        if ELSEWHERE.contains(&name) {
            return None;
        }
        let (file, list) = (FILES.contains(&name), HOSTS.contains(&name));
        if !file && !list {
            continue;
        }
        let value = match value {
            Some(value) => value,
            None => options.get(at + 1)?.to_str()?,
        };
        let hosts = match file {
            true => of_file(&read(Path::new(value))?)?,
            false => of_list(value)?,
        };
        let given = match file {
            true => value.to_owned(),
            false => format!("{} {value}", word.to_string_lossy()),
        };
        // Two options that name hosts: what counts then is not certain.
        if said.replace((hosts, given)).is_some() {
            return None;
        }
    }
    if let Some((slots, given)) = said {
        let given = Given::Line(given);
        return Some(Allocation { slots, given });
    }
    of_batch_system(environment, read)
}

/// The nodes of the batch job around a launcher.
fn of_batch_system(
    environment: &Environment,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<Allocation> {
    let text = |name: &str| environment.get(OsStr::new(name))?.to_str();
    if text("SLURM_JOB_ID").is_some() {
        return Some(Allocation {
            slots: slurm_list(text("SLURM_TASKS_PER_NODE")?)?,
            given: Given::Slurm,
        });
    }
    let file = read(Path::new(text("PBS_NODEFILE")?))?;
    // A line for each process that has been asked for, with the node's name.
    let names = file.lines().map(str::trim).filter(|name| !name.is_empty());
    Some(Allocation {
        slots: together(names.map(|name| (name, 1)))?,
        given: Given::Pbs,
    })
}

/// Processors that Slurm's allocation has on each node for tasks of so many processors each.
pub fn of_slurm(environment: &Environment, per_task: u32) -> Option<Allocation> {
    let text = |name: &str| environment.get(OsStr::new(name))?.to_str();
    text("SLURM_JOB_ID")?;
    let processors = slurm_list(text("SLURM_JOB_CPUS_PER_NODE")?)?;
    Some(Allocation {
        slots: processors
            .iter()
            .map(|cpus| cpus / per_task.max(1))
            .collect(),
        given: Given::Slurm,
    })
}

/// Slurm's `2(x3),1`: a number for each node.
pub fn slurm_list(list: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in list.split(',') {
        let (number, times) = match entry.split_once("(x") {
            Some((number, rest)) => (number, rest.strip_suffix(')')?.parse().ok()?),
            None => (entry, 1),
        };
        let number: u32 = number.trim().parse().ok()?;
        if numbers.len() + times > NODES_MAX {
            return None;
        }
        numbers.resize(numbers.len() + times, number);
    }
    Some(numbers)
}

/// An option's name, and the value behind its `=`.
fn parted(option: &str) -> (&str, Option<&str>) {
    match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    }
}

/// `name slots=4` (Open MPI) or `name:4` (Hydra) in every line, beside other words and comments.
fn of_file(text: &str) -> Option<Vec<u32>> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty());
    let hosts = lines.map(|line| {
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let slots = rest
            .split_whitespace()
            .find_map(|word| word.strip_prefix("slots="));
        match (slots, first.split_once(':')) {
            (Some(slots), _) => Some((first, slots.parse().ok()?)),
            (None, Some((name, slots))) => Some((name, slots.parse().ok()?)),
            // Its number is the machine's, or 1: that depends on the launcher.
            (None, None) => None,
        }
    });
    together(hosts.collect::<Option<Vec<_>>>()?.into_iter())
}

/// `name:4`, with commas between them.
fn of_list(text: &str) -> Option<Vec<u32>> {
    let hosts = text.split(',').map(|host| {
        let (name, slots) = host.rsplit_once(':')?;
        Some((name, slots.parse().ok()?))
    });
    together(hosts.collect::<Option<Vec<_>>>()?.into_iter())
}

/// Lines of one node are one node.
fn together<'a>(hosts: impl Iterator<Item = (&'a str, u32)>) -> Option<Vec<u32>> {
    let mut index = std::collections::BTreeMap::new();
    let mut slots: Vec<u32> = Vec::new();
    for (name, more) in hosts {
        let at = *index.entry(name).or_insert(slots.len());
        match slots.get_mut(at) {
            Some(sum) => *sum = sum.checked_add(more)?,
            None => slots.push(more),
        }
    }
    (!slots.is_empty() && slots.len() <= NODES_MAX).then_some(slots)
}

/// The option that says how many processes each node takes: its number, and the argument with it.
pub fn per_node(line: &Line, words: &[OsString]) -> Option<(u32, usize)> {
    let names: &[&str] = match line.flavour {
        Flavour::OpenMpi => &["npernode", "N"],
        Flavour::Hydra => &["ppn", "perhost"],
        Flavour::Either => &["npernode", "N", "ppn", "perhost"],
        Flavour::Slurm => return None,
    };
    let options = 1..line.parts.first()?.program.start;
    for at in options {
        let Some((name, value)) = words.get(at)?.to_str().and_then(stem).map(parted) else {
            continue;
        };
        if names.contains(&name) {
            let number_at = if value.is_some() { at } else { at + 1 };
            let number = value.or_else(|| words.get(number_at)?.to_str())?;
            return Some((number.parse().ok()?, number_at));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::launcher_options::read as read_line;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        pairs.collect()
    }

    fn slots(text: &str, pairs: &[(&str, &str)]) -> Option<Vec<u32>> {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        let line = read_line(&words, None).expect("a line");
        let files = |path: &Path| match path.to_str()? {
            "ompi" => Some("# ours\na slots=2\nb slots=3 max_slots=9\na slots=1\n".to_owned()),
            "hydra" => Some("a:2\nb:3 binding=user:0\n\n".to_owned()),
            "silent" => Some("a slots=2\nb\n".to_owned()),
            "nodes" => Some("n1\nn1\nn2\nn2\n".to_owned()),
            _ => None,
        };
        let found = of_mpiexec(&line, &words, &environment(pairs), files)?;
        Some(found.slots)
    }

    #[test]
    fn nodes_come_from_the_line_before_the_batch_system() {
        let slurm = [("SLURM_JOB_ID", "7"), ("SLURM_TASKS_PER_NODE", "3(x4),1")];
        let pbs = [("PBS_NODEFILE", "nodes")];
        for (line, pairs, expected) in [
            ("mpiexec -n 4 ./app", &slurm[..], Some(vec![3, 3, 3, 3, 1])),
            ("mpiexec -n 4 ./app", &pbs[..], Some(vec![2, 2])),
            (
                "mpiexec -n 4 --hostfile ompi ./app",
                &slurm[..],
                Some(vec![3, 3]),
            ),
            ("mpiexec -f hydra -n 4 ./app", &[], Some(vec![2, 3])),
            (
                "mpiexec -n 4 -hosts=a:2,b:2 ./app",
                &pbs[..],
                Some(vec![2, 2]),
            ),
            ("mpiexec -n 4 -H a:2,b:2,a:1 ./app", &[], Some(vec![3, 2])),
            ("mpiexec -n 4 ./app", &[], None),
        ] {
            assert_eq!(slots(line, pairs), expected, "{line}");
        }
    }

    #[test]
    fn nothing_is_taken_for_certain_that_is_not() {
        let slurm = [("SLURM_JOB_ID", "7"), ("SLURM_TASKS_PER_NODE", "3(x4)")];
        for line in [
            "mpiexec -n 4 --map-by node ./app",
            "mpiexec -n 4 --hostfile silent ./app",
            "mpiexec -n 4 --hostfile missing ./app",
            "mpiexec -n 4 --hostfile ompi -H a:1 ./app",
            "mpiexec -n 4 -H a,b ./app",
        ] {
            assert_eq!(slots(line, &slurm), None, "{line}");
        }
        for list in ["", "2(x", "2(x99999999)", "a", "4,"] {
            assert_eq!(slurm_list(list), None, "{list}");
        }
    }

    #[test]
    fn processors_are_shared_by_tasks_of_several() {
        let found = |pairs: &[(&str, &str)], per_task| {
            of_slurm(&environment(pairs), per_task).map(|found| found.slots)
        };
        let job = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_JOB_CPUS_PER_NODE", "6(x2),5"),
        ];
        assert_eq!(found(&job, 1), Some(vec![6, 6, 5]));
        assert_eq!(found(&job, 2), Some(vec![3, 3, 2]));
        assert_eq!(found(&job[1..], 1), None, "outside of an allocation");
    }

    #[test]
    fn processes_of_each_node_are_read_with_their_place() {
        for (text, expected) in [
            ("mpiexec.mpich -ppn 2 -n 4 ./app", Some((2, 2))),
            ("mpiexec.openmpi --npernode=3 -n 4 ./app -N 9", Some((3, 1))),
            ("mpiexec.openmpi -n 4 -N 2 ./app", Some((2, 4))),
            ("mpiexec -n 4 ./app -ppn 2", None),
            ("srun -n 4 -N 2 ./app", None),
        ] {
            let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
            let line = read_line(&words, None).expect("a line");
            assert_eq!(per_node(&line, &words), expected, "{text}");
        }
    }
}
