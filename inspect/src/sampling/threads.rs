//! The threads of a process that are sampled: by an event for each, or by timers of their own.
//!
//! Events do not pass on to new threads where samples go into rings, so that the list of threads is
//! looked at again and again. A thread is seen from then on.

use crate::sampling::ordinals::Ordinals;
use crate::sampling::record::Record;
use crate::sampling::ring::{Ring, Settings};
use crate::sampling::timers::Timers;
use invivo_jobdir::process_stat::{self, Stat};
use invivo_proto::control::profile::{FREQUENCY_MAX, NoSamples};
use invivo_proto::control::sampling::{SampledBy, Sampling};
use invivo_proto::shm::TIMER_THREADS_MAX;
use rustix::event::{PollFd, PollFlags};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Threads that are sampled: a process with more is one that waits with most of them.
const THREADS_MAX: usize = TIMER_THREADS_MAX;
/// Pages of a ring: with 30 samples it is emptied after a tenth of a second at some hundred a
/// second.
const PAGES_MAX: usize = 64;
/// Pages that all rings of a process share, and pages that each has in any case.
const PAGES_TOGETHER: usize = 1024;
const PAGES_MIN: usize = 8;

/// Whose record it is.
#[derive(Clone, Copy, Debug)]
pub struct Whose {
    /// The thread.
    pub tid: i32,
    /// The number of the thread's last sample, see [`Ordinals`]: of this one, if it is one.
    pub ordinal: u64,
}

/// A process that is sampled, or was.
pub struct Threads<'m> {
    pid: i32,
    /// When it started, which tells it from one that has its number later.
    start: Option<u64>,
    /// By what they are sampled, or were.
    by: SampledBy,
    rings: BTreeMap<i32, Ring>,
    /// Nothing where the process is no rank that could set them.
    timers: Option<Timers<'m>>,
    /// Why there are none, if the last order could not be done.
    refusal: Option<NoSamples>,
    /// Samples are taken.
    is_wanted: bool,
    /// How often, or how often when there were last some; and their numbers.
    ordinals: Ordinals,
    with_kernel: bool,
    has_ended: bool,
    since: Option<Instant>,
    before: Duration,
}

