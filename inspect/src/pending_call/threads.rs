//! The thread of a rank whose call is told, what its others do, and whether a thread goes on whose
//! calls are not recorded.

use crate::memory::ProcessMemory;
use crate::names::Names;
use crate::python::KnownPython;
use crate::site;
use invivo_proto::control::hang::Threads;
use invivo_proto::ids::RegionId;
use invivo_proto::mpi::{self, Needs};
use invivo_proto::shm::{Page, Status, inside};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What a thread's page and memory show of how far it is: calls recorded, and the number that
/// changes at each leave, with how often it came round.
type Progress = (u64, Option<(u64, u32)>);

/// A thread as it was seen.
pub struct Thread {
    pub location: u16,
    /// When its call began, in ticks, or what stands there where it is not recorded.
    pub entered_at: u64,
    /// The function; 0 where it is in none, or nobody knows in which.
    pub region: RegionId,
    /// Where in the application's source the call is.
    pub site: Option<String>,
    is_recorded: bool,
    progress: Progress,
}

impl Thread {
    fn of(location: u16, status: &Status, memory: &ProcessMemory) -> Thread {
        let progress = progress(status, memory);
        let region = status.region.load(Ordering::Relaxed) as u16;
        Thread {
            location,
            entered_at: status.entered_at.load(Ordering::Relaxed),
            region: RegionId(region),
            site: None,
            is_recorded: region != 0,
            progress,
        }
    }

    /// Whether it has not gone on since it was looked at.
    pub fn is_still(&self, page: &Page, memory: &ProcessMemory) -> bool {
        let status = page.status.get(usize::from(self.location));
        status.is_some_and(|status| progress(status, memory) == self.progress)
    }

    /// Whether it can be seen if it goes on.
    pub fn is_visible(&self) -> bool {
        self.is_recorded || self.progress.1.is_some()
    }

    /// Those of which more can be told come first, and then who has been there for longest.
    fn importance(&self) -> (bool, bool, u64) {
        let needs = mpi::needs(self.region);
        let is_unknown = matches!(needs, Needs::Nothing | Needs::Partners);
        // A thread that serves others often waits for whatever comes.
        let serves = matches!(needs, Needs::Any | Needs::Message | Needs::Sender);
        (is_unknown, serves, self.entered_at)
    }
}

fn progress(status: &Status, memory: &ProcessMemory) -> Progress {
    let entered = status.entered.load(Ordering::Acquire);
    let at = status.progress_at.load(Ordering::Acquire);
    let polls = status.polls.load(Ordering::Acquire);
    let left = memory.read(at, 4).filter(|_| at != 0);
    let left = left.and_then(|bytes| Some(u32::from_ne_bytes(bytes.try_into().ok()?)));
    (entered, left.map(|left| (polls, left)))
}

/// The thread whose call is told: one that is in MPI, if there is any, else the first; and what the
/// others do.
pub fn choose(
    pid: Pid,
    page: &Page,
    memory: &ProcessMemory,
    names: &mut Names,
    python: &mut KnownPython,
) -> (Thread, Threads) {
    let locations = page.locations.load(Ordering::Acquire).max(1) as usize;
    let mut inside_mpi = Vec::new();
    let mut threads = Threads {
        may_go_on: page.library.thread_multiple.load(Ordering::Relaxed) != 0,
        ..Threads::default()
    };
    let last = page.status.len() - 1;
    // Threads without a location of their own are only counted.
    threads.in_mpi = page.status[last].inside.load(Ordering::Acquire);
    for (location, status) in page.status[..last].iter().enumerate().take(locations) {
        // The first one is never handed on.
        if location > 0 && status.tid.load(Ordering::Acquire) == 0 {
            continue;
        }
        if status.inside.load(Ordering::Acquire) != inside::MPI {
            threads.outside += 1;
            continue;
        }
        let mut thread = Thread::of(location as u16, status, memory);
        let found = site::site(names, python, pid, memory, status);
        let (site, region) = found.unwrap_or_default();
        thread.site = site;
        if !thread.is_recorded {
            thread.region = region;
        }
        inside_mpi.push(thread);
    }
    let others = inside_mpi.len().saturating_sub(1) as u32;
    match inside_mpi.into_iter().min_by_key(Thread::importance) {
        Some(thread) => {
            threads.in_mpi += others;
            (thread, threads)
        }
        None => {
            threads.outside = threads.outside.saturating_sub(1);
            let mut first = Thread::of(0, &page.status[0], memory);
            // What stands there is its last call.
            first.region = RegionId(0);
            (first, threads)
        }
    }
}

/// Since when threads have been seen where they are, of those whose calls are not recorded: their
/// pages do not say when a call began.
#[derive(Default)]
pub struct Watch {
    seen: BTreeMap<u16, (Progress, Instant)>,
}

impl Watch {
    /// For how long a thread has been seen where it is, in ns, where only that is known of it.
    pub fn unmoved_ns(&mut self, thread: &Thread) -> Option<u64> {
        if thread.is_recorded {
            self.seen.remove(&thread.location);
            return None;
        }
        let now = Instant::now();
        let (progress, since) = self
            .seen
            .entry(thread.location)
            .or_insert((thread.progress, now));
        if *progress != thread.progress {
            (*progress, *since) = (thread.progress, now);
        }
        Some(now.duration_since(*since).as_nanos() as u64)
    }
}
