//! Queues of endpoints that wait for their other endpoint: one queue per channel, first in first
//! out.
//!
//! One channel has either sends or receives waiting, never both: they would have been matched. A
//! queue stays when it is empty, as the next message mostly goes the same way; those that are empty
//! go when they are more than the others.

mod blocks;

use super::endpoint::{Channel, Endpoint};
use super::marks::Side;
use alloc::vec::Vec;
use blocks::{Blocks, Ends};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

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

/// Queues that may be empty, beside as many as have endpoints: some 1 MB. In tests few, so that
/// they go often.
const EMPTY_MAX: usize = if cfg!(test) { 2 } else { 1 << 14 };

/// The queue of a channel.
#[derive(Clone, Copy, Debug)]
struct Queue {
    channel: Channel,
    ends: Ends,
}

/// The number of a queue, as long as [`Waiting::renewed`] says the same.
pub type QueueNumber = u32;

#[derive(Clone, Debug, Default)]
pub struct Waiting {
    numbers: HashMap<Channel, QueueNumber, FxBuildHasher>,
    queues: Vec<Queue>,
    /// Numbers that no channel has.
    free: Vec<QueueNumber>,
    /// Queues that have endpoints.
    filled: usize,
    blocks: Blocks,
    len: usize,
    renewed: u64,
}

// What the memory that the limit states is computed from.
const _: () = assert!(size_of::<Queue>() == 32 && size_of::<(Channel, QueueNumber)>() == 24);

impl Waiting {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Blocks of memory that they take.
    pub fn blocks(&self) -> usize {
        self.blocks.used()
    }

    /// How often numbers of queues have become those of others.
    pub fn renewed(&self) -> u64 {
        self.renewed
    }

    /// Without any endpoint, and with other numbers. What there was.
    pub fn take(&mut self) -> Waiting {
        let renewed = self.renewed + 1;
        let empty = Waiting {
            renewed,
            ..Waiting::default()
        };
        core::mem::replace(self, empty)
    }

    /// The queue of a channel.
    pub fn number(&mut self, channel: &Channel) -> QueueNumber {
        if let Some(number) = self.numbers.get(channel) {
            return *number;
        }
        if self.numbers.len() > 2 * self.filled + EMPTY_MAX {
            self.forget_empty();
        }
        let queue = Queue {
            channel: *channel,
            ends: Ends::NONE,
        };
        let number = self.free.pop().unwrap_or_else(|| {
            self.queues.push(queue);
            self.queues.len() as QueueNumber - 1
        });
        self.queues[number as usize] = queue;
        self.numbers.insert(*channel, number);
        number
    }

    #[cold]
    fn forget_empty(&mut self) {
        self.renewed += 1;
        let Waiting {
            numbers,
            queues,
            free,
            ..
        } = self;
        numbers.retain(|_, number| {
            let stays = !queues[*number as usize].ends.is_empty();
            if !stays {
                free.push(*number);
            }
            stays
        });
    }

    /// The channel of a queue.
    #[inline]
    pub fn channel(&self, number: QueueNumber) -> &Channel {
        &self.queues[number as usize].channel
    }

    /// Lets an endpoint meet those of the other side that wait in its queue, one after the other as
    /// `judge` says; if no pair comes of it, the endpoint waits behind those of its own side.
    #[inline]
    pub fn meet(
        &mut self,
        number: QueueNumber,
        side: Side,
        endpoint: &Endpoint,
        mut judge: impl FnMut(&Channel, &Endpoint) -> Verdict,
    ) {
        let queue = &mut self.queues[number as usize];
        let blocks = &mut self.blocks;
        // Ends: each turn takes one endpoint out, or returns.
        while queue.ends.side != side
            && let Some(first) = blocks.first(&queue.ends)
        {
            let verdict = judge(&queue.channel, first);
            if verdict == Verdict::Leave {
                return;
            }
            blocks.pop(&mut queue.ends);
            self.len -= 1;
            self.filled -= usize::from(queue.ends.is_empty());
            if verdict == Verdict::Pair {
                return;
            }
        }

        // All of the other side were given up, if there were any: the queue changes sides.
        self.filled += usize::from(queue.ends.is_empty());
        queue.ends.side = side;
        blocks.push(&mut queue.ends, endpoint);
        self.len += 1;
    }

    /// All endpoints, each channel's in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Channel, Side, Endpoint)> {
        self.queues.iter().flat_map(|queue| {
            let endpoints = self.blocks.iter(queue.ends);
            endpoints.map(|of| (&queue.channel, queue.ends.side, of))
        })
    }

    /// All endpoints, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Endpoint> {
        self.blocks.iter_mut()
    }

    /// Takes out what ended by then, from the front of each channel, and hands it to `dropped`.
    pub fn drop_until(&mut self, end_ns: u64, mut dropped: impl FnMut(&Endpoint)) {
        for queue in &mut self.queues {
            let was_empty = queue.ends.is_empty();
            while let Some(first) = self.blocks.first(&queue.ends)
                && first.end_ns <= end_ns
            {
                dropped(first);
                self.len -= 1;
                self.blocks.pop(&mut queue.ends);
            }
            self.filled -= usize::from(!was_empty && queue.ends.is_empty());
        }
    }
}

#[cfg(test)]
mod tests;