impl<'m> Threads<'m> {
    /// Of this process; nothing is sampled yet.
    pub fn new(pid: Pid, timers: Option<Timers<'m>>) -> Threads<'m> {
        let pid = pid.as_raw_nonzero().get();
        Threads {
            pid,
            start: process_stat::stat(pid).map(|stat| stat.start),
            by: SampledBy::Perf,
            rings: BTreeMap::new(),
            timers,
            refusal: None,
            is_wanted: false,
            ordinals: Ordinals::default(),
            with_kernel: true,
            has_ended: false,
            since: None,
            before: Duration::ZERO,
        }
    }

    /// Samples so from now on, and the frequency halved so often; off: no longer. The samples of a
    /// thread are numbered on, but not with another frequency, however that is halved.
    ///
    /// # Errors
    /// Why no thread can be sampled; then none is.
    pub fn switch(&mut self, how: Sampling, halvings: u32) -> Result<(), NoSamples> {
        let outcome = self.try_switch(how, halvings);
        self.refusal = outcome.err();
        outcome
    }

    fn try_switch(&mut self, how: Sampling, halvings: u32) -> Result<(), NoSamples> {
        let begins_anew = self.begins_anew(how);
        self.stop();
        if !how.is_on() {
            return Ok(());
        }
        if how.by == SampledBy::Timer {
            let timers = self.timers.as_mut().ok_or(NoSamples::Unsupported)?;
            let most = Timers::most();
            if how.frequency > most {
                return Err(NoSamples::TooOften { most });
            }
            timers.begin();
        }
        if begins_anew {
            self.ordinals = Ordinals::default();
        }
        self.by = how.by;
        self.is_wanted = true;
        self.ordinals
            .set(how.frequency.min(FREQUENCY_MAX), halvings);
        self.since = Some(Instant::now());
        let looked = self.look();
        let outcome = match (self.by, &self.timers) {
            (SampledBy::Timer, Some(timers)) => looked.and_then(|()| timers.soon()),
            _ if self.rings.is_empty() => looked.and(Err(NoSamples::Ended)),
            _ => Ok(()),
        };
        if outcome.is_err() {
            self.stop();
        }
        outcome
    }

    /// Whether samples are numbered anew when it is switched to this.
    pub fn begins_anew(&self, how: Sampling) -> bool {
        let frequency = how.frequency.min(FREQUENCY_MAX);
        how.is_on() && (how.by != self.by || self.ordinals.is_other(frequency))
    }

    fn stop(&mut self) {
        self.rings.clear();
        if let Some(timers) = &mut self.timers {
            timers.order(&[], 0);
        }
        self.before = self.elapsed();
        (self.is_wanted, self.since) = (false, None);
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
        if self.by == SampledBy::Timer {
            let period_ns = self.period_ns();
            if let Some(timers) = &mut self.timers {
                timers.order(&tids, period_ns);
            }
            self.ordinals.keep(|tid| tids.contains(&tid));
            return Ok(());
        }
        let looked = self.open_all(&tids);
        // Threads that have ended have no ring any more. Where nothing can be sampled now, there
        // are no new ones either.
        let rings = &self.rings;
        if !rings.is_empty() {
            self.ordinals.keep(|tid| rings.contains_key(&tid));
        }
        looked
    }

    /// Begins to sample those of these threads that are not sampled.
    fn open_all(&mut self, tids: &[i32]) -> Result<(), NoSamples> {
        let all = tids.len().min(THREADS_MAX);
        let mut looked = Ok(());
        for &tid in tids {
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

    /// Shows what all rings have, with the thread and the number of its sample.
    pub fn take(&mut self, mut each: impl FnMut(Whose, Record<'_>)) {
        let ordinals = &mut self.ordinals;
        let mut numbered = |tid, record: Record<'_>| {
            let samples = match record {
                Record::Sample(_) => 1,
                Record::Lost(lost) => lost,
                Record::Mapped | Record::Other => 0,
            };
            let ordinal = ordinals.advance(tid, samples);
            each(Whose { tid, ordinal }, record);
        };
        for (&tid, ring) in &mut self.rings {
            ring.take(|record| numbered(tid, record));
        }
        if let (SampledBy::Timer, true, Some(timers)) = (self.by, self.is_wanted, &mut self.timers)
        {
            timers.take(numbered);
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
        self.is_wanted && !self.has_ended
    }

    /// What a sample stands for, in ns.
    pub fn period_ns(&self) -> u64 {
        self.ordinals.period_ns()
    }

    /// Samples a second, halved as it is; 0 where none are taken now.
    pub fn frequency(&self) -> u32 {
        // The program may have taken over the signal since.
        let untimed = self.untimed().filter(|why| *why != NoSamples::NextCall);
        if self.is_on() && untimed.is_none() {
            self.ordinals.frequency()
        } else {
            0
        }
    }

    /// How often the frequency is halved.
    pub fn halvings(&self) -> u32 {
        self.ordinals.halvings()
    }

    /// By what it is sampled, or was.
    pub fn by(&self) -> SampledBy {
        self.by
    }

    /// Why there are no samples though they were ordered: that could not be, or the rank has not
    /// set its timers.
    pub fn without(&self) -> Option<NoSamples> {
        self.refusal.or_else(|| self.untimed())
    }

    /// Why timers that were ordered are not set.
    fn untimed(&self) -> Option<NoSamples> {
        let timers = self.timers.as_ref().filter(|_| self.is_by_timer());
        timers.and_then(|timers| timers.outcome().err())
    }

    /// Whether threads that are to be sampled by timers have none.
    pub fn is_untimed(&self) -> bool {
        let timers = self.timers.as_ref().filter(|_| self.is_by_timer());
        timers.is_some_and(Timers::is_untimed)
    }

    fn is_by_timer(&self) -> bool {
        self.is_on() && self.by == SampledBy::Timer
    }

    /// How soon to take what no event tells of.
    pub fn take_within(&self) -> Option<Duration> {
        let timers = self.timers.as_ref().filter(|_| self.is_by_timer());
        timers.map(Timers::take_within)
    }

    /// Time that handlers of timers took since this was asked last.
    pub fn handler_time(&mut self) -> Duration {
        let timers = self.timers.as_mut();
        timers.map_or(Duration::ZERO, Timers::handler_time)
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
