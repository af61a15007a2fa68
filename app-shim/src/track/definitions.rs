//! Sends definitions (communicators, groups, names) to the place, through the ring on the rank's
//! page.
//!
//! Definitions are not dropped: those that the ring has no room for wait in a queue of ours until
//! the next chance.

use crate::doorbell;
use crate::limits::DEFINITION_BYTES;
use crate::process;
use crate::spin_lock::SpinLock;
use core::sync::atomic::Ordering;
use invivo_proto::definition::Definition;
use invivo_proto::shm::{RING_BYTES, Ring};
use std::collections::VecDeque;

/// Encoded definitions that are not in the ring yet.
static WAITING: SpinLock<VecDeque<Vec<u8>>> = SpinLock::new(VecDeque::new());

/// Sends a definition, now or later.
#[cold]
pub fn define(definition: &Definition<'_>) {
    let mut bytes = [0; DEFINITION_BYTES];
    let Some(entry) = definition
        .encode(&mut bytes)
        .and_then(|length| bytes.get(..length))
    else {
        return;
    };
    WAITING.with(|queue| {
        drain(queue);
        let is_given =
            queue.is_empty() && process::page().is_none_or(|page| push(&page.ring, entry));
        if !is_given {
            keep(queue, entry);
        }
    });
}

/// Keeps a definition until there is room: the one thing that takes memory for it.
#[cold]
#[inline(never)]
fn keep(queue: &mut VecDeque<Vec<u8>>, entry: &[u8]) {
    queue.push_back(entry.to_vec());
}

/// Gives the ring what waits, as far as there is room.
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
            doorbell::ring();
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
    // The release order makes the bytes visible before the head that includes them.
    ring.head
        .store(head + entry.len() as u64 + 2, Ordering::Release);
    true
}
