//! Measures a process from outside: what the system counts of it.
//!
//! ```text
//! Meter <- process, threads
//! process <- folder, text              its clock, and files of /proc about all of it
//! threads <- folder, text, event, affinity   what is told thread by thread, added up
//! event <- perf                        what the processor counts, and what that stands for
//! affinity                             processors that threads may run on
//! folder                               /proc/PID, files of which are kept open
//! text                                 what these files say
//! ```
//!
//! Nothing here waits for the process. Files of /proc are read again and again, which is two to
//! five times as fast as opening them each time.
//!
//! What is told of threads alone is lost where nobody looks: all of threads that ended before a
//! meter was opened or that began and ended between two readings, and what a thread did between the
//! last reading and its end (not of events, which can be read when their thread has ended). Of a
//! process with more than 256 threads the oldest are measured, and fewer where we may open few
//! files; [`Meter::unseen`] says how many are left out. When one of them is measured later, its
//! past is not added.
//!
//! A process goes on with its counts after an `exec`; only where not its first thread did that,
//! events count no more in the thread that is left.

mod affinity;
mod event;
mod folder;
mod process;
mod text;
mod threads;

use crate::metrics::folder::Folder;
use crate::metrics::process::Process;
use crate::metrics::threads::Threads;
use invivo_proto::control::metrics::{
    Kind, MetricSet, NoMetric, SYSTEM_METRICS, Source, SystemMetric,
};
use rustix::process::{Pid, Resource, getrlimit};

/// Threads that are measured.
const THREADS_MAX: usize = 256;
/// Descriptors that are left to the rest of the process that measures.
const DESCRIPTORS_LEFT: usize = 128;

/// What is measured of a process.
pub struct Meter {
    set: MetricSet,
    folder: Folder,
    process: Process,
    threads: Threads,
    has_ended: bool,
    /// The highest value so far of each, by number.
    highest: [u64; SYSTEM_METRICS],
}

impl Meter {
    /// Begins to measure these of a process, the program's own apart. Events count from here on,
    /// and in a thread that begins later from the first reading on that sees it.
    ///
    /// # Errors
    /// The first metric that cannot be measured, and why; nothing is open then.
    pub fn open(pid: Pid, set: MetricSet) -> Result<Meter, (SystemMetric, NoMetric)> {
        Meter::with_threads(pid, set, THREADS_MAX)
    }

    /// As [`Meter::open`], of so many threads at most.
    fn with_threads(
        pid: Pid,
        set: MetricSet,
        threads_max: usize,
    ) -> Result<Meter, (SystemMetric, NoMetric)> {
        let metrics: Vec<SystemMetric> = set.system().collect();
        let first = metrics.first().copied().unwrap_or(SystemMetric::CpuTime);
        let folder = Folder::open(pid).map_err(|why| (first, why))?;
        let mut process = Process::new(pid);
        match process.has_ended(&folder) {
            Ok(false) => {}
            Ok(true) => return Err((first, NoMetric::Ended)),
            Err(why) => return Err((first, why)),
        }
        // With one that is there in any case.
        let each = 1 + metrics
            .iter()
            .filter(|metric| is_of_threads(**metric))
            .count();
        let descriptors = getrlimit(Resource::Nofile).current;
        let threads_max = threads_max.min(room(each, descriptors));
        let mut threads = Threads::new(threads_max);
        for metric in metrics {
            let begun = match is_of_threads(metric) {
                false => process.begin(&folder, metric),
                true => threads.begin(&folder, metric),
            };
            begun.map_err(|why| (metric, why))?;
        }
        Ok(Meter {
            set,
            folder,
            process,
            threads,
            has_ended: false,
            highest: [0; SYSTEM_METRICS],
        })
    }

    /// Values now, in the unit of each: since the process began or, of events, since they were
    /// opened, summed over threads. Accumulated ones never fall. One that cannot be read (any more)
    /// is left out: none is left of a process that is gone. Looks for new threads on the way.
    pub fn read(&mut self) -> Vec<(SystemMetric, u64)> {
        // The clock goes by a number, which another process may have by now.
        self.has_ended = !self.folder.is_there();
        if self.has_ended || self.set.system().next().is_none() {
            return Vec::new();
        }
        let mut values = self.process.read();
        values.extend(self.threads.read(&self.folder));
        values.retain(|(metric, _)| self.set.contains(*metric));
        values.sort_unstable();
        for (metric, value) in &mut values {
            // Some kernels tell a little less for a moment, when a thread ends: what it had is then
            // neither its own any more nor its process' yet.
            if metric.facts().kind == Kind::Accumulated {
                let highest = &mut self.highest[*metric as usize];
                *highest = (*highest).max(*value);
                *value = *highest;
            }
        }
        values
    }

    /// Threads of the process that the last reading left out of metrics of threads and events: they
    /// were too many, or there was no descriptor for them. Nothing where neither is measured. Of
    /// threads that had ended by then nobody knows.
    pub fn unseen(&self) -> u32 {
        match self.has_ended {
            true => 0,
            false => u32::try_from(self.threads.unseen()).unwrap_or(u32::MAX),
        }
    }
}

/// Those that cannot be measured of this process, and why; all others can.
pub fn without(pid: Pid) -> Vec<(SystemMetric, NoMetric)> {
    // One thread tells whether they can; the first may have ended before the others.
    let one = |metric| match Meter::with_threads(pid, MetricSet::of(metric), 1) {
        Err((_, NoMetric::Ended)) => Meter::open(pid, MetricSet::of(metric)).err(),
        opened => opened.err(),
    };
    SystemMetric::ALL.into_iter().filter_map(one).collect()
}

/// Whether it is told thread by thread.
fn is_of_threads(metric: SystemMetric) -> bool {
    matches!(metric.facts().source, Source::Threads | Source::Event)
}

/// Threads that may be measured where each takes so many descriptors, of which this process may
/// have so many.
fn room(each: usize, descriptors: Option<u64>) -> usize {
    let descriptors = usize::try_from(descriptors.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let ours = descriptors.saturating_sub(DESCRIPTORS_LEFT);
    (ours / each).clamp(1, THREADS_MAX)
}

#[cfg(test)]
mod tests;
