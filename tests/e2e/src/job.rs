//! One run of an MPI program, bare or under Invivo: started, bounded in time, cleaned up, and shown in full
//! when a test panics.

use crate::client::{Client, number};
use crate::ended::Ended;
use crate::family::Family;
use crate::hosts::{self, Hosts};
use crate::output;
use crate::places;
use crate::processes::{self, MARK, Process};
use crate::slurm::{self, Slurm};
use rustix::process::Signal;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest that a job takes unless its test says otherwise.
const LIMIT: Duration = Duration::from_secs(90);
/// The longest that processes of a job live on after its launcher has ended.
const AFTERMATH: Duration = Duration::from_secs(5);
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
        self.environment.push((name.into(), value.as_ref().to_owned()));
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

    /// Processes of the whole job, and of each host but the last, as `invivo plan` says.
    fn processes(&self) -> (u32, u32) {
        if self.how == How::Bare {
            return (self.all_ranks(), self.all_ranks() / self.hosts);
        }
        let mut plan = Command::new(places::invivo());
        plan.args(["plan", "--json", "--fan-in", self.fan_in]).args([
            "-n",
            &self.all_ranks().to_string(),
            "--nodes",
            &self.hosts.to_string(),
        ]);
        let plan = plan.output().expect("invivo plan runs");
        let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).expect("a plan");
        let number = |name: &str| number(&plan, &format!("/{name}")) as u32;
        (number("total"), number("processes_per_node"))
    }

    /// The command line of a job of so many processes.
    fn command(&self, directory: &Path, (total, each): (u32, u32), hosts: Option<&Hosts>) -> Command {
        let (output, report) = (directory.join("out"), directory.join("report.json"));
        assert!(
            self.others.is_empty() || self.how != How::Exec,
            "several programs are left to `invivo run`"
        );
        let processes = if self.how == How::Exec { total } else { self.ranks };
        let mut words: Vec<OsString> = Vec::new();
        match &self.slurm {
            Some(slurm) => {
                words.extend(["srun".into(), format!("--mpi={}", slurm.mpi).into()]);
                words.extend(slurm::launcher_arguments(processes, &output));
            }
            None => {
                words.push(self.family.launcher());
                let places = hosts.map(|hosts| hosts.launcher_arguments(self.family, [each, total - each]));
                words.extend(places.into_iter().flatten());
                words.extend(self.family.launcher_arguments(processes, &output));
            }
        }
        // Before `-n`, which comes last.
        let at = words.len() - 2;
        words.splice(at..at, self.launcher_options.iter().cloned());
        let mut ours: Vec<OsString> = vec!["--no-config".into(), "--fan-in".into(), self.fan_in.into()];
        ours.extend(["--report".into(), report.into()]);
        if self.hosts > 1 && self.how == How::Run {
            ours.extend(["--nodes".into(), self.hosts.to_string().into()]);
        }
        ours.extend(self.options.iter().cloned());
        ours.push("--".into());
        match self.how {
            How::Bare => {}
            How::Exec => {
                words.extend([self.invivo().into(), "exec".into()]);
                words.extend(ours);
            }
            How::Run => {
                let front: [OsString; 2] = [self.invivo().into(), "run".into()];
                words = front.into_iter().chain(ours).chain(words).collect();
            }
        }
        words.extend(self.program.iter().cloned());
        for (ranks, program) in &self.others {
            words.extend([":".into(), "-n".into(), ranks.to_string().into()]);
            words.extend(program.iter().cloned());
        }
        if let Some(slurm) = &self.slurm {
            let there: [OsString; 3] = ["env".into(), "-C".into(), directory.into()];
            words = slurm.prefix.iter().cloned().chain(there).chain(words).collect();
        }
        if let Some(hosts) = hosts {
            // To enter another `/tmp` is to leave the working directory.
            let there: [OsString; 3] = ["env".into(), "-C".into(), directory.into()];
            words = hosts.prefix(0).into_iter().chain(there).chain(words).collect();
        }
        let mut words = self.front.iter().cloned().chain(words);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }

    /// Starts it.
    pub fn start(self) -> Running {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("e2e-{}-{number}", std::process::id());
        std::fs::create_dir_all(places::built()).expect("a directory for what the tests build");
        let lock = File::create(places::built().join("one-job-at-a-time")).expect("a file to lock");
        if !self.beside {
            lock.lock().expect("the lock of the jobs");
        }

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
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let file =
            |name: &str| Stdio::from(File::create(at(name)).expect("a file for the launcher's output"));
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
    /// Of every host but the last.
    processes_per_host: u32,
    mark: String,
    directory: TempDir,
    shown: String,
    child: Child,
    begun: Instant,
    status: Option<ExitStatus>,
    hosts: Option<Hosts>,
    /// Held while it runs: one job at a time.
    lock: Option<File>,
}

