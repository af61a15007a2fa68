//! What a job is to be: the program, its ranks, how it is started, its options and variables.

use crate::cluster::hosts;
use crate::cluster::slurm::Slurm;
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

/// The Slurm that starts a job, and the protocol of its `srun --mpi`.
#[derive(Debug)]
pub struct SlurmStep {
    pub(super) prefix: Vec<OsString>,
    pub(super) mpi: &'static str,
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

    /// Starts by Slurm's `srun --mpi=MPI`.
    pub fn in_slurm(mut self, slurm: &Slurm, mpi: &'static str) -> Job {
        let prefix = slurm.prefix();
        self.slurm = Some(SlurmStep { prefix, mpi });
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

    /// Ranks of all its programs.
    pub(super) fn all_ranks(&self) -> u32 {
        self.ranks + self.others.iter().map(|(ranks, _)| ranks).sum::<u32>()
    }
}
