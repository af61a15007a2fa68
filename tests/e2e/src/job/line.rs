//! The command line of a job: how many processes the launcher is asked for, and in which order
//! stand the ways to another host or to Slurm, `invivo`, the launcher, the program and their
//! options.

use super::{How, Job};
use crate::client::number;
use crate::hosts::Hosts;
use crate::{places, slurm};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

impl Job {
    /// Processes of the whole job, and of each host but the last, as `invivo plan` says.
    pub(super) fn processes(&self) -> (u32, u32) {
        if self.how == How::Bare {
            return (self.all_ranks(), self.all_ranks() / self.hosts);
        }
        let mut plan = Command::new(places::invivo());
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

    /// The command line of a job of so many processes.
    pub(super) fn command(
        &self,
        directory: &Path,
        (total, each): (u32, u32),
        hosts: Option<&Hosts>,
    ) -> Command {
        let (output, report) = (directory.join("out"), directory.join("report.json"));
        assert!(
            self.others.is_empty() || self.how != How::Exec,
            "several programs are left to `invivo run`"
        );
        let processes = if self.how == How::Exec {
            total
        } else {
            self.ranks
        };
        let mut words: Vec<OsString> = Vec::new();
        match &self.slurm {
            Some(slurm) => {
                words.extend(["srun".into(), format!("--mpi={}", slurm.mpi).into()]);
                words.extend(slurm::launcher_arguments(processes, &output));
            }
            None => {
                words.push(self.family.launcher());
                let places =
                    hosts.map(|hosts| hosts.launcher_arguments(self.family, [each, total - each]));
                words.extend(places.into_iter().flatten());
                words.extend(self.family.launcher_arguments(processes, &output));
            }
        }
        // Before `-n`, which comes last.
        let at = words.len() - 2;
        words.splice(at..at, self.launcher_options.iter().cloned());
        let mut ours: Vec<OsString> =
            vec!["--no-config".into(), "--fan-in".into(), self.fan_in.into()];
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
            words = slurm
                .prefix
                .iter()
                .cloned()
                .chain(there)
                .chain(words)
                .collect();
        }
        if let Some(hosts) = hosts {
            // To enter another `/tmp` is to leave the working directory.
            let there: [OsString; 3] = ["env".into(), "-C".into(), directory.into()];
            words = hosts
                .prefix(0)
                .into_iter()
                .chain(there)
                .chain(words)
                .collect();
        }
        let mut words = self.front.iter().cloned().chain(words);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }
}
