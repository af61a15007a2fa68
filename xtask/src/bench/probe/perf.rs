//! `perf`, the rival of samples and metrics: attached to a process, with the time that it takes
//! itself, and what it has seen.

use crate::bench::processes::Process;
use crate::bench::results::folder;
use crate::run::{check, output};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Until it has opened its events.
const START: Duration = Duration::from_millis(500);
/// From its signal to its end: what it has in memory is written meanwhile.
const END_MAX: Duration = Duration::from_secs(30);

/// Whether it is there and may look at processes.
pub fn is_there() -> bool {
    let file = folder().join("perf-trial.data");
    let mut trial = Command::new("perf");
    trial.args(["record", "-q", "-e", "cpu-clock", "-o"]);
    trial.arg(&file).args(["--", "true"]);
    trial.stdout(Stdio::null()).stderr(Stdio::null());
    trial.status().is_ok_and(|status| status.success())
}

/// `perf` while it is attached. Dropped before its end, it is killed.
pub struct Perf {
    child: Child,
    process: Process,
}

impl Perf {
    /// Attaches it to a process with these words, and waits until it has begun.
    pub fn attach(words: &[&str], file: &Path, pid: u32) -> Result<Perf> {
        let mut perf = Command::new("perf");
        perf.args(words).arg("-o").arg(file);
        perf.args(["-p", &pid.to_string()]).stdin(Stdio::null());
        perf.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = perf.spawn().context("perf")?;
        let process = Process {
            id: child.id(),
            name: "perf".to_owned(),
        };
        std::thread::sleep(START);
        let ended = child.try_wait()?;
        ensure!(ended.is_none(), "perf {words:?} has ended at once");
        Ok(Perf { child, process })
    }

    /// Time on a processor so far, in ns.
    pub fn cpu_ns(&self) -> u64 {
        self.process.cpu_ns()
    }

    /// Ends it as a user does; time on a processor in all, in ns.
    pub fn end(mut self) -> Result<u64> {
        let id = self.process.id.to_string();
        check(Command::new("kill").args(["-INT", &id]))?;
        let until = Instant::now() + END_MAX;
        // What it has taken is known until it is waited for.
        while !is_over(self.process.id) {
            ensure!(Instant::now() < until, "perf does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        let cpu_ns = self.cpu_ns();
        self.child.wait()?;
        Ok(cpu_ns)
    }
}

impl Drop for Perf {
    fn drop(&mut self) {
        // Does nothing to one that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_over(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_none_or(|(_, behind)| behind.starts_with('Z'))
}

/// Where a recording goes.
pub fn data() -> PathBuf {
    folder().join("probe-perf.data")
}

/// What a recording has of the program.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    /// Samples in the function that works.
    pub samples: u64,
    /// Frames of the functions that only call, in all of them.
    pub between: u64,
    /// Samples that have the outermost function.
    pub whole: u64,
}

/// Reads a recording, and removes it.
pub fn seen(data: &Path) -> Result<Seen> {
    let mut script = Command::new("perf");
    script.args(["script", "-F", "ip,sym", "-i"]).arg(data);
    script.stdin(Stdio::null());
    let printed = output(&mut script);
    let _ = std::fs::remove_file(data);
    Ok(counted(&printed?))
}

/// Of lines `ADDRESS FUNCTION`, one for each frame.
fn counted(text: &str) -> Seen {
    let of = |name: &str| {
        let functions = text
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1));
        functions.filter(|function| *function == name).count() as u64
    };
    Seen {
        samples: of("worked"),
        between: of("deeper"),
        whole: of("main"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_by_function() {
        let sample =
            "\n    55d worked\n    55e deeper\n    55f deeper\n    560 main\n    7f [unknown]\n";
        let seen = counted(&(sample.to_owned() + sample + "    55d worked\n"));
        assert_eq!((seen.samples, seen.between, seen.whole), (3, 4, 2));
    }
}
