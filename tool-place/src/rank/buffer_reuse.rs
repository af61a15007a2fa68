//! Reuses the buffers of ended threads for new ones when the memory for buffers is spent.
//!
//! Programs that start a thread per task have hundreds of threads in a day, and few at once.

use super::{Feed, RankRecords};
use invivo_proto::shm::Page;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

impl RankRecords {
    /// Takes the buffer of a thread of this rank that has ended, that with the oldest history
    /// first, for a location that wants one. Whether there was such a thread.
    pub fn recycle(&mut self, feed: &mut Feed) -> bool {
        let Some(page) = self.memory.as_ref().map(|memory| memory.page()) else {
            return false;
        };
        let newest = |thread: &usize| {
            let buffer = self.locations[*thread].store.buffer()?;
            let end = buffer.fill().span.map_or(0, |(_, newest)| newest);
            Some((end, *thread))
        };
        // From 1: the first thread's records are those of the process.
        let ended = (1..self.locations.len()).filter(|thread| has_ended(page, *thread));
        let Some((_, thread)) = ended.filter_map(|thread| newest(&thread)).min() else {
            return false;
        };
        self.locations[thread].store.give_back(&mut feed.budget);
        true
    }

    /// Gives buffers to locations that live and have none, as long as there is memory. Whether one
    /// is left without.
    pub fn adopt(&mut self, feed: &mut Feed) -> bool {
        let page = self.memory.as_ref().map(|memory| memory.page());
        let mut wants = false;
        for (thread, location) in self.locations.iter_mut().enumerate() {
            if location.store.buffer().is_none()
                && !page.is_some_and(|page| has_ended(page, thread))
            {
                location.store.adopt(&mut feed.budget);
                wants |= location.store.buffer().is_none();
            }
        }
        wants
    }
}

/// Whether a location's thread has ended, and its process has not. Where the process cannot be
/// looked at (another namespace, another user), no thread has. The first thread's records are those
/// of the process, and are never given away.
fn has_ended(page: &Page, thread: usize) -> bool {
    let pid = page.pid.load(Ordering::Relaxed);
    let tid = |thread: usize| {
        page.status
            .get(thread)
            .map(|status| status.tid.load(Ordering::Acquire))
    };
    let is_there = |tid: u32| PathBuf::from(format!("/proc/{pid}/task/{tid}")).exists();
    match (tid(0), tid(thread)) {
        // Numbers are the kernel's own only if the first thread is found under its.
        (Some(first), Some(tid)) => {
            // A location that nobody has waits for another thread.
            let has_ended = tid == 0 || !is_there(tid);
            thread != 0 && first != 0 && has_ended && is_there(first)
        }
        _ => false,
    }
}