impl Running {
    /// Ranks of the application.
    pub fn ranks(&self) -> u32 {
        self.job.all_ranks()
    }

    /// The launcher's numbers of the application's ranks: every host has its own first.
    pub(crate) fn processes_of_ranks(&self) -> impl Iterator<Item = u32> {
        let (ranks, each) = (self.ranks() / self.job.hosts, self.processes_per_host);
        (0..self.job.hosts).flat_map(move |host| host * each..host * each + ranks)
    }

    /// Its own directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The hosts that it runs on, where they were made.
    pub fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref()
    }

    /// Processes of the whole job.
    pub fn processes(&self) -> u32 {
        self.processes
    }

    /// Where its ranks write their logs.
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

    /// Somebody who watches and steers it from outside: on the host of the root, which is the last one.
    pub fn client(&self) -> Client {
        self.client_on(self.job.hosts - 1)
    }

    /// The same on another host.
    pub fn client_on(&self, host: u32) -> Client {
        let prefix = self.hosts.as_ref().map(|made| made.prefix(host));
        Client::of(
            &self.mark,
            &self.directory().join("state"),
            prefix.unwrap_or_default(),
        )
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

    /// Its process with this number in the whole job, of all that have this name.
    pub fn member(&self, name: &str, number: u32) -> Process {
        let variable = self.job.family.number_variable();
        let is_it = |process: &&Process| {
            processes::variable(process, variable).is_some_and(|value| value == number.to_string())
        };
        let named = self.named(name);
        let found = named.iter().find(is_it).cloned();
        found.unwrap_or_else(|| panic!("no {name} has the number {number}: {named:?}"))
    }

    /// The name of its program.
    pub fn program_name(&self) -> &str {
        let program = self.job.program.first().map(Path::new);
        program
            .and_then(Path::file_name)
            .and_then(OsStr::to_str)
            .unwrap_or_default()
    }

    /// Sends a signal to the launcher.
    pub fn signal_launcher(&self, signal: Signal) {
        processes::signal(&Process::of(self.child.id()), signal);
    }

    /// Sends a signal to the launcher and to all that is in its process group, as a terminal does.
    pub fn signal_from_terminal(&self, signal: Signal) {
        processes::signal_group(self.child.id(), signal);
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

    /// Waits until every rank's tool place answers: the gateway is there as soon as the job is, the tree a moment later.
    pub fn wait_for_answers(&mut self) {
        let ranks = u64::from(self.ranks());
        self.until("an answer", |job| {
            let status = job.client().try_json(&["status"])?;
            (number(&status, "/coverage/ranks_reporting") == ranks).then_some(())
        });
    }

    /// Waits until every rank has left this file in the directory of its logs.
    pub fn wait_for_notes(&mut self, name: &str) {
        let ranks = self.ranks();
        self.until(name, |job| (job.notes(name) == ranks).then_some(()));
    }

    /// Ranks that have left this file in the directory of their logs.
    pub fn notes(&self, name: &str) -> u32 {
        let is_there = |rank| self.logs().join(format!("{rank}.{name}")).exists();
        (0..self.ranks()).map(|rank| u32::from(is_there(rank))).sum()
    }

    /// Leaves the program a file in the directory of its logs.
    pub fn tell(&self, name: &str) {
        File::create(self.logs().join(name)).expect("a file for the program");
    }

    /// Takes such a file away again.
    pub fn untell(&self, name: &str) {
        std::fs::remove_file(self.logs().join(name)).expect("a file for the program");
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
        let outputs = output::read(self.output_files(), &self.directory().join("out"), self.processes);
        Ended {
            status,
            outputs,
            running: self,
        }
    }

    /// How its launcher names the files of its processes: srun is told to do it as MPICH's does.
    fn output_files(&self) -> Family {
        match self.job.slurm {
            Some(_) => Family::Mpich,
            None => self.job.family,
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
        for (process, output) in
            output::read(self.output_files(), &self.directory().join("out"), self.processes)
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
