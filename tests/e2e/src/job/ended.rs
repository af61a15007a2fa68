//! A job that has ended by itself: its status, its output, its report, and what it has left.

use super::output::{self, Output};
use super::running::Running;
use crate::cluster::hosts::Hosts;
use crate::logs::counts::Counts;
use crate::mpi::Family;
use crate::processes;
use crate::results::report::Report;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// The longest that processes of a job live on after its launcher has ended.
const AFTERMATH: Duration = Duration::from_secs(5);

/// A job that has ended by itself.
#[derive(Debug)]
pub struct Ended {
    /// The launcher's status.
    pub status: ExitStatus,
    /// What its processes wrote, in the launcher's order.
    pub outputs: Vec<Output>,
    running: Running,
}

impl Running {
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

        // Looked for by their mark: a process that has lost its parent is found as well.
        let left = processes::left_after(&self.mark, AFTERMATH);
        assert!(left.is_empty(), "processes outlived the job: {left:?}");

        // The next job may start.
        self.turn = None;
        Ended {
            status: self.status.expect("it has ended"),
            outputs: self.outputs(),
            running: self,
        }
    }
}

impl Ended {
    /// The status as a shell shows it.
    pub fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// What the ranks wrote to their standard outputs.
    pub fn stdout(&self) -> Vec<String> {
        self.of_ranks()
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .collect()
    }

    /// What the ranks wrote to their standard error outputs, without Invivo's lines.
    pub fn stderr(&self) -> Vec<String> {
        self.of_ranks()
            .map(|output| output::without_our_lines(&output.stderr))
            .collect()
    }

    /// What the launcher itself wrote to its standard error output, without Invivo's lines.
    pub fn launcher_stderr(&self) -> String {
        let stderr = std::fs::read(self.running.directory().join("launcher.stderr"));
        output::without_our_lines(&stderr.unwrap_or_default())
    }

    pub fn has_report(&self) -> bool {
        self.running.directory().join("report.json").exists()
    }

    fn of_ranks(&self) -> impl Iterator<Item = &Output> {
        // Tool processes have outputs too, which are not the program's.
        let processes = self.running.processes_of_ranks().into_iter();
        processes.filter_map(|process| self.outputs.get(process as usize))
    }

    /// Invivo's lines on all standard error outputs.
    pub fn our_lines(&self) -> Vec<String> {
        let launcher =
            std::fs::read(self.running.directory().join("launcher.stderr")).unwrap_or_default();
        output::our_lines(&self.outputs, &launcher)
    }

    pub fn family(&self) -> Family {
        self.running.family()
    }

    /// Ranks of the application, of all its programs.
    pub fn ranks(&self) -> u32 {
        self.running.ranks()
    }

    /// Processes of the whole job.
    pub fn processes(&self) -> u32 {
        self.running.processes()
    }

    /// The hosts that it ran on, where they were made of namespaces.
    pub fn hosts(&self) -> Option<&Hosts> {
        self.running.hosts()
    }

    /// The file with the timeline of the last seconds, where there is one.
    pub fn timeline(&self) -> Option<PathBuf> {
        let path = self.running.directory().join("report.pftrace");
        path.exists().then_some(path)
    }

    pub fn report(&self) -> Report {
        Report::read(&self.running.directory().join("report.json"))
    }

    /// The counts of the program itself.
    pub fn own_counts(&self) -> Counts {
        Counts::read(
            &self.running.directory().join("counts"),
            self.running.ranks(),
            |rank| format!("own-{rank}.tsv"),
        )
    }

    /// The counts of the PMPI counter.
    pub fn counter_counts(&self) -> Counts {
        Counts::read(
            &self.running.directory().join("counts"),
            self.running.ranks(),
            |rank| format!("{rank}.tsv"),
        )
    }

    /// The working directory of the job.
    pub fn directory(&self) -> &Path {
        self.running.directory()
    }

    /// Where its ranks wrote their clock logs.
    pub fn logs(&self) -> PathBuf {
        self.running.logs()
    }

    /// Files and folders in the working directory whose names contain this.
    pub fn files(&self, part: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.running.directory())
            .into_iter()
            .flatten();
        let paths = entries.flatten().map(|entry| entry.path());
        paths
            .filter(|path| {
                path.file_name()
                    .is_some_and(|name| name.to_string_lossy().contains(part))
            })
            .collect()
    }

    /// Checks that the job succeeded and that each rank printed exactly this.
    pub fn assert_printed(&self, expected: impl Fn(u32) -> String) {
        assert_eq!(self.code(), 0, "{:?}: exit status", self.family());
        let expected: Vec<String> = (0..self.running.ranks()).map(expected).collect();
        assert_eq!(self.stdout(), expected, "{:?}: output", self.family());
    }

    /// Checks that nothing of Invivo's is left in the file system but the report, the audit log of
    /// commands, and the library that later jobs preload, too: no sockets, no `connect.json`.
    pub fn assert_nothing_left(&self) {
        let mut left = Vec::new();
        let mut places = self.running.runtimes();
        places.push(self.running.directory().join("state"));
        for place in places {
            files_below(&place, &mut left);
        }

        let stays = |path: &PathBuf| {
            path.ends_with("audit.jsonl")
                || path.parent().is_some_and(|dir| dir.ends_with(".preload"))
        };
        left.retain(|path| !stays(path));
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

fn files_below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files_below(&path, found),
            false => found.push(path),
        }
    }
}
