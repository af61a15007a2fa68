//! What the system tells of threads, added up for their process.
//!
//! A sum grows by what each thread has more than at the last reading, so that it keeps what threads
//! had that have ended. Of a thread that is new all counts, from its begin on. One that was left
//! out before, as there were too many or no descriptor was free, has a past that belongs to no
//! interval: what it had is where it begins.
//!
//! Two of them are no sums: how many threads were active since the last reading, and on how many
//! processors they may run.

use crate::metrics::affinity::Affinity;
use crate::metrics::event::{Event, open_event};
use crate::metrics::folder::{Folder, Kept};
use crate::metrics::text::File;
use invivo_proto::control::metrics::{MetricSet, NoMetric, SYSTEM_METRICS, SystemMetric};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A thread that ran for this part of the time since the last reading was active: those that only
/// look now and then whether there is something to do, as MPI's own do, were not.
const ACTIVE_PART: u32 = 20;

/// The threads of a process that are measured.
pub struct Threads {
    threads: BTreeMap<i32, Thread>,
    threads_max: usize,
    /// Threads that the last look left out.
    unseen: usize,
    wanted: Wanted,
    sums: [u64; SYSTEM_METRICS],
    /// When was read last, or begun.
    read_at: Instant,
    affinity: Option<Affinity>,
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
    /// It was active at a reading since somebody looked at processors, and then.
    was_active: bool,
    is_looked_at: bool,
}

impl Threads {
    /// Nothing is measured yet, and of so many threads at most later.
    pub fn new(threads_max: usize) -> Threads {
        Threads {
            threads: BTreeMap::new(),
            threads_max,
            unseen: 0,
            wanted: Wanted {
                files: Vec::new(),
                events: Vec::new(),
                with_kernel: true,
            },
            sums: [0; SYSTEM_METRICS],
            read_at: Instant::now(),
            affinity: None,
            buffer: Vec::new(),
        }
    }

