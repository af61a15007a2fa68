//! The writer's side of the definition channel. Definitions are never dropped: what the ring has no
//! room for waits in a queue of ours until the next chance.

use crate::process;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};
use invivo_proto::definition::{DEFINITION_BYTES_MAX, Definition};
use invivo_proto::shm::{RING_BYTES, Ring};
use std::collections::VecDeque;

/// A value under a spin lock. Only rare operations hold it, each for well below a microsecond.
pub struct Locked<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached while `taken` is held.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    /// Nobody holds it.
    pub const fn new(value: T) -> Self {
        Locked {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Runs `work` alone. Must not be called from within `work`.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        while self.taken.swap(true, Ordering::Acquire) {
            // SAFETY: no preconditions. Yielding lets a holder on the same core go on.
            unsafe { libc::sched_yield() };
        }
        // SAFETY: `taken` was free and is ours now.
        let result = work(unsafe { &mut *self.value.get() });
        self.taken.store(false, Ordering::Release);
        result
    }

    /// Runs `work` without taking the lock.
    ///
    /// # Safety
    /// Nobody else may reach the value meanwhile.
    #[inline(always)]
    pub unsafe fn with_unlocked<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the caller vouches for being alone.
        work(unsafe { &mut *self.value.get() })
    }

    /// Runs `work` alone, or not at all where somebody else is at it.
    pub fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.taken.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: as above.
        let result = work(unsafe { &mut *self.value.get() });
        self.taken.store(false, Ordering::Release);
        Some(result)
    }
}

static WAITING: Locked<VecDeque<Vec<u8>>> = Locked::new(VecDeque::new());

/// Tells the place a definition.
#[cold]
pub fn define(definition: &Definition<'_>) {
    let mut bytes = vec![0; DEFINITION_BYTES_MAX];
    let Some(length) = definition.encode(&mut bytes) else {
        return;
    };
    bytes.truncate(length);
    // It may wait for long, beside many.
    bytes.shrink_to_fit();
    WAITING.with(|queue| {
        queue.push_back(bytes);
        drain(queue);
    });
}

/// Gives what waits to the ring, as far as there is room.
#[cold]
pub fn flush() {
    WAITING.try_with(drain);
}

/// Whether everything was given to the ring.
pub fn is_flushed() -> bool {
    WAITING.with(|queue| {
        drain(queue);
        queue.is_empty()
    })
}

fn drain(queue: &mut VecDeque<Vec<u8>>) {
    let Some(page) = process::page() else { return };
    while let Some(entry) = queue.front() {
        if !push(&page.ring, entry) {
            return;
        }
        queue.pop_front();
    }
}

fn push(ring: &Ring, entry: &[u8]) -> bool {
    let head = ring.head.load(Ordering::Relaxed);
    let used = head.wrapping_sub(ring.tail.load(Ordering::Acquire)) as usize;
    // A tail that makes no sense means a place that makes no sense: keep the entry.
    if used > RING_BYTES || RING_BYTES - used < entry.len() + 2 {
        return false;
    }
    let length = (entry.len() as u16).to_le_bytes();
    for (i, byte) in length.iter().chain(entry).enumerate() {
        let at = (head as usize + i) % RING_BYTES;
        // SAFETY: `at` is inside the ring, and the bytes from head on are the writer's until head
        // moves; the lock of the queue makes us the only writer.
        unsafe { ring.bytes[at].get().write(*byte) };
    }
    ring.head
        .store(head + entry.len() as u64 + 2, Ordering::Release);
    true
}
