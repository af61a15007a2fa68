//! Halves that wait for their other halves, by channel, first in first out. One channel has either sends or receives
//! waiting, never both: they would have met.

use super::UNKNOWN_NS;
use alloc::vec::Vec;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use invivo_proto::control::peer::Standing;
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
    /// How far the times may be off, in ns.
    pub error_ns: u32,
    /// Whether it counts.
    pub standing: Standing,
}

/// Which half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It was sent.
    Send,
    /// It was received.
    Receive,
}

/// What comes of two halves of different sides that stand first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They belong together.
    Pair,
    /// The one that waited is given up.
    Drop,
    /// The one that came is given up.
    Leave,
}

impl Half {
    /// Its times were by another clock, of which job time was not known then: `offset_ns` behind it.
    pub fn shift(&mut self, offset_ns: i64, error_ns: u32) {
        if self.error_ns == UNKNOWN_NS {
            self.begin_ns = self.begin_ns.saturating_add_signed(offset_ns);
            self.end_ns = self.end_ns.saturating_add_signed(offset_ns);
            self.error_ns = error_ns;
        }
    }
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
const _: () = assert!(size_of::<Node>() == 48 && size_of::<(Channel, Queue)>() == 32);

impl Waiting {
    /// Halves that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Lets a half meet those of the other side that wait in its channel, one after the other as `judge` says; if no
    /// pair comes of it, the half waits behind those of its own side.
    #[inline]
    pub fn meet(
        &mut self,
        channel: Channel,
        side: Side,
        half: Half,
        mut judge: impl FnMut(&Half) -> Verdict,
    ) {
        let Waiting {
            queues,
            nodes,
            free,
            len,
        } = self;
        let mut entry = match queues.entry(channel) {
            Entry::Vacant(entry) => {
                let at = keep(nodes, free, half);
                *len += 1;
                entry.insert(Queue {
                    side,
                    head: at,
                    tail: at,
                });
                return;
            }
            Entry::Occupied(entry) => entry,
        };
        let queue = entry.get_mut();
        while queue.side != side {
            let verdict = judge(&nodes[queue.head as usize].half);
            if verdict == Verdict::Leave {
                return;
            }
            let next = release(nodes, free, queue.head);
            *len -= 1;
            match (verdict, next) {
                (Verdict::Pair, NOTHING) => {
                    entry.remove();
                    return;
                }
                (Verdict::Pair, next) => {
                    queue.head = next;
                    return;
                }
                (_, NOTHING) => {
                    let at = keep(nodes, free, half);
                    *len += 1;
                    *queue = Queue {
                        side,
                        head: at,
                        tail: at,
                    };
                    return;
                }
                (_, next) => queue.head = next,
            }
        }
        let at = keep(nodes, free, half);
        *len += 1;
        nodes[queue.tail as usize].next = at;
        queue.tail = at;
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

    /// All halves, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Half> {
        // Free ones are among them: what they hold is nobody's.
        self.nodes.iter_mut().map(|node| &mut node.half)
    }

    /// Takes out what ended by then, from the front of each channel, and hands it to `dropped`.
    pub fn drop_until(&mut self, end_ns: u64, mut dropped: impl FnMut(&Half)) {
        let Waiting {
            queues,
            nodes,
            free,
            len,
        } = self;
        queues.retain(|_, queue| {
            while let Some(node) = nodes.get(queue.head as usize)
                && node.half.end_ns <= end_ns
            {
                dropped(&node.half);
                queue.head = release(nodes, free, queue.head);
                *len -= 1;
            }
            queue.head != NOTHING
        });
    }
}

/// Puts a half into a free node, and says which.
#[inline]
fn keep(nodes: &mut Vec<Node>, free: &mut u32, half: Half) -> u32 {
    let node = Node { half, next: NOTHING };
    if let Some(at) = free.checked_sub(1) {
        *free = core::mem::replace(&mut nodes[at as usize], node).next;
        at
    } else {
        nodes.push(node);
        nodes.len() as u32 - 1
    }
}

/// Makes a node free, and says which was behind it.
#[inline]
fn release(nodes: &mut [Node], free: &mut u32, at: u32) -> u32 {
    let next = core::mem::replace(&mut nodes[at as usize].next, *free);
    *free = at + 1;
    next
}
