//! One run of an MPI program, bare or under Invivo: started, bounded in time, cleaned up, and shown in full
//! when a test panics.

use crate::client::Client;
use crate::ended::Ended;
use crate::family::Family;
use crate::output;
use crate::places;
use crate::processes::{self, MARK, Process};
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest that a job takes unless its test says otherwise.
const LIMIT: Duration = Duration::from_secs(90);
/// The longest that processes of a job live on after its launcher has ended.
const AFTERMATH: Duration = Duration::from_secs(5);
/// Ranks that one tool place takes by default.
const FAN_IN: u32 = 4;

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
    fan_in: u32,
    environment: Vec<(OsString, OsString)>,
    limit: Duration,
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
            environment: Vec::new(),
            limit: LIMIT,
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
        self.environment.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// With another number of ranks per tool place.
    pub fn fan_in(self, fan_in: u32) -> Job {
        Job { fan_in, ..self }
    }

    /// With another limit of its time.
    pub fn limit(self, limit: Duration) -> Job {
        Job { limit, ..self }
    }

    /// Processes of the whole job.
    fn processes(&self) -> u32 {
        match self.how {
            How::Bare => self.ranks,
            How::Exec | How::Run => self.ranks + self.ranks.div_ceil(self.fan_in) + 1,
        }
    }

    /// The command line.
    fn command(&self, output: &Path, report: &Path) -> Command {
        let launcher = self.family.launcher();
        let line = |processes| self.family.launcher_arguments(processes, output);
        let fan_in = self.fan_in.to_string();
        let mut command;
        match self.how {
            How::Bare => {
                command = Command::new(launcher);
                command.args(line(self.ranks));
            }
            How::Exec => {
                command = Command::new(launcher);
                command.args(line(self.processes())).arg(places::invivo());
                command
                    .args(["exec", "--fan-in", &fan_in, "--report"])
                    .arg(report)
                    .arg("--");
            }
            How::Run => {
                command = Command::new(places::invivo());
                command
                    .args(["run", "--fan-in", &fan_in, "--report"])
                    .arg(report)
                    .arg("--");
                command.arg(launcher).args(line(self.ranks));
            }
        }
        command.args(&self.program);
        command
    }

    /// Starts it.
    pub fn start(self) -> Running {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("e2e-{}-{number}", std::process::id());
        std::fs::create_dir_all(places::built()).expect("a directory for what the tests build");
        let lock = File::create(places::built().join("one-job-at-a-time")).expect("a file to lock");
        lock.lock().expect("the lock of the jobs");

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
        let mut command = self.command(&at("out"), &at("report.json"));
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
                .env("XDG_RUNTIME_DIR", at("run"))
                .env("XDG_STATE_HOME", at("state"))
                .env("INVIVO_JOB", &mark);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let file =
            |name: &str| Stdio::from(File::create(at(name)).expect("a file for the launcher's output"));
        command
            .stdin(Stdio::null())
            .stdout(file("launcher.stdout"))
            .stderr(file("launcher.stderr"));
        let shown = format!("{command:?}");
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
        let begun = Instant::now();
        Running {
            processes: self.processes(),
            job: self,
            mark,
            directory,
            shown,
            child,
            begun,
            status: None,
            lock: Some(lock),
        }
    }

    /// Runs it to its end.
    pub fn run(self) -> Ended {
        self.start().end()
    }
}

/// A job that runs. Dropped, it is killed, all of it.
#[derive(Debug)]
pub struct Running {
    job: Job,
    processes: u32,
    mark: String,
    directory: TempDir,
    shown: String,
    child: Child,
    begun: Instant,
    status: Option<ExitStatus>,
    /// Held while it runs: one job at a time.
    lock: Option<File>,
}

impl Running {
    /// Ranks of the application.
    pub(crate) fn ranks(&self) -> u32 {
        self.job.ranks
    }

    /// Its own directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where its ranks write their clock logs.
    pub fn logs(&self) -> PathBuf {
        self.directory().join("logs")
    }

    /// Its `connect.json`.
    pub fn connect_file(&self) -> PathBuf {
        self.directory()
            .join("state/invivo/jobs")
            .join(&self.mark)
            .join("connect.json")
    }

    /// Somebody who watches and steers it from outside.
    pub fn client(&self) -> Client {
        Client::of(&self.mark, &self.directory().join("state"))
    }

    /// Its living processes with this name.
    pub fn named(&self, name: &str) -> Vec<Process> {
        processes::marked(&self.mark)
            .into_iter()
            .filter(|process| process.name == name)
            .collect()
    }

    /// The only living process with this name.
    pub fn only(&self, name: &str) -> Process {
        let named = self.named(name);
        assert_eq!(named.len(), 1, "one process called {name} is expected: {named:?}");
        named[0].clone()
    }

    /// Waits for the moment when `ready` has something, and asks it again while the job runs.
    pub fn until<T>(&mut self, what: &str, ready: impl Fn(&Running) -> Option<T>) -> T {
        loop {
            if let Some(value) = ready(self) {
                return value;
            }
            assert!(self.runs(), "the job ended before {what}");
            assert!(
                self.begun.elapsed() < self.job.limit,
                "no {what} in {:?}",
                self.job.limit
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether its launcher is alive.
    pub fn runs(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("the launcher's status");
        }
        self.status.is_none()
    }

    /// Waits for the end; a job that takes too long is killed and fails its test.
    pub fn end(mut self) -> Ended {
        while self.runs() {
            assert!(
                self.begun.elapsed() < self.job.limit,
                "the job did not end in {:?}",
                self.job.limit
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        let left = processes::left_after(&self.mark, AFTERMATH);
        assert!(left.is_empty(), "processes outlived the job: {left:?}");
        self.lock = None;
        let status = self.status.expect("it has ended");
        let outputs = output::read(self.job.family, &self.directory().join("out"), self.processes);
        Ended {
            status,
            outputs,
            running: self,
        }
    }

    /// Everything that is known about it, for somebody who has to find out what went wrong.
    fn describe(&self) -> String {
        let mut text = format!(
            "--- {}\nstatus: {:?} after {:?}\n",
            self.shown,
            self.status,
            self.begun.elapsed()
        );
        text.push_str(&format!("alive: {:?}\n", processes::marked(&self.mark)));
        let mut add = |name: String, bytes: &[u8]| {
            if !bytes.is_empty() {
                text.push_str(&format!("--- {name}\n{}\n", String::from_utf8_lossy(bytes)));
            }
        };
        let here = |name: &str| std::fs::read(self.directory().join(name)).unwrap_or_default();
        add("the launcher's output".into(), &here("launcher.stdout"));
        add("the launcher's errors".into(), &here("launcher.stderr"));
        for (process, output) in output::read(self.job.family, &self.directory().join("out"), self.processes)
            .iter()
            .enumerate()
        {
            add(format!("output of process {process}"), &output.stdout);
            add(format!("errors of process {process}"), &output.stderr);
        }
        let log = self.connect_file().with_file_name("gateway.log");
        add(
            "the gateway's log".into(),
            &std::fs::read(log).unwrap_or_default(),
        );
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.describe());
        }
        processes::kill_marked(&self.mark);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
