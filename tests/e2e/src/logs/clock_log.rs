//! The clock logs of `common/clock_log.h`: ticks of a program's threads while they run.

use crate::job::Running;
use crate::processes::Process;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The ticks of one rank's threads, in ns of `CLOCK_MONOTONIC`.
#[derive(Clone, Debug, Default)]
pub struct ClockLog {
    /// By the name that the thread gave itself.
    pub threads: BTreeMap<String, Vec<u64>>,
}

impl ClockLog {
    /// Reads a rank's log; a line that is just being written is left out.
    pub fn read(directory: &Path, rank: u32) -> ClockLog {
        let path = directory.join(format!("{rank}.log"));
        // Before the first tick there is no file.
        let text = std::fs::read_to_string(&path).unwrap_or_default();

        let mut log = ClockLog::default();
        for line in text
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'))
        {
            let parsed = line
                .split_once(' ')
                .and_then(|(thread, ns)| Some((thread, ns.parse().ok()?)));
            let (thread, ns) =
                parsed.unwrap_or_else(|| panic!("{}: {line:?} is no tick", path.display()));
            log.threads.entry(thread.to_owned()).or_default().push(ns);
        }
        log
    }

    /// The longest time in which none of the threads ticked, and when it began.
    pub fn longest_gap(&self) -> (Duration, u64) {
        // Merged: as long as one thread ticks, the process is not stopped.
        let mut ticks: Vec<u64> = self.threads.values().flatten().copied().collect();
        ticks.sort_unstable();

        let gaps = ticks
            .windows(2)
            .map(|pair| (Duration::from_nanos(pair[1] - pair[0]), pair[0]));
        gaps.max().unwrap_or_default()
    }

    /// The last tick of any thread.
    pub fn latest(&self) -> u64 {
        self.threads.values().flatten().copied().max().unwrap_or(0)
    }

    /// The number of ticks of all threads.
    pub fn ticks(&self) -> usize {
        self.threads.values().map(Vec::len).sum()
    }
}

/// The number of ticks of each rank so far.
pub fn ticks(running: &Running) -> Vec<usize> {
    (0..running.ranks())
        .map(|rank| ClockLog::read(&running.logs(), rank).ticks())
        .collect()
}

/// Waits until each of these ranks has so many ticks.
pub fn wait_for_ticks(running: &mut Running, ranks: impl IntoIterator<Item = u32>, ticks: usize) {
    // One after the other: ranks that were quicker have their ticks already.
    for rank in ranks {
        running.until("ticks", |job| {
            (ClockLog::read(&job.logs(), rank).ticks() >= ticks).then_some(())
        });
    }
}

/// The rank whose log a process writes, where it has begun to.
pub fn rank_of(process: &Process) -> Option<u32> {
    let number = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        name.strip_suffix(".log")?.parse().ok()
    };
    let files = std::fs::read_dir(format!("/proc/{}/fd", process.pid)).ok()?;
    let mut targets = files
        .flatten()
        .flat_map(|file| std::fs::read_link(file.path()));
    targets.find_map(number)
}

/// The clock of the logs, now.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
