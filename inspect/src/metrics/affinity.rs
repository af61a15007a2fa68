//! On how many processors threads of a process may run: those that any of them may.
//!
//! A launcher binds a process as a whole, and OpenMP each of its threads: only all of them together
//! tell how many processors there are for them. Those that do not work may be bound to none.
//! Processors that the kernel has switched off do not count.

use invivo_proto::control::metrics::NoMetric;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::time::{Duration, Instant};

/// They hardly ever change, and each thread is a question.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The processors, as they were when somebody looked last.
pub struct Affinity {
    looked_at: Instant,
    processors: u64,
}

impl Affinity {
    /// Of these threads.
    ///
    /// # Errors
    /// Why that cannot be told: as a rule of machines with more than 1,024 processors.
    pub fn of(tids: impl Iterator<Item = i32>) -> Result<Affinity, NoMetric> {
        Ok(Affinity {
            processors: look(tids)?,
            looked_at: Instant::now(),
        })
    }

    /// Whether it is time to look again.
    pub fn is_due(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.looked_at) >= LOOK_AGAIN
    }

    /// Looks again, at these threads. Without any the processors stay those of before.
    pub fn look(&mut self, now: Instant, tids: impl Iterator<Item = i32>) {
        self.looked_at = now;
        if let Ok(processors) = look(tids) {
            self.processors = processors;
        }
    }

    /// How many there were.
    pub fn processors(&self) -> u64 {
        self.processors
    }
}

/// Processors that any of these threads may run on.
fn look(tids: impl Iterator<Item = i32>) -> Result<u64, NoMetric> {
    let mut seen: Vec<CpuSet> = Vec::new();
    for tid in tids {
        match sched_getaffinity(Pid::from_raw(tid)) {
            Ok(set) if seen.last() == Some(&set) => {}
            Ok(set) => seen.push(set),
            // It has ended.
            Err(Errno::SRCH) => {}
            Err(Errno::INVAL) => return Err(NoMetric::Unsupported),
            Err(_) => return Err(NoMetric::Unreadable),
        }
    }
    let may = |processor: &usize| seen.iter().any(|set| set.is_set(*processor));
    match (0..CpuSet::MAX_CPU).filter(may).count() {
        0 => Err(NoMetric::Ended),
        processors => Ok(processors as u64),
    }
}
