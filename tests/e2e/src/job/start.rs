//! Starts a job: makes its directory, sets its variables, and waits for its turn.

use super::description::{Job, StartedBy};
use super::ended::Ended;
use super::environment::{PRELOAD, environment};
use super::running::Running;
use crate::cluster::hosts::{self, Hosts};
use crate::cluster::slurm;
use crate::paths;
use crate::processes::MARK;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use tempfile::TempDir;

/// Waits for the turn of a job, or of a test that runs several [`Job::at_the_same_time`]; it lasts
/// as long as this file is open.
pub fn turn() -> File {
    // The lock is shared with the test binaries that run beside this one: each is a process of its
    // own.
    std::fs::create_dir_all(paths::built()).expect("a directory for what the tests build");
    let file = File::create(paths::built().join("one-job-at-a-time")).expect("a file to lock");
    file.lock().expect("the lock of the jobs");
    file
}

impl Job {
    pub fn start(self) -> Running {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("e2e-{}-{number}", std::process::id());

        let turn = (!self.at_the_same_time).then(turn);

        let directory = job_directory();
        let (processes, processes_per_host) = self.processes();

        let hosts = (self.hosts > 1 && self.slurm.is_none()).then(|| Hosts::make(directory.path()));
        let command_line = self.command_line(
            directory.path(),
            (processes, processes_per_host),
            hosts.as_ref(),
        );

        let mut command = Command::new(&command_line[0]);
        command
            .args(&command_line[1..])
            .current_dir(directory.path());
        self.set_environment(&mut command, &mark, directory.path(), hosts.as_ref());
        self.redirect(&mut command, directory.path());
        // A group of its own: tests signal it as a terminal does.
        command.process_group(0);

        let shown = format!("{command:?}");
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
        Running {
            job: self,
            processes,
            processes_per_host,
            mark,
            directory,
            shown,
            child,
            begun: Instant::now(),
            status: None,
            hosts,
            turn,
        }
    }

    /// Runs it to its end.
    pub fn run(self) -> Ended {
        self.start().end()
    }

    fn set_environment(
        &self,
        command: &mut Command,
        mark: &str,
        directory: &Path,
        hosts: Option<&Hosts>,
    ) {
        let of_the_mpi = environment(self.family);

        command.envs(of_the_mpi.iter().cloned()).env(MARK, mark);
        command
            .env("COUNTS_FILE", directory.join("counts/own-%r.tsv"))
            .env("COUNTER_DIR", directory.join("counts"))
            .env("LOG_DIR", directory.join("logs"));

        // The user's own jobs must not be seen.
        for variable in ["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "INVIVO_JOB"] {
            command.env_remove(variable);
        }
        if self.started_by != StartedBy::Launcher {
            let runtime = match (&self.slurm, hosts) {
                (Some(slurm), _) => slurm.runtime.clone(),
                (None, Some(_)) => hosts::RUNTIME.into(),
                (None, None) => directory.join("run"),
            };
            command
                .env("XDG_RUNTIME_DIR", runtime)
                .env("XDG_STATE_HOME", directory.join("state"))
                .env("INVIVO_JOB", mark);
        }
        if let Some(hosts) = hosts {
            command.envs(hosts.environment(self.family));
        }
        if self.slurm.is_some() {
            let by_hand = self.started_by != StartedBy::Run;
            command.envs(slurm::environment(self.family, self.hosts, by_hand));
        }

        // What a test preloads comes before what this MPI needs anyway.
        let preloaded_too = of_the_mpi.iter().find(|(name, _)| *name == PRELOAD);
        for (name, value) in &self.environment {
            match preloaded_too.filter(|_| name == PRELOAD) {
                Some((_, library)) => {
                    let both = [value.as_os_str(), library.as_os_str()].join(OsStr::new(":"));
                    command.env(name, both);
                }
                None => {
                    command.env(name, value);
                }
            }
        }
    }

    fn redirect(&self, command: &mut Command, directory: &Path) {
        let at = |name: &str| directory.join(name);
        // Files, not pipes: nothing has to read them while the job runs.
        let output = |name: &str| {
            Stdio::from(File::create(at(name)).expect("a file for the launcher's output"))
        };

        let stdin = self.stdin.map_or_else(Stdio::null, |text| {
            std::fs::write(at("stdin"), text).expect("a file for the job's input");
            Stdio::from(File::open(at("stdin")).expect("the job's input"))
        });
        command
            .stdin(stdin)
            .stdout(output("launcher.stdout"))
            .stderr(output("launcher.stderr"));
    }
}

/// The name is short: sockets lie in it, whose paths have 108 bytes.
fn job_directory() -> TempDir {
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
    directory
}
