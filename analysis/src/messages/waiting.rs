//! Halves that wait for their other halves, by channel, first in first out. One channel has either sends or receives
//! waiting, never both: they would have met.

use alloc::vec::Vec;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use invivo_proto::ids::{CommId, Rank};
use rustc_hash::FxBuildHasher;

/// Messages that MPI keeps in order: all that one rank sends to another on one communicator with one tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// In the application's world.
    pub destination: Rank,
    /// By the id that the sender's side has.
    pub comm: CommId,
    /// The sender's number in that communicator.
    pub source: u32,
    /// The message's tag.
    pub tag: i32,
}

/// A send or a receive; times in job time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// When the call was entered that sent the message, or that completed the receive.
    pub begin_ns: u64,
    /// When that call was left.
    pub end_ns: u64,
    /// Bytes of the message.
    pub bytes: u64,
    /// The epoch of recording.
    pub epoch: u32,
    /// Its times mean nothing.
    pub touched: bool,
}

/// Which half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It was sent.
    Send,
    /// It was received.
    Receive,
}

const NOTHING: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    half: Half,
    /// The next of its channel, or of the free ones.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    side: Side,
    head: u32,
    tail: u32,
}

/// See the module's head. The halves of all queues lie in one table, so that a channel that comes and goes with each
/// message takes no memory of its own.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    queues: HashMap<Channel, Queue, FxBuildHasher>,
    nodes: Vec<Node>,
    /// First of the free nodes, plus one.
    free: u32,
    len: usize,
}

// What the memory that the limit states is computed from.
const _: () = assert!(size_of::<Node>() == 40 && size_of::<(Channel, Queue)>() == 32);

impl Waiting {
    /// Halves that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The first half that waits in a channel.
    #[inline]
    pub fn first(&self, channel: &Channel) -> Option<(Side, Half)> {
        let queue = self.queues.get(channel)?;
        Some((queue.side, self.nodes[queue.head as usize].half))
    }

    /// Takes the first half out of a channel.
    #[inline]
    pub fn pop(&mut self, channel: &Channel) {
        let Entry::Occupied(mut entry) = self.queues.entry(*channel) else {
            return;
        };
        let queue = entry.get_mut();
        let at = queue.head;
        let node = &mut self.nodes[at as usize];
        let next = core::mem::replace(&mut node.next, self.free);
        self.free = at + 1;
        self.len -= 1;
        if next == NOTHING {
            entry.remove();
        } else {
            queue.head = next;
        }
    }

    /// Puts a half behind the others of its channel, which are of the same side.
    #[inline]
    pub fn push(&mut self, channel: Channel, side: Side, half: Half) {
        let node = Node { half, next: NOTHING };
        let at = match self.free.checked_sub(1) {
            Some(at) => {
                self.free = core::mem::replace(&mut self.nodes[at as usize], node).next;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        self.len += 1;
        match self.queues.entry(channel) {
            Entry::Occupied(mut entry) => {
                let queue = entry.get_mut();
                self.nodes[queue.tail as usize].next = at;
                queue.tail = at;
            }
            Entry::Vacant(entry) => {
                entry.insert(Queue {
                    side,
                    head: at,
                    tail: at,
                });
            }
        }
    }

    /// All halves, each channel's in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Channel, Side, Half)> {
        self.queues.iter().flat_map(move |(channel, queue)| {
            let mut at = queue.head;
            core::iter::from_fn(move || {
                let node = self.nodes.get(at as usize)?;
                at = node.next;
                Some((channel, queue.side, node.half))
            })
        })
    }

    /// Takes out what ended by then, from the front of each channel, and hands it to `dropped`.
    pub fn drop_until(&mut self, end_ns: u64, mut dropped: impl FnMut(Half)) {
        let channels: Vec<Channel> = self.queues.keys().copied().collect();
        for channel in channels {
            while let Some((_, half)) = self.first(&channel)
                && half.end_ns <= end_ns
            {
                self.pop(&channel);
                dropped(half);
            }
        }
    }
}
