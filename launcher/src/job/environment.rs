//! What the launcher says in the environment, and what of it the application should see. Pure: the
//! environment is a map.
//!
//! The application should find what it would find without us: sizes and counts of its own world.
//! Tried on Open MPI 4.1 and 5.0, MPICH 4.0 and 5.0 with every variable changed before `MPI_Init`:
//! [`RANK`] and the ones in [`COUNTS`] and [`LOCAL_COUNTS`] are written for the program and may be
//! changed. `PMI_RANK` and `PMI_SIZE` may not: MPICH reads the real world's numbers there (with
//! others, initialisation fails), and neither may what PMIx passes.

mod family;
mod slurm;
mod variables;
mod yielding;

pub use family::Family;
pub use slurm::{has_node_of_one, processes_here, processes_of_nodes, unequal as unequal_nodes};
pub use variables::{Environment, Numbers, search_path};

use crate::mpi::preload::{PRELOAD, Preload};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use variables::text;

/// A process' place in the launcher's world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World {
    /// Whose launcher it is: of programs that do not tell by themselves it is the best guess.
    pub family: Family,
    /// Rank in the whole job.
    pub rank: u32,
    /// Processes of the whole job.
    pub size: u32,
    /// Rank among the processes of this node, and their number, where the launcher says so.
    pub local: Option<(u32, u32)>,
    /// Nodes of the job, where the launcher says so.
    pub nodes: Option<u32>,
    /// Slurm's `srun` is the launcher: its processes know of each other only by the protocol that
    /// fits their MPI.
    pub by_srun: bool,
}

impl World {
    /// Whether this process prints messages for its node, so that each comes once.
    pub fn speaks(&self) -> bool {
        self.local.map_or(self.rank, |(rank, _)| rank) == 0
    }
}

/// Why there is no world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// Nobody launched us.
    #[error(
        "`invivo exec` was started without an MPI launcher; type `invivo run -- mpiexec -n 4 \
         ./app`, or by hand \
         `mpiexec -n 6 invivo exec -- ./app` (`invivo plan -n 4` prints the numbers)"
    )]
    NoLauncher,
    /// Slurm started tasks that know nothing of each other.
    #[error(
        "Slurm started {tasks} tasks without an MPI environment: each would be a world of its own; \
         type \
         `srun --mpi=pmix` (Open MPI) or `srun --mpi=pmi2` (MPICH)"
    )]
    Singletons {
        /// How many.
        tasks: u32,
    },
    /// One process is no job.
    #[error(
        "the launcher started one process only, the least is 3 (1 rank, 1 tool place, 1 root); \
         `invivo plan -n 4` prints how many to ask for"
    )]
    Alone,
    /// What the launcher says makes no sense.
    #[error("the launcher's {name} is {value:?}, a number below the size of the job was expected")]
    Nonsense {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
}

/// The variables in which a launcher passes a process' numbers.
struct Source {
    family: Family,
    rank: &'static str,
    /// The first that is set.
    size: &'static [&'static str],
    local_rank: &'static str,
    local_size: &'static str,
}

/// The first whose rank is set holds: a launcher's own variables go before those of a resource
/// manager around it.
const SOURCES: &[Source] = &[
    Source {
        family: Family::Ompi,
        rank: "OMPI_COMM_WORLD_RANK",
        size: &["OMPI_COMM_WORLD_SIZE"],
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        local_size: "OMPI_COMM_WORLD_LOCAL_SIZE",
    },
    Source {
        family: Family::Mpich,
        rank: "PMI_RANK",
        size: &["PMI_SIZE"],
        local_rank: "MPI_LOCALRANKID",
        local_size: "MPI_LOCALNRANKS",
    },
    // `srun --mpi=pmix`: PMIx tells the rank, Slurm the size.
    Source {
        family: Family::Ompi,
        rank: "PMIX_RANK",
        size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        local_size: "OMPI_COMM_WORLD_LOCAL_SIZE",
    },
];

/// Variables that hold the number of processes.
const COUNTS: &[&str] = &[
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_MCA_orte_ess_num_procs",
    "OMPI_MCA_num_procs",
    "OMPI_WORLD_SIZE",
];
/// Open MPI's note of how many processes each program of the job has: the last ones are the tools'.
const COUNTS_OF_PROGRAMS: &str = "OMPI_APP_CTX_NUM_PROCS";
/// Open MPI's note of which rank of each program is its first.
const FIRST_RANKS: &str = "OMPI_FIRST_RANKS";
/// Open MPI's note of the number of programs.
const PROGRAMS: &str = "OMPI_NUM_APP_CTX";
/// Variables that hold the number of processes on this node.
const LOCAL_COUNTS: &[&str] = &[
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
];
/// The rank, as Open MPI tells the program; MPI itself reads PMIx's. With several hosts, ranks of
/// the application have other numbers than processes of the job.
const RANK: &str = "OMPI_COMM_WORLD_RANK";
/// Open MPI's note of the program's name, which `MPI_INFO_ENV` repeats.
const COMMAND: &str = "OMPI_COMMAND";
/// Open MPI's note of its arguments.
const ARGUMENTS: &str = "OMPI_ARGV";
/// The beginning of our own variables.
const OURS: &str = "INVIVO_";

