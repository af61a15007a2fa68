//! A job that runs: its processes, its clients, the files by which its program is steered.

use super::description::{Job, SlurmStep};
use super::output::{self, Output};
use crate::clients::{Client, number};
use crate::cluster::hosts::Hosts;
use crate::cluster::slurm::Way;
use crate::mpi::Family;
use crate::processes::{self, Process};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A job that runs. Dropped, it is killed, all of it.
#[derive(Debug)]
pub struct Running {
    pub(super) job: Job,
    /// Of the whole job, tool processes included.
    pub(super) processes: u32,
    /// On every host but the last.
    pub(super) processes_per_host: u32,
    pub(super) mark: String,
    pub(super) directory: TempDir,
    /// The command line, for messages.
    pub(super) shown: String,
    /// The launcher, or what stands in front of it.
    pub(super) child: Child,
    pub(super) begun: Instant,
    pub(super) status: Option<ExitStatus>,
    pub(super) hosts: Option<Hosts>,
    /// The lock of [`super::turn`], held while the job runs.
    pub(super) turn: Option<File>,
}

impl Running {
    pub fn family(&self) -> Family {
        self.job.family
    }

    /// Ranks of the application, of all its programs.
    pub fn ranks(&self) -> u32 {
        self.job.all_ranks()
    }

    /// The launcher's numbers of the application's ranks: on every host they come first.
    pub(super) fn processes_of_ranks(&self) -> Vec<u32> {
        if let Some(placed) = self.job.placement() {
            let is_rank = |process: &u32| !placed.tools.contains(process);
            return (0..self.processes).filter(is_rank).collect();
        }
        if self.job.per_host.is_some() {
            // The last one of each host is its tool process.
            let hosts = self.job.dealt_hosts();
            let is_rank = |&process: &usize| hosts[process + 1..].contains(&hosts[process]);
            let ranks = (0..hosts.len()).filter(is_rank);
            return ranks.map(|process| process as u32).collect();
        }
        let (ranks, each) = (self.ranks() / self.job.hosts, self.processes_per_host);
        let on = |host| host * each..host * each + ranks;
        (0..self.job.hosts).flat_map(on).collect()
    }

