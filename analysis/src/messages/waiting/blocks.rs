//! Memory of the queues: blocks of some endpoints, each block of one queue, all in one table, so
//! that a queue that comes and goes with each message takes no memory of its own.

use crate::messages::endpoint::Endpoint;
use crate::messages::marks::Side;
use alloc::vec::Vec;
use invivo_proto::prefetch;

const NOTHING: u32 = u32::MAX;
/// Endpoints in one block. More of them lie side by side, so that who takes them out one after the
/// other waits less for memory; and more memory is spent on channels where few wait.
pub const BLOCK: usize = 8;

/// A piece of a queue.
#[derive(Clone, Copy, Debug)]
struct Block {
    endpoints: [Endpoint; BLOCK],
    /// The next of its queue, or of the free ones.
    next: u32,
}

// What the memory that the limit states is computed from.
const _: () = assert!(size_of::<Block>() == 392);

/// Where the endpoints of a queue are: in its first block from `first` on, in its last block before
/// `end`.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    head: u32,
    tail: u32,
    first: u8,
    end: u8,
    /// Of all endpoints in it.
    pub side: Side,
}

impl Ends {
    /// Of no endpoint.
    pub const NONE: Ends = Ends {
        head: NOTHING,
        tail: NOTHING,
        first: 0,
        end: 0,
        side: Side::Send,
    };

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NOTHING
    }
}

#[derive(Clone, Debug, Default)]
pub struct Blocks {
    all: Vec<Block>,
    /// First of the free ones, plus one.
    free: u32,
    used: usize,
}

impl Blocks {
    /// Blocks that have endpoints.
    pub fn used(&self) -> usize {
        self.used
    }

    #[inline]
    pub fn first(&self, queue: &Ends) -> Option<&Endpoint> {
        // Of an empty queue it is beyond all. The remainder is always the index itself; it spares a
        // bounds check.
        let block = self.all.get(queue.head as usize)?;
        Some(&block.endpoints[usize::from(queue.first) % BLOCK])
    }

    /// Puts an endpoint behind the others.
    #[inline]
    pub fn push(&mut self, queue: &mut Ends, endpoint: &Endpoint) {
        let end = usize::from(queue.end);
        if !queue.is_empty() && end < BLOCK {
            self.all[queue.tail as usize].endpoints[end] = *endpoint;
            queue.end += 1;
            return;
        }
        let block = self.take(endpoint);
        match queue.is_empty() {
            true => (queue.head, queue.first) = (block, 0),
            false => self.all[queue.tail as usize].next = block,
        }
        (queue.tail, queue.end) = (block, 1);
    }

    /// Takes the first endpoint out, of a queue that is not empty.
    #[inline]
    pub fn pop(&mut self, queue: &mut Ends) {
        queue.first += 1;
        // The last block is released when it is empty, any other one when its last slot was taken.
        if queue.head == queue.tail {
            if queue.first >= queue.end {
                self.release(queue.head);
                *queue = Ends::NONE;
                return;
            }
        } else if usize::from(queue.first) == BLOCK {
            queue.head = self.release(queue.head);
            queue.first = 0;
        }
        // It waited for long, as a rule: it is in no cache that is near.
        if let Some(next) = self.first(queue) {
            prefetch::soon(next);
        }
    }

    /// All endpoints of a queue, in order.
    pub fn iter(&self, queue: Ends) -> impl Iterator<Item = Endpoint> {
        let (end, mut at) = (queue, queue);
        core::iter::from_fn(move || {
            if usize::from(at.first) == BLOCK {
                at.head = self.all.get(at.head as usize)?.next;
                at.first = 0;
            }
            if at.head == end.tail && at.first >= end.end {
                return None;
            }
            let endpoint = *self.first(&at)?;
            at.first += 1;
            Some(endpoint)
        })
    }

    /// All endpoints, to be changed. Free ones are among them: their content is not used.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Endpoint> {
        self.all.iter_mut().flat_map(|block| &mut block.endpoints)
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