/// Finds this process' place in the world.
///
/// # Errors
/// Why it has none, with what to type instead.
pub fn world(env: &Environment) -> Result<World, WorldError> {
    let tasks = text(env, "SLURM_STEP_NUM_TASKS")
        .and_then(|tasks| tasks.parse().ok())
        .unwrap_or(1);
    let is_set = |name: &str| env.contains_key(OsStr::new(name));
    let Some(source) = SOURCES.iter().find(|source| is_set(source.rank)) else {
        return Err(if tasks > 1 {
            WorldError::Singletons { tasks }
        } else {
            WorldError::NoLauncher
        });
    };
    let number = |name: &'static str| {
        let value = text(env, name).unwrap_or_default();
        value.parse::<u32>().map_err(|_| WorldError::Nonsense {
            name,
            value: value.to_owned(),
        })
    };
    let size_name = source
        .size
        .iter()
        .find(|name| is_set(name))
        .unwrap_or(&source.size[0]);
    let (rank, size) = (number(source.rank)?, number(size_name)?);
    if rank >= size {
        return Err(WorldError::Nonsense {
            name: source.rank,
            value: rank.to_string(),
        });
    }
    if size == 1 {
        return Err(if tasks > 1 {
            WorldError::Singletons { tasks }
        } else {
            WorldError::Alone
        });
    }
    // A launcher of MPI's own says who is on the node; without one it was srun that started us.
    let by_srun = !is_set(source.local_rank) && is_set(slurm::LOCAL_RANK);
    let local = if by_srun {
        slurm::local(env)
    } else {
        number(source.local_rank)
            .ok()
            .zip(number(source.local_size).ok())
    };
    let local = local
        .filter(|(rank, size)| rank < size)
        // Open MPI 5 numbers the processes of a node by its packages. Where all are here, the job's
        // numbers do.
        .map(|(local, here)| (if here == size { rank } else { local }, here));
    Ok(World {
        family: source.family,
        rank,
        size,
        local,
        nodes: by_srun.then(|| slurm::nodes(env)).flatten(),
        by_srun,
    })
}

/// The processes of each program, without the tool processes, which are the last ones.
fn without_tools(counts: &str, ranks: u32) -> Option<Vec<u32>> {
    let mut left = ranks;
    let mut of_application = Vec::new();
    for count in counts.split_whitespace() {
        let count = count.parse::<u32>().ok()?.min(left);
        if count > 0 {
            of_application.push(count);
        }
        left -= count;
    }
    (left == 0).then_some(of_application)
}

fn joined<T: ToString>(values: &[T]) -> OsString {
    values
        .iter()
        .map(T::to_string)
        .collect::<Vec<_>>()
        .join(" ")
        .into()
}

/// Changes to the environment that make the application see what it would see without us: a new
/// value, or nothing for a variable that goes.
pub fn for_application(
    env: &Environment,
    numbers: Numbers,
    program: &[OsString],
    preload: Option<&Preload>,
    descriptors: &str,
) -> Vec<(OsString, Option<OsString>)> {
    // Our own variables go: a run without us has none.
    let mut changes: Vec<(OsString, Option<OsString>)> = env
        .keys()
        .filter(|name| name.as_encoded_bytes().starts_with(OURS.as_bytes()))
        .map(|name| (name.clone(), None))
        .collect();
    // Only what the launcher has set: a variable of another launcher would mislead the program.
    let mut replace = |name: &str, value: Option<OsString>| {
        if env.contains_key(OsStr::new(name)) {
            changes.push((name.into(), value));
        }
    };

    for name in COUNTS {
        replace(name, Some(numbers.ranks.to_string().into()));
    }
    if let Some(counts) =
        text(env, COUNTS_OF_PROGRAMS).and_then(|counts| without_tools(counts, numbers.ranks))
    {
        replace(COUNTS_OF_PROGRAMS, Some(joined(&counts)));
        replace(PROGRAMS, Some(counts.len().to_string().into()));
        let firsts = text(env, FIRST_RANKS)
            .unwrap_or_default()
            .split_whitespace();
        replace(
            FIRST_RANKS,
            Some(joined(&firsts.take(counts.len()).collect::<Vec<_>>())),
        );
    }
    for (name, value) in slurm::for_application(env, numbers) {
        replace(name, Some(value));
    }
    for name in LOCAL_COUNTS {
        replace(name, Some(numbers.on_host.to_string().into()));
    }
    replace(RANK, Some(numbers.rank.to_string().into()));
    let waiting = yielding::of_application(env, numbers);
    if let Some((name, value)) = waiting.variable {
        replace(name, Some(value));
    }
    if let Some((command, arguments)) = program.split_first() {
        replace(COMMAND, Path::new(command).file_name().map(OsStr::to_owned));
        replace(
            ARGUMENTS,
            (!arguments.is_empty()).then(|| arguments.join(OsStr::new(" "))),
        );
    }

    let Some(preload) = preload else {
        return changes;
    };
    let list = preload.list(env.get(OsStr::new(PRELOAD)).map(OsString::as_os_str));
    // The shim takes itself and the `before` entries ahead of it out of the list again.
    changes.push((PRELOAD.into(), Some(list.value)));
    changes.push((
        invivo_proto::channel::ENV_DESCRIPTORS.into(),
        Some(format!("{descriptors},{},{}", list.before, u32::from(waiting.spins)).into()),
    ));
    changes
}

#[cfg(test)]
mod tests;
