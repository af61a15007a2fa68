//! One run of an MPI program, bare or under Invivo: started, bounded in time, cleaned up, and shown
//! in full when a test panics.
//!
//! ```text
//! Job      what is asked for, until it starts
//! line     the command line of that
//! running  from its start to its end
//! ```

mod line;
mod running;

pub use running::Running;

use crate::ended::Ended;
use crate::family::{Family, PRELOAD};
use crate::hosts::{self, Hosts};
use crate::places;
use crate::processes::MARK;
use crate::slurm::Slurm;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The longest that a job takes unless its test says otherwise.
const LIMIT: Duration = Duration::from_secs(90);
/// Ranks per tool place, and members per analysis node, unless a test says otherwise.
const FAN_IN: &str = "4,16";

/// How a job starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The launcher alone.
    Bare,
    /// `mpiexec -n TOTAL invivo exec -- PROGRAM`
    Exec,
    /// `invivo run -- mpiexec -n RANKS PROGRAM`
    Run,
}

/// A job that has not started.
#[derive(Debug)]
pub struct Job {
    family: Family,
    ranks: u32,
    program: Vec<OsString>,
    how: How,
    fan_in: &'static str,
    hosts: u32,
    options: Vec<OsString>,
    launcher_options: Vec<OsString>,
    /// More programs of the same job, each with its ranks; not counted in `ranks` of the first.
    others: Vec<(u32, Vec<OsString>)>,
    slurm: Option<InSlurm>,
    stdin: Option<&'static str>,
    beside: bool,
    front: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    limit: Duration,
    /// The `invivo` command.
    invivo: Option<PathBuf>,
}

/// Where a Slurm is, and what its `srun --mpi` speaks.
#[derive(Debug)]
struct InSlurm {
    prefix: Vec<OsString>,
    mpi: &'static str,
}

/// Waits for the turn of a job, or of a test that runs several [`Job::beside`] each other; it lasts
/// as long as this file is open.
pub fn turn() -> File {
    std::fs::create_dir_all(places::built()).expect("a directory for what the tests build");
    let file = File::create(places::built().join("one-job-at-a-time")).expect("a file to lock");
    file.lock().expect("the lock of the jobs");
    file
}

impl Job {
    /// The program by itself.
    pub fn bare(family: Family, ranks: u32, program: &[OsString]) -> Job {
        Job {
            family,
            ranks,
            program: program.to_vec(),
            how: How::Bare,
            fan_in: FAN_IN,
            hosts: 1,
            options: Vec::new(),
            launcher_options: Vec::new(),
            others: Vec::new(),
            slurm: None,
            stdin: None,
            beside: false,
            front: Vec::new(),
            environment: Vec::new(),
            limit: LIMIT,
            invivo: None,
        }
    }

    /// The program under Invivo, with the extra processes appended, and with a report.
    pub fn observed(family: Family, ranks: u32, program: &[OsString]) -> Job {
        Job {
            how: How::Exec,
            ..Job::bare(family, ranks, program)
        }
    }

    /// The same, with `invivo run` before the user's own launcher line.
    pub fn run_by_invivo(family: Family, ranks: u32, program: &[OsString]) -> Job {
        Job {
            how: How::Run,
            ..Job::bare(family, ranks, program)
        }
    }

    /// With one more variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Job {
        self.environment
            .push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// With another fan-in: ranks per tool place, then members per analysis node.
    pub fn fan_in(self, fan_in: &'static str) -> Job {
        Job { fan_in, ..self }
    }

    /// On hosts made of namespaces; see [`hosts::possible`].
    pub fn on_hosts(self) -> Job {
        Job {
            hosts: hosts::HOSTS,
            ..self
        }
    }

    /// With more options of `invivo run` or `invivo exec`.
    pub fn options<const N: usize>(mut self, options: [&str; N]) -> Job {
        self.options.extend(options.map(OsString::from));
        self
    }

    /// With more options of the launcher.
    pub fn launcher_options<const N: usize>(mut self, options: [&str; N]) -> Job {
        self.launcher_options.extend(options.map(OsString::from));
        self
    }

    /// With another program beside the first one in the same job, behind a colon.
    pub fn and(mut self, ranks: u32, program: &[OsString]) -> Job {
        self.others.push((ranks, program.to_vec()));
        self
    }

