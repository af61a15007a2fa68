//! The command line of a job: the order of hosts or Slurm, `invivo`, the launcher, the program.

use super::description::{Job, SlurmStep, StartedBy};
use crate::clients::number;
use crate::cluster::hosts::Hosts;
use crate::cluster::slurm::{self, Way};
use crate::mpi::Family;
use crate::paths;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

impl Job {
    /// Processes of the whole job, and of each host but the last, as `invivo plan` says.
    pub(super) fn processes(&self) -> (u32, u32) {
        if self.started_by == StartedBy::Launcher {
            return (self.all_ranks(), self.all_ranks() / self.hosts);
        }
        if let Some(placed) = self.placement() {
            let total = self.all_ranks() + placed.tools.len() as u32;
            return (total, total / self.hosts);
        }
        if let Some(per_host) = self.per_host {
            return (per_host.iter().sum(), per_host[0]);
        }
        let mut plan = Command::new(paths::invivo());
        plan.args(["plan", "--json", "--fan-in", self.fan_in])
            .args([
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

    /// The command line of a job of `total` processes, `each` of them on every host but the last.
    pub(super) fn command_line(
        &self,
        directory: &Path,
        (total, each): (u32, u32),
        hosts: Option<&Hosts>,
    ) -> Vec<OsString> {
        let mut words = self.launcher_words(directory, (total, each), hosts);
        if self.started_by == StartedBy::Run {
            let front: [OsString; 2] = [self.invivo().into(), "run".into()];
            let ours = self.invivo_options(directory);
            words = front.into_iter().chain(ours).chain(words).collect();
        }
        match self.placement() {
            Some(placed) if !self.others.is_empty() => {
                let programs = self.programs_of_processes(directory, &placed.tools, total);
                if self.is_step() {
                    words.extend(multi_prog(directory, &programs));
                } else {
                    // With those of the first program.
                    words.truncate(words.len() - 2);
                    words.extend(behind_colons(&programs));
                }
            }
            // As a user types it for `invivo run`.
            None if !self.others.is_empty() && self.is_step() => {
                let programs = self.programs_of_processes(directory, &[], self.all_ranks());
                words.extend(multi_prog(directory, &programs));
            }
            _ => words.extend(self.programs(directory)),
        }

        // To enter another mount namespace is to leave the working directory.
        let way_there = match (&self.slurm, hosts) {
            (Some(slurm), _) => Some(slurm.prefixes[0].clone()),
            (None, hosts) => hosts.map(|hosts| hosts.prefix(0)),
        };
        if let Some(Way::Mpiexec(tasks)) = self.slurm.as_ref().map(|slurm| slurm.way) {
            words = slurm::salloc(self.hosts, tasks)
                .into_iter()
                .chain(words)
                .collect();
        }

        let change_directory: [OsString; 3] = ["env".into(), "-C".into(), directory.into()];
        let way_there = way_there.map(|prefix| prefix.into_iter().chain(change_directory));
        let front = self.front.iter().cloned();
        front
            .chain(way_there.into_iter().flatten())
            .chain(words)
            .collect()
    }

    /// What each process of the first program executes, and the other programs behind colons.
    fn programs(&self, directory: &Path) -> Vec<OsString> {
        // The options of `invivo exec` would have to stand before each program.
        assert!(
            self.others.is_empty() || self.started_by != StartedBy::Exec,
            "several programs are left to `invivo run`"
        );
        let mut words = self.executed(directory, &self.program);
        for (ranks, program) in &self.others {
            words.extend([":".into(), "-n".into(), ranks.to_string().into()]);
            words.extend(program.iter().cloned());
        }
        words
    }

    /// What each process executes. A tool process is started as the rank before it is.
    fn programs_of_processes(
        &self,
        directory: &Path,
        tools: &[u32],
        total: u32,
    ) -> Vec<Vec<OsString>> {
        let first = (self.ranks, &self.program);
        let others = self.others.iter().map(|(ranks, program)| (*ranks, program));
        let mut of_ranks = std::iter::once(first)
            .chain(others)
            .flat_map(|(ranks, program)| std::iter::repeat_n(program, ranks as usize));
        let mut program = &self.program;
        let of_process = |process| {
            if !tools.contains(&process) {
                program = of_ranks.next().expect("a program for each rank");
            }
            self.executed(directory, program)
        };
        (0..total).map(of_process).collect()
    }

    /// A program, by `invivo exec` where that starts it.
    fn executed(&self, directory: &Path, program: &[OsString]) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if self.started_by == StartedBy::Exec {
            words.extend([self.invivo().into(), "exec".into()]);
            words.extend(self.invivo_options(directory));
        }
        words.extend(program.iter().cloned());
        words
    }

    /// `mpiexec` or `srun` with its options.
    fn launcher_words(
        &self,
        directory: &Path,
        (total, each): (u32, u32),
        hosts: Option<&Hosts>,
    ) -> Vec<OsString> {
        let output = directory.join("out");
        let processes = match self.started_by {
            StartedBy::Exec => total,
            // `srun` counts those of all programs, other launchers those of each.
            StartedBy::Launcher | StartedBy::Run if self.is_step() => self.all_ranks(),
            StartedBy::Launcher | StartedBy::Run => self.ranks,
        };
        let mut words: Vec<OsString> = Vec::new();
        match &self.slurm {
            Some(SlurmStep {
                way: Way::Srun(mpi),
                ..
            }) => {
                words.extend(slurm::srun(mpi, &output));
                match self.placement() {
                    Some(placed) => words.extend(placed.options.iter().cloned()),
                    None => words.extend(slurm::evenly(processes, self.hosts)),
                }
            }
            _ => {
                words.push(self.family.launcher());
                let per_host = match (self.is_dealt, self.family) {
                    // Hydra fills its hosts in turns, as often as it takes.
                    (true, Family::Mpich | Family::Mpich5) => [1, 1],
                    _ => [each, total.saturating_sub(each)],
                };
                let hosts = hosts.map(|hosts| hosts.launcher_arguments(self.family, per_host));
                words.extend(hosts.into_iter().flatten());
                let placed = self.placement().into_iter();
                words.extend(placed.flat_map(|placed| placed.options.iter().cloned()));
                words.extend(self.family.launcher_arguments(processes, &output));
            }
        }
        // Before `-n`, which comes last.
        let at = words.len() - 2;
        if self.is_dealt && matches!(self.family, Family::Ompi | Family::Ompi5) {
            words.splice(at..at, ["--map-by".into(), "node".into()]);
        }
        let at = words.len() - 2;
        words.splice(at..at, self.launcher_options.iter().cloned());
        words
    }

    fn invivo_options(&self, directory: &Path) -> Vec<OsString> {
        let mut options: Vec<OsString> =
            vec!["--no-config".into(), "--fan-in".into(), self.fan_in.into()];
        options.extend(["--report".into(), directory.join(self.report).into()]);
        // Under Slurm that is known.
        if self.hosts > 1 && self.slurm.is_none() && self.started_by == StartedBy::Run {
            options.extend(["--nodes".into(), self.hosts.to_string().into()]);
        }
        options.extend(self.options.iter().cloned());
        options.push("--".into());
        options
    }
}

/// The programs of all processes for `srun`, in a file.
fn multi_prog(directory: &Path, programs: &[Vec<OsString>]) -> [OsString; 2] {
    let line = |(process, words): (usize, &Vec<OsString>)| {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        format!("{process} {}\n", words.join(" "))
    };
    let text: String = programs.iter().enumerate().map(line).collect();
    let file = directory.join("programs");
    std::fs::write(&file, text).expect("a file for srun");
    ["--multi-prog".into(), file.into()]
}

/// The programs of all processes for `mpiexec`: `-n N PROGRAM : -n N PROGRAM`.
fn behind_colons(programs: &[Vec<OsString>]) -> Vec<OsString> {
    let blocks = programs.chunk_by(|one, next| one == next);
    let words = blocks.map(|block| {
        let mut words = vec!["-n".into(), block.len().to_string().into()];
        words.extend(block[0].iter().cloned());
        words
    });
    let words: Vec<Vec<OsString>> = words.collect();
    words.join(&OsString::from(":"))
}
