//! The threads of a process that are sampled: an event for each.
//!
//! Events do not pass on to new threads where samples go into rings, so that the list of threads is
//! looked at again and again. A thread is seen from then on.

use crate::sampling::record::Record;
use crate::sampling::ring::{Ring, Settings};
use invivo_jobdir::process_stat::{self, Stat};
use invivo_proto::control::profile::{FREQUENCY_MAX, NoSamples};
use rustix::event::{PollFd, PollFlags};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Threads that are sampled: a process with more is one that waits with most of them.
const THREADS_MAX: usize = 256;
/// Pages of a ring: with 30 samples it is emptied after a tenth of a second at some hundred a
/// second.
const PAGES_MAX: usize = 64;
/// Pages that all rings of a process share, and pages that each has in any case.
const PAGES_TOGETHER: usize = 1024;
const PAGES_MIN: usize = 8;

/// A process that is sampled, or was.
pub struct Threads {
    pid: i32,
    /// When it started, which tells it from one that has its number later.
    start: Option<u64>,
    rings: BTreeMap<i32, Ring>,
    /// Samples a second; 0: none.
    frequency: u32,
    /// The same, when there were last some.
    last_frequency: u32,
    with_kernel: bool,
    has_ended: bool,
    since: Option<Instant>,
    before: Duration,
}

impl Threads {
    /// Of this process; nothing is sampled yet.
    pub fn new(pid: Pid) -> Threads {
        let pid = pid.as_raw_nonzero().get();
        Threads {
            pid,
            start: process_stat::stat(pid).map(|stat| stat.start),
            rings: BTreeMap::new(),
            frequency: 0,
            last_frequency: 0,
            with_kernel: true,
            has_ended: false,
            since: None,
            before: Duration::ZERO,
        }
    }

    /// Samples so often a second from now on; 0: no longer.
    ///
    /// # Errors
    /// Why no thread can be sampled; then none is.
    pub fn switch(&mut self, frequency: u32) -> Result<(), NoSamples> {
        self.stop();
        self.frequency = frequency.min(FREQUENCY_MAX);
        if self.frequency == 0 {
            return Ok(());
        }
        self.last_frequency = self.frequency;
        self.since = Some(Instant::now());
        let looked = self.look();
        if self.rings.is_empty() {
            self.stop();
            return looked.and(Err(NoSamples::Ended));
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.rings.clear();
        self.before = self.elapsed();
        (self.frequency, self.since) = (0, None);
    }

    /// Begins to sample the threads that are new; notes when the process has ended.
    ///
    /// # Errors
    /// Why the first one of those that cannot be sampled cannot be.
    pub fn look(&mut self) -> Result<(), NoSamples> {
        let tids = tids(self.pid);
        if has_ended(self.start, process_stat::stat(self.pid), tids.len()) {
            self.has_ended = true;
            self.before = self.elapsed();
            self.since = None;
            return Err(NoSamples::Ended);
        }
        let all = tids.len().min(THREADS_MAX);
        let mut looked = Ok(());
        for tid in tids {
            if self.rings.len() >= THREADS_MAX {
                break;
            }
            if self.rings.contains_key(&tid) {
                continue;
            }
            match self.open(tid, pages(all)) {
                Ok(ring) => {
                    self.rings.insert(tid, ring);
                }
                // A thread ends at any time, and its number stays as long as its process does when
                // it is the first.
                Err(NoSamples::Ended) => looked = looked.and(Err(NoSamples::Ended)),
                // The next one would fare no better.
                Err(why) => return Err(why),
            }
        }
        looked
    }

    fn open(&mut self, tid: i32, pages: usize) -> Result<Ring, NoSamples> {
        let settings = Settings {
            period_ns: self.period_ns(),
            with_kernel: self.with_kernel,
            pages,
        };
        let opened = Ring::open(tid, settings);
        let Err(NoSamples::Forbidden { .. }) = opened else {
            return opened;
        };
        if !self.with_kernel {
            return opened;
        }
        let ring = Ring::open(
            tid,
            Settings {
                with_kernel: false,
                ..settings
            },
        )?;
        self.with_kernel = false;
        Ok(ring)
    }

    /// Shows what all rings have.
    pub fn take(&mut self, mut each: impl FnMut(Record<'_>)) {
        for ring in self.rings.values_mut() {
            ring.take(&mut each);
        }
        // What is left in them has been taken: a process that has ended fills no ring.
        if self.has_ended {
            self.rings.clear();
        }
    }

    /// What to wait for.
    pub fn waited(&self) -> impl Iterator<Item = PollFd<'_>> {
        let rings = self.rings.values();
        rings.map(|ring| PollFd::from_borrowed_fd(ring.descriptor(), PollFlags::IN))
    }

    /// Forgets threads that have ended: those whose events hung up, in the order of
    /// [`Threads::waited`].
    pub fn forget(&mut self, hung: impl Iterator<Item = bool>) {
        let mut hung = hung.fuse();
        self.rings.retain(|_, _| !hung.next().unwrap_or(false));
    }

    /// Whether anything is sampled now.
    pub fn is_on(&self) -> bool {
        self.frequency > 0 && !self.has_ended
    }

    /// What a sample stands for, in ns.
    pub fn period_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.last_frequency.max(1))
    }

    /// Samples a second; 0 where none are taken now.
    pub fn frequency(&self) -> u32 {
        if self.is_on() { self.frequency } else { 0 }
    }

    /// Whether time in the kernel is seen.
    pub fn with_kernel(&self) -> bool {
        self.with_kernel
    }

    /// The time during which it was sampled.
    pub fn elapsed(&self) -> Duration {
        let now = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.before.saturating_add(now)
    }
}

/// Whether a process is over, by when it had started, what the kernel says of it now, and the
/// number of its threads.
fn has_ended(start: Option<u64>, now: Option<Stat>, threads: usize) -> bool {
    let Some(now) = now else { return true };
    // The first thread may have ended before the others.
    let is_dead = matches!(now.state, 'Z' | 'X') && threads <= 1;
    is_dead || threads == 0 || start != Some(now.start)
}

/// Pages of each ring where there are so many threads: a power of two.
fn pages(threads: usize) -> usize {
    let each = (PAGES_TOGETHER / threads.max(1)).clamp(PAGES_MIN, PAGES_MAX);
    1 << each.ilog2()
}

/// The threads of a process, the oldest first as a rule; none when it is gone.
fn tids(pid: i32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let names = tasks.into_iter().flatten().flatten();
    let mut tids: Vec<i32> = names
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect();
    tids.sort_unstable();
    tids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_share_the_room_there_is() {
        let given = [1, 16, 17, 64, 128, 256].map(pages);
        assert_eq!(given, [64, 64, 32, 16, 8, 8]);
    }

    #[test]
    fn a_process_is_over_when_no_thread_lives() {
        let stat = |state, start| {
            Some(Stat {
                state,
                parent: 1,
                group: 1,
                start,
            })
        };
        assert!(!has_ended(Some(5), stat('R', 5), 1));
        assert!(
            !has_ended(Some(5), stat('Z', 5), 2),
            "only its first thread"
        );
        assert!(has_ended(Some(5), stat('Z', 5), 1));
        assert!(has_ended(Some(5), stat('R', 6), 1), "another process");
        assert!(has_ended(Some(5), None, 0) && has_ended(None, stat('R', 5), 1));
    }
}