    /// The value of [`processes::MARK`] in the environment of every process of the job.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// The working directory of the job, which nothing else uses.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The hosts that it runs on, where they are made of namespaces.
    pub fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref()
    }

    /// Processes of the whole job.
    pub fn processes(&self) -> u32 {
        self.processes
    }

    /// Folders of the job's sockets on its nodes, as they are seen from here.
    pub(super) fn runtimes(&self) -> Vec<PathBuf> {
        match &self.job.slurm {
            Some(slurm) => slurm.runtimes.clone(),
            None => vec![self.directory().join("run")],
        }
    }

    /// Where its ranks write their logs.
    pub fn logs(&self) -> PathBuf {
        self.directory().join("logs")
    }

    pub fn connect_file(&self) -> PathBuf {
        self.directory()
            .join("state/invivo/jobs")
            .join(&self.mark)
            .join("connect.json")
    }

    /// A client on the host of the root, which is where the last process is.
    pub fn client(&self) -> Client {
        let placed = self.job.placement().map(|placed| placed.root);
        let dealt = self.job.dealt_hosts().last().map(|host| *host as u32);
        self.client_on(placed.or(dealt).unwrap_or(self.job.hosts - 1))
    }

    /// A client on another host.
    pub fn client_on(&self, host: u32) -> Client {
        let prefix = match (&self.job.slurm, &self.hosts) {
            (Some(slurm), _) => slurm.prefixes.get(host as usize).cloned(),
            (None, hosts) => hosts.as_ref().map(|made| made.prefix(host)),
        };
        Client::new(
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
        assert_eq!(
            named.len(),
            1,
            "one process called {name} is expected: {named:?}"
        );
        named[0].clone()
    }

    /// The process of this name that the launcher has given this number in the whole job.
    pub fn member(&self, name: &str, number: u32) -> Process {
        let variable = self.job.family.number_variable();
        let is_it = |process: &&Process| {
            processes::variable(process, variable).is_some_and(|value| value == number.to_string())
        };

        let named = self.named(name);
        let found = named.iter().find(is_it).cloned();
        found.unwrap_or_else(|| panic!("no {name} has the number {number}: {named:?}"))
    }

    /// The file name of its program.
    pub fn program_name(&self) -> &str {
        let program = self.job.program.first().map(Path::new);
        program
            .and_then(Path::file_name)
            .and_then(OsStr::to_str)
            .unwrap_or_default()
    }

    /// Sends a signal to the launcher.
    pub fn signal_launcher(&self, signal: Signal) {
        processes::signal(&Process::with_pid(self.child.id()), signal);
    }

    /// Sends a signal to every process of the job but the launcher's own, as a batch system does.
    pub fn signal_members(&self, signal: Signal) {
        let variable = self.job.family.number_variable();
        // By their number: daemons of the launcher have the mark as well, but no rank.
        let all = processes::marked(&self.mark).into_iter();
        all.filter(|process| processes::variable(process, variable).is_some())
            .for_each(|process| processes::signal(&process, signal));
    }

    /// Sends a signal to the launcher and to its process group, as a terminal does.
    pub fn signal_from_terminal(&self, signal: Signal) {
        processes::signal_group(self.child.id(), signal);
    }

    /// Polls `ready` until it gives a value.
    ///
    /// # Panics
    /// When the job ends before that, or runs into its time limit. `what` is for the message.
    pub fn until<T>(&mut self, what: &str, ready: impl Fn(&Running) -> Option<T>) -> T {
        loop {
            // Before the check below: a job that has just ended may have become ready.
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

    /// Waits until every rank's tool place answers: the gateway is there as soon as the job is, the
    /// tree a moment later.
    pub fn wait_for_answers(&mut self) {
        let ranks = u64::from(self.ranks());
        self.until("an answer", |job| {
            // Clients may fail until the gateway listens.
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
        (0..self.ranks())
            .map(|rank| u32::from(is_there(rank)))
            .sum()
    }

    /// Makes a file in the directory of the logs, for which the program looks.
    pub fn tell(&self, name: &str) {
        File::create(self.logs().join(name)).expect("a file for the program");
    }

    /// Lets a program of kinds of rounds go on to one, and waits until values are of it alone.
    pub fn go_on(&self, kind: &str) {
        self.tell(kind);
        let begun = Instant::now();
        while !self.logs().join(format!("running.{kind}")).exists() {
            assert!(begun.elapsed() < Duration::from_secs(5), "{kind}");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(500));
    }

    /// Removes such a file.
    pub fn untell(&self, name: &str) {
        std::fs::remove_file(self.logs().join(name)).expect("a file for the program");
    }

    /// What the ranks have written to their standard outputs so far.
    pub fn stdout(&self) -> Vec<String> {
        let outputs = self.outputs();
        let of_ranks = self
            .processes_of_ranks()
            .into_iter()
            .filter_map(|process| outputs.get(process as usize));
        of_ranks
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .collect()
    }

    /// Invivo's lines on all standard error outputs so far.
    pub fn our_lines(&self) -> Vec<String> {
        let launcher = std::fs::read(self.directory().join("launcher.stderr")).unwrap_or_default();
        let outputs = self.outputs();
        output::our_lines(&outputs, &launcher)
    }

    /// Whether no process of the job is alive but its launcher.
    pub fn is_launcher_alone(&self) -> bool {
        let launcher = self.child.id() as i32;
        processes::marked(&self.mark)
            .iter()
            .all(|process| process.pid == launcher)
    }

    /// Whether its launcher is alive.
    pub fn runs(&mut self) -> bool {
        // Kept: a child can be waited for only once.
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("the launcher's status");
        }
        self.status.is_none()
    }

    /// What every process has written so far.
    pub(super) fn outputs(&self) -> Vec<Output> {
        // srun is told to name the files of its processes as MPICH's launcher does.
        let by_srun = |slurm: &SlurmStep| matches!(slurm.way, Way::Srun(_));
        let names = match self.job.slurm.as_ref().is_some_and(by_srun) {
            true => Family::Mpich,
            false => self.job.family,
        };
        output::read(names, &self.directory().join("out"), self.processes)
    }

    /// Everything that is known about the job, for whoever has to find out why a test failed.
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
        for (process, output) in self.outputs().iter().enumerate() {
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
        // Before the kill, while the processes can still be listed.
        if std::thread::panicking() {
            eprintln!("{}", self.describe());
        }
        // By the mark first: members that the launcher started elsewhere are not its children.
        processes::kill_marked(&self.mark);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