    /// By Slurm's `srun`.
    pub fn in_slurm(mut self, slurm: &Slurm, mpi: &'static str) -> Job {
        let prefix = slurm.prefix();
        self.slurm = Some(InSlurm { prefix, mpi });
        self
    }

    /// With something on its standard input.
    pub fn stdin(mut self, text: &'static str) -> Job {
        self.stdin = Some(text);
        self
    }

    /// At the same time as another job of this test, which has its turn.
    pub fn beside(mut self) -> Job {
        self.beside = true;
        self
    }

    /// With a shell that does this before it becomes the job: in it, `"$@"` is the whole line.
    pub fn behind(mut self, script: &str) -> Job {
        let words = ["sh", "-ec", script, "sh"].map(OsString::from);
        self.front.extend(words);
        self
    }

    /// The same, where what is mounted stays its own.
    pub fn behind_mounts(mut self, script: &str) -> Job {
        let words = ["unshare", "--mount", "--propagation", "private"].map(OsString::from);
        self.front.extend(words);
        self.behind(script)
    }

    /// With another limit of its time.
    pub fn limit(self, limit: Duration) -> Job {
        Job { limit, ..self }
    }

    /// By another installation's `invivo` than the one that is tested everywhere else.
    pub fn by(self, invivo: PathBuf) -> Job {
        Job {
            invivo: Some(invivo),
            ..self
        }
    }

    fn invivo(&self) -> PathBuf {
        self.invivo.clone().unwrap_or_else(places::invivo)
    }

    /// Ranks of all its programs.
    fn all_ranks(&self) -> u32 {
        self.ranks + self.others.iter().map(|(ranks, _)| ranks).sum::<u32>()
    }

    /// Starts it.
    pub fn start(self) -> Running {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("e2e-{}-{number}", std::process::id());
        let turn = (!self.beside).then(turn);
        let directory = tempfile::Builder::new()
            .prefix("ivv")
            .tempdir_in("/tmp")
            .expect("a directory for the job");
        for name in ["run", "state", "out", "counts", "logs"] {
            DirBuilder::new()
                .mode(0o700)
                .create(directory.path().join(name))
                .expect("a directory for the job");
        }
        let at = |name: &str| directory.path().join(name);
        let processes = self.processes();
        let hosts = (self.hosts > 1).then(|| Hosts::make(directory.path()));
        let mut command = self.command(directory.path(), processes, hosts.as_ref());
        command
            .current_dir(directory.path())
            .envs(self.family.environment())
            .env(MARK, &mark);
        command
            .env("COUNTS_FILE", at("counts/own-%r.tsv"))
            .env("COUNTER_DIR", at("counts"))
            .env("LOG_DIR", at("logs"));
        for variable in ["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "INVIVO_JOB"] {
            command.env_remove(variable);
        }
        if self.how != How::Bare {
            command
                .env(
                    "XDG_RUNTIME_DIR",
                    if hosts.is_some() {
                        hosts::RUNTIME.into()
                    } else {
                        at("run")
                    },
                )
                .env("XDG_STATE_HOME", at("state"))
                .env("INVIVO_JOB", &mark);
        }
        if let Some(hosts) = &hosts {
            command.envs(hosts.environment(self.family));
        }
        let ours = self.family.environment();
        let preloaded_too = ours.iter().find(|(name, _)| *name == PRELOAD);
        for (name, value) in &self.environment {
            command.env(name, value);
            if let Some((_, library)) = preloaded_too.filter(|_| name == PRELOAD) {
                command.env(
                    name,
                    [value.as_os_str(), library.as_os_str()].join(OsStr::new(":")),
                );
            }
        }
        let file = |name: &str| {
            Stdio::from(File::create(at(name)).expect("a file for the launcher's output"))
        };
        let stdin = self.stdin.map_or_else(Stdio::null, |text| {
            std::fs::write(at("stdin"), text).expect("a file for the job's input");
            Stdio::from(File::open(at("stdin")).expect("the job's input"))
        });
        command
            .stdin(stdin)
            .stdout(file("launcher.stdout"))
            .stderr(file("launcher.stderr"))
            .process_group(0);
        let shown = format!("{command:?}");
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
        let begun = Instant::now();
        Running {
            processes: processes.0,
            processes_per_host: processes.1,
            job: self,
            hosts,
            mark,
            directory,
            shown,
            child,
            begun,
            status: None,
            turn,
        }
    }

    /// Runs it to its end.
    pub fn run(self) -> Ended {
        self.start().end()
    }
}
