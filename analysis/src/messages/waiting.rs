//! Queues of endpoints that wait for their other endpoint: one queue per channel, first in first
//! out.
//!
//! One channel has either sends or receives waiting, never both: they would have been matched. A
//! queue stays when it is empty, as the next message mostly goes the same way; those that are empty
//! go when they are more than the others.

mod blocks;

use super::marks::{Marks, Side};
use alloc::vec::Vec;
use blocks::{Blocks, Ends};
use hashbrown::HashMap;
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

/// Queues that may be empty, beside as many as have endpoints.
const EMPTY_MAX: usize = 1 << 10;

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
