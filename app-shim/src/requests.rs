//! Requests from their posting to their completion: what a completion has to repeat, by the request's handle.
//!
//! Several live requests can have one handle: both families give a shared one to operations that are complete
//! at once. So the table is a multimap; of equal handles any entry serves, their sum is right.

use crate::family::{Message, Request};
use crate::process::MULTIPLE;
use crate::ring::Locked;
use core::sync::atomic::Ordering;
use invivo_proto::ids::RegionId;
use invivo_proto::record::Facts;

/// What is known of a request.
#[derive(Clone, Copy)]
pub struct Posted {
    /// The facts that its completion repeats, with the completion's kind.
    pub facts: Facts,
    /// Its number.
    pub request: u64,
    /// When it was posted, in ticks.
    pub posted: u64,
    /// Made by an `MPI_*_init`: lives until freed.
    pub persistent: bool,
    /// Posted and not complete.
    pub active: bool,
    /// Makes this communicator's id known when complete (`MPI_Comm_idup`), 0 for none.
    pub makes_comm: u64,
}

/// An open-addressing multimap from handles to values, linear probing, at most half full.
pub struct Handles<T> {
    slots: Vec<Option<(u64, T)>>,
    used: usize,
}

impl<T: Copy> Handles<T> {
    /// Empty, without memory.
    pub const fn new() -> Self {
        Handles {
            slots: Vec::new(),
            used: 0,
        }
    }

    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.slots.len() - 1)
    }

    /// Adds a value; grows by doubling, from 256.
    pub fn insert(&mut self, key: u64, value: T) {
        if self.used * 2 >= self.slots.len() {
            let doubled = (self.slots.len() * 2).max(256);
            let old = core::mem::replace(&mut self.slots, vec![None; doubled]);
            for (key, value) in old.into_iter().flatten() {
                self.put(key, value);
            }
        }
        self.put(key, value);
        self.used += 1;
    }

    fn put(&mut self, key: u64, value: T) {
        let mut at = self.home(key);
        let mask = self.slots.len() - 1;
        while self.slots[at].is_some() {
            at = (at + 1) & mask;
        }
        self.slots[at] = Some((key, value));
    }

    fn find(&self, key: u64) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        while let Some((k, _)) = &self.slots[at] {
            if *k == key {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// A value of this key.
    pub fn get(&mut self, key: u64) -> Option<&mut T> {
        let at = self.find(key)?;
        self.slots[at].as_mut().map(|(_, value)| value)
    }

    /// Takes a value of this key out and closes the gap.
    pub fn remove(&mut self, key: u64) -> Option<T> {
        let mut gap = self.find(key)?;
        let (_, value) = self.slots[gap].take()?;
        self.used -= 1;
        let mask = self.slots.len() - 1;
        let mut at = (gap + 1) & mask;
        while let Some((k, _)) = &self.slots[at] {
            let home = self.home(*k);
            // The entry may move into the gap unless its home lies behind the gap.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.slots[gap] = self.slots[at].take();
                gap = at;
            }
            at = (at + 1) & mask;
        }
        Some(value)
    }
}

/// A table that is locked only where several threads may be in MPI at once.
pub struct Table<T>(Locked<Handles<T>>);

impl<T: Copy> Table<T> {
    /// Empty.
    pub const fn new() -> Self {
        Table(Locked::new(Handles::new()))
    }

    /// Runs `work` on the table.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(&mut Handles<T>) -> R) -> R {
        if MULTIPLE.load(Ordering::Relaxed) {
            self.0.with(work)
        } else {
            // SAFETY: below MPI_THREAD_MULTIPLE the application itself sees to it that only one thread at a
            // time is in an MPI call, and its own synchronisation orders these calls.
            unsafe { self.0.with_unlocked(work) }
        }
    }
}

static REQUESTS: Table<Posted> = Table::new();
/// Messages that a matched probe took from the queue: communicator, as records number it.
static MESSAGES: Table<u32> = Table::new();

/// Remembers a request.
#[inline]
pub fn insert(request: Request, posted: Posted) {
    REQUESTS.with(|table| table.insert(request.bits(), posted));
}

/// A persistent request has been started by a call of `region`, under whose name its bytes move.
pub fn restart(request: Request, number: u64, now: u64, region: RegionId) -> Option<Facts> {
    REQUESTS.with(|table| {
        let posted = table.get(request.bits())?;
        posted.active = true;
        posted.request = number;
        posted.posted = now;
        posted.facts.region = region;
        Some(posted.facts)
    })
}

/// A request is complete; gives what is known of it. Inactive and unknown requests give nothing.
#[inline]
pub fn complete(request: Request) -> Option<Posted> {
    REQUESTS.with(|table| {
        let posted = table.get(request.bits())?;
        if posted.persistent {
            let found = *posted;
            posted.active = false;
            return found.active.then_some(found);
        }
        table.remove(request.bits())
    })
}

/// A request was freed.
pub fn free(request: Request) {
    REQUESTS.with(|table| table.remove(request.bits()));
}

/// A matched probe took a message from the queue.
pub fn matched(message: Message, comm: u32) {
    MESSAGES.with(|table| table.insert(message.bits(), comm));
}

/// The message is received.
pub fn take_message(message: Message) -> Option<u32> {
    MESSAGES.with(|table| table.remove(message.bits()))
}