    /// Begins to measure one of those that are told of threads.
    ///
    /// # Errors
    /// Why that cannot be.
    pub fn begin(&mut self, folder: &Folder, metric: SystemMetric) -> Result<(), NoMetric> {
        if self.threads.is_empty() {
            let tids = folder.tids()?;
            self.unseen = tids.len().saturating_sub(self.threads_max);
            let tids = tids.into_iter().take(self.threads_max);
            self.threads = tids.map(|tid| (tid, Thread::default())).collect();
        }
        let file = match metric {
            SystemMetric::Processors => return self.begin_affinity(folder),
            SystemMetric::RunDelay | SystemMetric::ActiveThreads => File::Schedstat,
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
        let mut is_told = false;
        each(&mut self.threads, |tid, thread| {
            let kept = folder.file_of_thread(tid, file.name())?;
            // Of a thread that has not run yet it may say nothing, though of others it does.
            let values = file.values(&kept.read(buffer)?);
            is_told |= values.is_some();
            // What it ran before is of no time between two readings.
            for (metric, now) in values.into_iter().flatten() {
                if metric == SystemMetric::ActiveThreads {
                    thread.last[metric as usize] = now;
                }
            }
            thread.files.push((file, kept));
            Ok(())
        })?;
        if !is_told {
            return Err(NoMetric::Unsupported);
        }
        self.wanted.files.push(file);
        Ok(())
    }

    /// It is of active threads; until there are some, of all. Where there are too many processors
    /// to tell it has no values, so that what is measured besides is measured there.
    fn begin_affinity(&mut self, folder: &Folder) -> Result<(), NoMetric> {
        self.begin_file(folder, File::Schedstat)?;
        self.affinity = match Affinity::of(self.threads.keys().copied()) {
            Err(NoMetric::Unsupported) => None,
            told => Some(told?),
        };
        Ok(())
    }

    fn begin_event(&mut self, folder: &Folder, metric: SystemMetric) -> Result<(), NoMetric> {
        if self.wanted.files.is_empty() {
            self.begin_file(folder, File::Comm)?;
        }
        let with_kernel = &mut self.wanted.with_kernel;
        let begun = each(&mut self.threads, |tid, thread| {
            let event = open_event(tid, metric, with_kernel)?;
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
        let now = Instant::now();
        let time = now.duration_since(std::mem::replace(&mut self.read_at, now));
        self.sums[SystemMetric::ActiveThreads as usize] = 0;
        self.threads
            .retain(|_, thread| thread.add_to(&mut self.sums, &mut read, time, &mut self.buffer));
        self.look_for_new(folder, &mut read, time);
        if let Some(affinity) = &mut self.affinity {
            let is_new = |thread: &Thread| thread.was_active && !thread.is_looked_at;
            if affinity.is_due(now) || self.threads.values().any(is_new) {
                let active = self.threads.iter_mut();
                let active = active.filter_map(|(tid, thread)| {
                    thread.is_looked_at = std::mem::take(&mut thread.was_active);
                    thread.is_looked_at.then_some(*tid)
                });
                affinity.look(now, active);
            }
            self.sums[SystemMetric::Processors as usize] = affinity.processors();
            read = read.with(MetricSet::of(SystemMetric::Processors));
        }
        let sums = SystemMetric::ALL.into_iter().zip(self.sums);
        sums.filter(|(metric, _)| read.contains(*metric)).collect()
    }

    /// Opens what threads there are beside those that are measured, as far as there is room.
    fn look_for_new(&mut self, folder: &Folder, read: &mut MetricSet, time: Duration) {
        // A thread that is opened now may be one that was left out. One that is really new loses
        // then what it did since the last reading.
        let were_left_out = self.unseen > 0;
        self.unseen = 0;
        let Ok(tids) = folder.tids() else {
            // The list takes a descriptor, too. Without one there is none for a thread.
            let threads = folder.threads().unwrap_or(0);
            self.unseen = threads.saturating_sub(self.threads.len());
            return;
        };
        let mut has_room = true;
        for tid in tids {
            if self.threads.contains_key(&tid) {
                continue;
            }
            has_room &= self.threads.len() < self.threads_max;
            if !has_room {
                self.unseen += 1;
                continue;
            }
            match self.wanted.open(folder, tid) {
                Ok(mut thread) => {
                    if were_left_out {
                        thread.leave_past(&mut self.buffer);
                    }
                    thread.add_to(&mut self.sums, read, time, &mut self.buffer);
                    self.threads.insert(tid, thread);
                }
                // A thread ends at any time.
                Err(NoMetric::Ended) => {}
                // The next one would fare no better.
                Err(_) => {
                    has_room = false;
                    self.unseen += 1;
                }
            }
        }
    }

    /// Threads that there were at the last look, and that are not measured.
    pub fn unseen(&self) -> usize {
        self.unseen
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
            match open_event(tid, *metric, &mut self.with_kernel) {
                Ok(event) => thread.events.push(event),
                Err(NoMetric::NoRoom) => return Err(NoMetric::NoRoom),
                // Its files tell something without it.
                Err(_) => {}
            }
        }
        Ok(thread)
    }
}

impl Thread {
    /// Takes what its files say for what was there before. Events begin at 0 in any case.
    fn leave_past(&mut self, buffer: &mut Vec<u8>) {
        for (file, kept) in &self.files {
            let values = kept.read(buffer).ok().and_then(|text| file.values(&text));
            for (metric, now) in values.into_iter().flatten() {
                self.last[metric as usize] = now;
            }
        }
    }

    /// Adds what is new since the last reading, which was so long ago, to the sums, and notes what
    /// could be read; whether the thread lives.
    fn add_to(
        &mut self,
        sums: &mut [u64; SYSTEM_METRICS],
        read: &mut MetricSet,
        time: Duration,
        buffer: &mut Vec<u8>,
    ) -> bool {
        // It had ended already when it was to be opened.
        let mut lives = !self.files.is_empty();
        let mut add = |metric: SystemMetric, grown: u64| {
            let grown = match metric {
                SystemMetric::ActiveThreads => {
                    let is_active = is_active(grown, time);
                    self.was_active |= is_active;
                    is_active.into()
                }
                _ => grown,
            };
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

/// Whether a thread that ran for so many ns of this time was active.
fn is_active(ran_ns: u64, time: Duration) -> bool {
    ran_ns > 0 && Duration::from_nanos(ran_ns) >= time / ACTIVE_PART
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
    fn a_thread_that_only_looks_is_not_active() {
        let time = Duration::from_millis(100);
        let told = [0, 4_999_999, 5_000_000, 90_000_000].map(|ran| is_active(ran, time));
        assert_eq!(told, [false, false, true, true]);
        assert!(!is_active(0, Duration::ZERO));
    }

    #[test]
    fn a_value_that_falls_is_another_threads() {
        let mut last = 0;
        let told = [5, 5, 9, 2, 3].map(|now| grown(&mut last, now));
        assert_eq!(told, [5, 0, 4, 2, 1]);
    }
}
