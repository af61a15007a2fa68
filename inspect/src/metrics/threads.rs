//! What the system tells of threads, added up for their process.
//!
//! A sum grows by what each thread has more than at the last reading, so that it keeps what threads
//! had that have ended.

use crate::metrics::event::Event;
use crate::metrics::folder::{Folder, Kept};
use crate::metrics::text::{labelled, run_delay_ns};
use crate::perf::Refusal;
use invivo_proto::control::metrics::{MetricSet, NoMetric, SYSTEM_METRICS, SystemMetric};
use std::collections::BTreeMap;

/// The threads of a process that are measured.
pub struct Threads {
    threads: BTreeMap<i32, Thread>,
    threads_max: usize,
    wanted: Wanted,
    sums: [u64; SYSTEM_METRICS],
    buffer: Vec<u8>,
}

/// What is open of each thread.
struct Wanted {
    /// One at least where anything is.
    files: Vec<File>,
    events: Vec<SystemMetric>,
    /// Events count in the kernel, too.
    with_kernel: bool,
}

#[derive(Default)]
struct Thread {
    files: Vec<(File, Kept)>,
    /// Without those that cannot be opened.
    events: Vec<Event>,
    /// What its files said last, by metric.
    last: [u64; SYSTEM_METRICS],
}

/// A file of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    Schedstat,
    Status,
    Sched,
    /// It only tells whether the thread lives, which its events do not.
    Comm,
}

impl File {
    fn name(self) -> &'static str {
        match self {
            File::Schedstat => "schedstat",
            File::Status => "status",
            File::Sched => "sched",
            File::Comm => "comm",
        }
    }

    fn values(self, text: &str) -> Option<Vec<(SystemMetric, u64)>> {
        Some(match self {
            File::Schedstat => vec![(SystemMetric::RunDelay, run_delay_ns(text)?)],
            File::Status => {
                let voluntary = labelled(text, "voluntary_ctxt_switches")?;
                let involuntary = labelled(text, "nonvoluntary_ctxt_switches")?;
                let all = voluntary.saturating_add(involuntary);
                vec![
                    (SystemMetric::ContextSwitches, all),
                    (SystemMetric::InvoluntarySwitches, involuntary),
                ]
            }
            File::Sched => {
                let migrations = labelled(text, "se.nr_migrations")?;
                vec![(SystemMetric::CpuMigrations, migrations)]
            }
            File::Comm => Vec::new(),
        })
    }
}

impl Threads {
    /// Nothing is measured yet, and of so many threads at most later.
    pub fn new(threads_max: usize) -> Threads {
        Threads {
            threads: BTreeMap::new(),
            threads_max,
            wanted: Wanted {
                files: Vec::new(),
                events: Vec::new(),
                with_kernel: true,
            },
            sums: [0; SYSTEM_METRICS],
            buffer: Vec::new(),
        }
    }

    /// Begins to measure one of those that are told of threads.
    ///
    /// # Errors
    /// Why that cannot be.
    pub fn begin(&mut self, folder: &Folder, metric: SystemMetric) -> Result<(), NoMetric> {
        if self.threads.is_empty() {
            let tids = folder.tids()?.into_iter().take(self.threads_max);
            self.threads = tids.map(|tid| (tid, Thread::default())).collect();
        }
        let file = match metric {
            SystemMetric::RunDelay => File::Schedstat,
            SystemMetric::ContextSwitches | SystemMetric::InvoluntarySwitches => File::Status,
            _ => return self.begin_event(folder, metric),
        };
        self.begin_file(folder, file)
    }

    fn begin_file(&mut self, folder: &Folder, file: File) -> Result<(), NoMetric> {
        if self.wanted.files.contains(&file) {
            return Ok(());
        }
        let buffer = &mut self.buffer;
        each(&mut self.threads, |tid, thread| {
            let kept = folder.file_of_thread(tid, file.name())?;
            let values = file.values(&kept.read(buffer)?);
            values.ok_or(NoMetric::Unsupported)?;
            thread.files.push((file, kept));
            Ok(())
        })?;
        self.wanted.files.push(file);
        Ok(())
    }

    fn begin_event(&mut self, folder: &Folder, metric: SystemMetric) -> Result<(), NoMetric> {
        if self.wanted.files.is_empty() {
            self.begin_file(folder, File::Comm)?;
        }
        let with_kernel = &mut self.wanted.with_kernel;
        let begun = each(&mut self.threads, |tid, thread| {
            let event = open_event(tid, metric, with_kernel).map_err(no_metric)?;
            thread.events.push(event);
            Ok(())
        });
        match begun {
            Ok(()) => self.wanted.events.push(metric),
            // The kernel says the same elsewhere, as a rule also to those who may not count it.
            Err(NoMetric::Forbidden { .. }) if metric == SystemMetric::CpuMigrations => {
                self.begin_file(folder, File::Sched).or(begun)?;
            }
            Err(_) => return begun,
        }
        Ok(())
    }

