//! Queues of endpoints that wait for their other endpoint: one queue per channel, first in first
//! out.
//!
//! One channel has either sends or receives waiting, never both: they would have been matched.

use super::marks::{Marks, Side};
use alloc::vec::Vec;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use invivo_proto::ids::{CommId, Rank, RegionId};
use rustc_hash::FxBuildHasher;

/// An error of four seconds and more is no knowledge of time: such endpoints are matched, and their
/// times mean nothing beside others.
pub(super) const UNKNOWN_NS: u32 = u32::MAX;

/// Messages that MPI keeps in order: all that one rank sends to another on one communicator with
/// one tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// In the application's world.
    pub destination: Rank,
    /// By the id that the sender's side has.
    pub comm: CommId,
    /// The sender's number in that communicator.
    pub source: u32,
    pub tag: i32,
}

/// A send or a receive; times in job time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// When the call was entered that sent the message, or that completed the receive.
    pub begin_ns: u64,
    /// When that call was left.
    pub end_ns: u64,
    /// When the call was entered that posted it. Of a receive in job time, ns; of a non-blocking
    /// send in the rank's ticks, which name it; of another send 0.
    pub posted: u64,
    pub bytes: u64,
    /// The epoch of recording.
    pub epoch: u32,
    /// How far the times may be off, in ns.
    pub error_ns: u32,
    /// Of a send: who sent it, by its rank. Of a receive: the call that completed several, by its
    /// number ([`super::calls`]); 0 where it completed this one alone.
    pub who: u32,
    /// Of a receive: the function that completed it. Of a send: the function, where it is one that
    /// may wait for the receiver; else 0.
    pub region: RegionId,
    /// Where that is called, and more.
    pub marks: Marks,
}

// Four of them fill three cache lines.
const _: () = assert!(size_of::<Endpoint>() == 48);

/// What comes of two endpoints of different sides that stand first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They belong together.
    Pair,
    /// The one that waited is given up.
    Drop,
    /// The one that came is given up.
    Leave,
}

impl Endpoint {
    /// Its times were by another clock, of which job time was not known then: `offset_ns` behind
    /// it.
    pub fn shift(&mut self, offset_ns: i64, error_ns: u32) {
        if self.error_ns == UNKNOWN_NS {
            self.begin_ns = self.begin_ns.saturating_add_signed(offset_ns);
            self.end_ns = self.end_ns.saturating_add_signed(offset_ns);
            if self.marks.side() == Side::Receive {
                self.posted = self.posted.saturating_add_signed(offset_ns);
            }
            self.error_ns = error_ns;
        }
    }
}

const NOTHING: u32 = u32::MAX;
/// Endpoints in one block. More of them lie side by side, so that who takes them out one after the
/// other waits less for memory; and more memory is spent on channels where few wait.
const BLOCK: usize = 8;

/// A piece of a queue.
#[derive(Clone, Copy, Debug)]
struct Block {
    endpoints: [Endpoint; BLOCK],
    /// The next of its channel, or of the free ones.
    next: u32,
}

/// The endpoints of a channel: in its first block from `first` on, in its last block before `end`.
/// Never empty.
#[derive(Clone, Copy, Debug)]
struct Queue {
    head: u32,
    tail: u32,
    first: u8,
    end: u8,
    side: Side,
}

/// The blocks of all queues lie in one table, so that a channel that comes and goes with each
/// message takes no memory of its own.
#[derive(Clone, Debug, Default)]
struct Blocks {
    all: Vec<Block>,
    /// First of the free ones, plus one.
    free: u32,
    used: usize,
}

impl Blocks {
    /// A queue of one endpoint.
    #[inline]
    fn begin(&mut self, side: Side, endpoint: &Endpoint) -> Queue {
        let block = self.take(endpoint);
        Queue {
            head: block,
            tail: block,
            first: 0,
            end: 1,
            side,
        }
    }

    #[inline]
    fn first(&self, queue: &Queue) -> &Endpoint {
        // The remainder is always the index itself; it spares a bounds check.
        &self.all[queue.head as usize].endpoints[usize::from(queue.first) % BLOCK]
    }

    #[inline]
    fn push(&mut self, queue: &mut Queue, endpoint: &Endpoint) {
        let end = usize::from(queue.end);
        if end < BLOCK {
            self.all[queue.tail as usize].endpoints[end] = *endpoint;
            queue.end += 1;
            return;
        }
        let block = self.take(endpoint);
        self.all[queue.tail as usize].next = block;
        queue.tail = block;
        queue.end = 1;
    }

