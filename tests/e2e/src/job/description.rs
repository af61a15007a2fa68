//! What a job is to be: the program, its ranks, how it is started, its options and variables.

use crate::cluster::hosts;
use crate::cluster::slurm::{Slurm, Way};
use crate::mpi::Family;
use crate::paths;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// The longest that a job takes unless its test says otherwise.
const LIMIT: Duration = Duration::from_secs(90);
/// Ranks per tool place, and members per analysis node, unless a test says otherwise.
const FAN_IN: &str = "4,16";

/// How a job is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartedBy {
    /// By the launcher alone, without Invivo.
    Launcher,
    /// `mpiexec -n TOTAL invivo exec -- PROGRAM`
    Exec,
    /// `invivo run -- mpiexec -n RANKS PROGRAM`
    Run,
}

/// A job that has not started.
#[derive(Debug)]
pub struct Job {
    pub(super) family: Family,
    pub(super) ranks: u32,
    pub(super) program: Vec<OsString>,
    pub(super) started_by: StartedBy,
    pub(super) fan_in: &'static str,
    pub(super) hosts: u32,
    /// Processes of each host, where they are not what `invivo plan` says.
    pub(super) per_host: Option<[u32; hosts::HOSTS as usize]>,
    /// Processes are dealt out to the hosts in turns.
    pub(super) is_dealt: bool,
    /// The name of the report, whose ending says its form.
    pub(super) report: &'static str,
    pub(super) options: Vec<OsString>,
    pub(super) launcher_options: Vec<OsString>,
    /// More programs of the same job, each with its ranks, which `ranks` does not count.
    pub(super) others: Vec<(u32, Vec<OsString>)>,
    pub(super) slurm: Option<SlurmStep>,
    pub(super) stdin: Option<&'static str>,
    pub(super) at_the_same_time: bool,
    /// Words in front of the whole command line.
    pub(super) front: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) limit: Duration,
    /// Another `invivo` command than that of the tree under test.
    pub(super) invivo: Option<PathBuf>,
}

/// The Slurm that starts a job, and how.
#[derive(Debug)]
pub struct SlurmStep {
    /// Words in front of a command that run it on each of the nodes.
    pub(super) prefixes: Vec<Vec<OsString>>,
    pub(super) way: Way,
    /// `$XDG_RUNTIME_DIR` of the job, and where that is for each node.
    pub(super) runtime: PathBuf,
    pub(super) runtimes: Vec<PathBuf>,
    /// Where not every node gets the same number of processes.
    pub(super) placed: Option<Placed>,
}

/// Where Slurm puts the processes of a job.
#[derive(Debug)]
pub struct Placed {
    /// The options that say so, with the number of processes.
    pub(super) options: Vec<OsString>,
    /// Numbers of the tool processes.
    pub(super) tools: Vec<u32>,
    /// The node of the last process, where the root is.
    pub(super) root: u32,
}

impl Job {
    /// The program by itself.
    pub fn bare(family: Family, ranks: u32, program: &[OsString]) -> Job {
        Job {
            family,
            ranks,
            program: program.to_vec(),
            started_by: StartedBy::Launcher,
            fan_in: FAN_IN,
            hosts: 1,
            per_host: None,
            is_dealt: false,
            report: "report.json",
            options: Vec::new(),
            launcher_options: Vec::new(),
            others: Vec::new(),
            slurm: None,
            stdin: None,
            at_the_same_time: false,
            front: Vec::new(),
            environment: Vec::new(),
            limit: LIMIT,
            invivo: None,
        }
    }

    /// The program under `invivo exec`, with the tool processes appended, and with a report.
    pub fn observed(family: Family, ranks: u32, program: &[OsString]) -> Job {
        Job {
            started_by: StartedBy::Exec,
            ..Job::bare(family, ranks, program)
        }
    }

    /// The program observed with `invivo run` before the user's own launcher line, and with a
    /// report.
    pub fn run_by_invivo(family: Family, ranks: u32, program: &[OsString]) -> Job {
        Job {
            started_by: StartedBy::Run,
            ..Job::bare(family, ranks, program)
        }
    }

    /// The MPI of the job.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Job {
        self.environment
            .push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Sets the fan-in: ranks per tool place, then members per analysis node.
    pub fn fan_in(self, fan_in: &'static str) -> Job {
        Job { fan_in, ..self }
    }

    /// Runs on hosts made of namespaces; see [`hosts::possible`].
    pub fn on_hosts(self) -> Job {
        Job {
            hosts: hosts::HOSTS,
            ..self
        }
    }

    /// Runs on such hosts with so many processes on each, tool processes included, one tool process
    /// on each: by `invivo exec`, which is told nothing of it.
    pub fn on_uneven_hosts(self, processes: [u32; hosts::HOSTS as usize]) -> Job {
        Job {
            per_host: Some(processes),
            fan_in: "node",
            ..self.on_hosts()
        }
    }