    /// Values now of those that can be read; some beside those that are asked for. Looks for new
    /// threads.
    pub fn read(&mut self, folder: &Folder) -> Vec<(SystemMetric, u64)> {
        if self.wanted.files.is_empty() {
            return Vec::new();
        }
        let mut read = MetricSet::NONE;
        self.threads
            .retain(|_, thread| thread.add_to(&mut self.sums, &mut read, &mut self.buffer));
        for tid in folder.tids().unwrap_or_default() {
            if self.threads.contains_key(&tid) {
                continue;
            }
            if self.threads.len() >= self.threads_max {
                break;
            }
            match self.wanted.open(folder, tid) {
                Ok(mut thread) => {
                    thread.add_to(&mut self.sums, &mut read, &mut self.buffer);
                    self.threads.insert(tid, thread);
                }
                // A thread ends at any time.
                Err(NoMetric::Ended) => {}
                // The next one would fare no better.
                Err(_) => break,
            }
        }
        let sums = SystemMetric::ALL.into_iter().zip(self.sums);
        sums.filter(|(metric, _)| read.contains(*metric)).collect()
    }

    /// Threads that are measured.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.threads.len()
    }
}

/// Does something for each thread; those that have ended meanwhile are forgotten at the next
/// reading.
///
/// # Errors
/// Why that could not be done; [`NoMetric::Ended`] where all have ended.
fn each(
    threads: &mut BTreeMap<i32, Thread>,
    mut begin: impl FnMut(i32, &mut Thread) -> Result<(), NoMetric>,
) -> Result<(), NoMetric> {
    let mut done = Err(NoMetric::Ended);
    for (tid, thread) in threads {
        match begin(*tid, thread) {
            Ok(()) => done = Ok(()),
            Err(NoMetric::Ended) => {}
            Err(why) => return Err(why),
        }
    }
    done
}

impl Wanted {
    /// Opens what is wanted of a new thread.
    fn open(&mut self, folder: &Folder, tid: i32) -> Result<Thread, NoMetric> {
        let mut thread = Thread::default();
        for file in &self.files {
            let kept = folder.file_of_thread(tid, file.name())?;
            thread.files.push((*file, kept));
        }
        for metric in &self.events {
            match open_event(tid, *metric, &mut self.with_kernel).map_err(no_metric) {
                Ok(event) => thread.events.push(event),
                Err(NoMetric::NoRoom) => return Err(NoMetric::NoRoom),
                // Its files tell something without it.
                Err(_) => {}
            }
        }
        Ok(thread)
    }
}

/// Opens an event, without the kernel's side where that is forbidden.
fn open_event(tid: i32, metric: SystemMetric, with_kernel: &mut bool) -> Result<Event, Refusal> {
    // All migrations happen in the kernel: without its side there are none.
    if metric == SystemMetric::CpuMigrations {
        return Event::open(tid, metric, true);
    }
    let opened = Event::open(tid, metric, *with_kernel);
    match opened {
        Err(Refusal::Forbidden { .. }) if *with_kernel => {
            let event = Event::open(tid, metric, false)?;
            *with_kernel = false;
            Ok(event)
        }
        _ => opened,
    }
}

fn no_metric(refusal: Refusal) -> NoMetric {
    match refusal {
        Refusal::Forbidden { paranoid } => NoMetric::Forbidden { paranoid },
        Refusal::NoRoom => NoMetric::NoRoom,
        Refusal::Ended => NoMetric::Ended,
        Refusal::Unsupported => NoMetric::Unsupported,
    }
}

impl Thread {
    /// Adds what is new to the sums, and notes what could be read; whether the thread lives.
    fn add_to(
        &mut self,
        sums: &mut [u64; SYSTEM_METRICS],
        read: &mut MetricSet,
        buffer: &mut Vec<u8>,
    ) -> bool {
        // It had ended already when it was to be opened.
        let mut lives = !self.files.is_empty();
        let mut add = |metric: SystemMetric, grown: u64| {
            let sum = &mut sums[metric as usize];
            *sum = sum.saturating_add(grown);
            *read = read.with(MetricSet::of(metric));
        };
        for (file, kept) in &self.files {
            match kept.read(buffer) {
                Ok(text) => {
                    for (metric, now) in file.values(&text).into_iter().flatten() {
                        add(metric, grown(&mut self.last[metric as usize], now));
                    }
                }
                // A file stays that of its thread when another one gets its number.
                Err(why) => lives &= why != NoMetric::Ended,
            }
        }
        for event in &mut self.events {
            if let Some(grown) = event.grown() {
                add(event.metric, grown);
            }
        }
        lives
    }
}

/// What a value has more than the last one. One that is less belongs to another thread: one that
/// went on as the first one of its process, by an `exec`.
fn grown(last: &mut u64, now: u64) -> u64 {
    let grown = now.checked_sub(*last).unwrap_or(now);
    *last = now;
    grown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_falls_is_another_threads() {
        let mut last = 0;
        let told = [5, 5, 9, 2, 3].map(|now| grown(&mut last, now));
        assert_eq!(told, [5, 0, 4, 2, 1]);
    }
}