    /// Takes the first endpoint out; false when there is no other behind it, and the queue is gone.
    #[inline]
    fn pop(&mut self, queue: &mut Queue) -> bool {
        queue.first += 1;
        // The last block is released when it is empty, any other one when its last slot was taken.
        if queue.head == queue.tail {
            let is_left = queue.first < queue.end;
            if !is_left {
                self.release(queue.head);
            }
            return is_left;
        }
        if usize::from(queue.first) == BLOCK {
            queue.head = self.release(queue.head);
            queue.first = 0;
        }
        true
    }

    /// Puts an endpoint into a free block, and says which.
    #[inline]
    fn take(&mut self, endpoint: &Endpoint) -> u32 {
        self.used += 1;
        if let Some(at) = self.free.checked_sub(1) {
            let block = &mut self.all[at as usize];
            self.free = block.next;
            block.endpoints[0] = *endpoint;
            block.next = NOTHING;
            return at;
        }
        self.all.push(Block {
            endpoints: [*endpoint; BLOCK],
            next: NOTHING,
        });
        self.all.len() as u32 - 1
    }

    /// Makes a block free, and says which was behind it.
    #[inline]
    fn release(&mut self, at: u32) -> u32 {
        self.used -= 1;
        let next = core::mem::replace(&mut self.all[at as usize].next, self.free);
        // The released block heads the free list: it is the one most likely still in the cache.
        self.free = at + 1;
        next
    }
}

#[derive(Clone, Debug, Default)]
pub struct Waiting {
    queues: HashMap<Channel, Queue, FxBuildHasher>,
    blocks: Blocks,
    len: usize,
}

// What the memory that the limit states is computed from.
const _: () = assert!(size_of::<Block>() == 392 && size_of::<(Channel, Queue)>() == 32);

impl Waiting {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Blocks of memory that they take.
    pub fn blocks(&self) -> usize {
        self.blocks.used
    }

    /// Lets an endpoint meet those of the other side that wait in its channel, one after the other
    /// as `judge` says; if no pair comes of it, the endpoint waits behind those of its own side.
    #[inline]
    pub fn meet(
        &mut self,
        channel: Channel,
        side: Side,
        endpoint: &Endpoint,
        mut judge: impl FnMut(&Endpoint) -> Verdict,
    ) {
        let Waiting {
            queues,
            blocks,
            len,
        } = self;
        // One look-up serves all that follows.
        let mut entry = match queues.entry(channel) {
            Entry::Vacant(entry) => {
                entry.insert(blocks.begin(side, endpoint));
                *len += 1;
                return;
            }
            Entry::Occupied(entry) => entry,
        };

        let queue = entry.get_mut();
        // Ends: each turn takes one endpoint out, or returns.
        while queue.side != side {
            let verdict = judge(blocks.first(queue));
            if verdict == Verdict::Leave {
                return;
            }
            let is_left = blocks.pop(queue);
            *len -= 1;
            match (verdict, is_left) {
                (Verdict::Pair, true) => return,
                (Verdict::Pair, false) => {
                    entry.remove();
                    return;
                }
                (_, true) => {}
                // All of the other side were given up: the queue changes sides.
                (_, false) => {
                    *queue = blocks.begin(side, endpoint);
                    *len += 1;
                    return;
                }
            }
        }

        blocks.push(queue, endpoint);
        *len += 1;
    }

    /// All endpoints, each channel's in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Channel, Side, Endpoint)> {
        self.queues.iter().flat_map(move |(channel, queue)| {
            let (mut block, mut at) = (queue.head, usize::from(queue.first));
            core::iter::from_fn(move || {
                if at == BLOCK {
                    block = self.blocks.all.get(block as usize)?.next;
                    at = 0;
                }
                if block == queue.tail && at >= usize::from(queue.end) {
                    return None;
                }
                let endpoint = *self.blocks.all.get(block as usize)?.endpoints.get(at)?;
                at += 1;
                Some((channel, queue.side, endpoint))
            })
        })
    }

    /// All endpoints, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Endpoint> {
        // Free ones are among them: their content is not used.
        self.blocks
            .all
            .iter_mut()
            .flat_map(|block| &mut block.endpoints)
    }

    /// Takes out what ended by then, from the front of each channel, and hands it to `dropped`.
    pub fn drop_until(&mut self, end_ns: u64, mut dropped: impl FnMut(&Endpoint)) {
        let Waiting {
            queues,
            blocks,
            len,
        } = self;
        queues.retain(|_, queue| {
            while blocks.first(queue).end_ns <= end_ns {
                dropped(blocks.first(queue));
                *len -= 1;
                if !blocks.pop(queue) {
                    return false;
                }
            }
            true
        });
    }
}

#[cfg(test)]
mod tests;