    /// Processes are dealt out to the hosts in turns.
    pub fn dealt(self) -> Job {
        Job {
            is_dealt: true,
            ..self
        }
    }

    /// The host of each process.
    pub(super) fn dealt_hosts(&self) -> Vec<usize> {
        let processes = self.per_host.unwrap_or_default();
        let turns = 0..processes.into_iter().max().unwrap_or(0);
        let in_turn = |turn| (0..processes.len()).filter(move |&host| turn < processes[host]);
        let in_turns = turns.flat_map(in_turn).collect();
        let blocks = processes.iter().enumerate();
        match self.is_dealt {
            true => in_turns,
            false => blocks
                .flat_map(|(host, &here)| vec![host; here as usize])
                .collect(),
        }
    }

    /// With a report of another form.
    pub fn report(mut self, name: &'static str) -> Job {
        self.report = name;
        self
    }

    /// Adds options of `invivo run` or `invivo exec`.
    pub fn options<const N: usize>(mut self, options: [&str; N]) -> Job {
        self.options.extend(options.map(OsString::from));
        self
    }

    /// Adds options of the launcher.
    pub fn launcher_options<const N: usize>(mut self, options: [&str; N]) -> Job {
        self.launcher_options.extend(options.map(OsString::from));
        self
    }

    /// Adds another program of the same job, behind a colon of the launcher's line.
    pub fn and(mut self, ranks: u32, program: &[OsString]) -> Job {
        self.others.push((ranks, program.to_vec()));
        self
    }

    /// Starts by Slurm's `srun --mpi=MPI`, on all of its nodes.
    pub fn in_slurm(self, slurm: &Slurm, mpi: &'static str) -> Job {
        self.on_nodes_of(slurm, Way::Srun(mpi))
    }

    /// Starts in this way on all nodes of a Slurm, each with the same number of ranks.
    pub fn on_nodes_of(mut self, slurm: &Slurm, way: Way) -> Job {
        self.slurm = Some(SlurmStep {
            prefixes: (0..slurm.nodes()).map(|node| slurm.prefix(node)).collect(),
            way,
            runtime: slurm.runtime(),
            runtimes: slurm.runtimes(),
            placed: None,
        });
        self.hosts = slurm.nodes();
        self
    }

    /// Has these words in place of the options that give every node the same number of processes,
    /// and, for `srun`, of `-n`. `tools` are the numbers of the tool processes that follow from
    /// them, and the last process is on the node `root`.
    ///
    /// # Panics
    /// Without a Slurm.
    pub fn placed(mut self, options: &[String], tools: &[u32], root: u32) -> Job {
        let placed = Placed {
            options: options.iter().map(OsString::from).collect(),
            tools: tools.to_vec(),
            root,
        };
        self.slurm.as_mut().expect("a Slurm").placed = Some(placed);
        self
    }

    /// Gives the job this text on its standard input.
    pub fn stdin(mut self, text: &'static str) -> Job {
        self.stdin = Some(text);
        self
    }

    /// Runs at the same time as another job of this test, which holds the lock of [`super::turn`].
    pub fn at_the_same_time(mut self) -> Job {
        self.at_the_same_time = true;
        self
    }

    /// Runs a shell script first, in which `"$@"` is the whole command line.
    pub fn behind(mut self, script: &str) -> Job {
        let words = ["sh", "-ec", script, "sh"].map(OsString::from);
        self.front.extend(words);
        self
    }

    /// Runs a shell script first, in a mount namespace of its own.
    pub fn behind_mounts(mut self, script: &str) -> Job {
        let words = ["unshare", "--mount", "--propagation", "private"].map(OsString::from);
        self.front.extend(words);
        self.behind(script)
    }

    /// Sets the longest time that the job may take.
    pub fn limit(self, limit: Duration) -> Job {
        Job { limit, ..self }
    }

    /// Takes the `invivo` command of another installation.
    pub fn by(self, invivo: PathBuf) -> Job {
        Job {
            invivo: Some(invivo),
            ..self
        }
    }

    pub(super) fn invivo(&self) -> PathBuf {
        self.invivo.clone().unwrap_or_else(paths::invivo)
    }

    /// How Slurm starts it, if it does.
    pub fn way(&self) -> Option<Way> {
        self.slurm.as_ref().map(|slurm| slurm.way)
    }

    /// Whether `srun` starts it.
    pub fn is_step(&self) -> bool {
        matches!(self.way(), Some(Way::Srun(_)))
    }

    pub(super) fn placement(&self) -> Option<&Placed> {
        self.slurm.as_ref()?.placed.as_ref()
    }

    /// Ranks of all its programs.
    pub(super) fn all_ranks(&self) -> u32 {
        self.ranks + self.others.iter().map(|(ranks, _)| ranks).sum::<u32>()
    }
}
