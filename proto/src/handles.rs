//! The shim's tables by handle, as they lie in a rank's own memory: communicators and requests. The
//! shim alone writes them; whoever may read the process can look up there what a pending call is
//! about, so that the call itself does not have to. Such a reader takes no value on trust: a table
//! may change while it is read, and its pages may be gone.
//!
//! Slots by key in open addressing with linear probing, at most half of them taken: a key is found
//! from its home on, before the first free slot. A slot names the last of its key's values, which
//! lie elsewhere; values of one key queue in a ring.

use crate::record::Words;
use core::mem::{MaybeUninit, offset_of};

/// No entry.
pub const NONE: u32 = u32::MAX;

/// A key with its queue.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The handle as a number.
    pub key: u64,
    /// The entry of its last value; [`NONE`] where the slot is free.
    pub last: u32,
}

/// A value and the one behind it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Entry<T> {
    /// What is known of the handle.
    pub value: T,
    /// The entry behind it; behind the last one comes the first. A free entry names the next free
    /// one.
    pub next: u32,
}

/// Where in a table of so many slots (a power of two) the search for a key begins.
#[inline(always)]
pub const fn home(key: u64, slots: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (slots - 1)
}

/// What is remembered of a communicator.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Collectives so far.
    pub ordinal: u64,
    /// The job's id as one number; 0 where it has none, and for the world.
    pub packed: u64,
    /// The number that records carry.
    pub local: u32,
    /// Communicators that were made of it so far, by calls that all its members make in the same
    /// order.
    pub made: u32,
    /// Windows and files that were made on it so far.
    pub shared: u32,
    /// This rank in it.
    pub rank: i32,
    /// Ranks of its group, of an intercommunicator of the own one.
    pub members: u32,
    /// Ranks that a collective moves data with: the group's, or the remote group's.
    pub peers: u32,
    /// In- and outdegree in its topology.
    pub neighbors: [u32; 2],
    /// It is an intercommunicator.
    pub inter: bool,
    /// It may have members in another world.
    pub foreign: bool,
}

/// What is known of a request.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Posted {
    /// The facts that its completion repeats, with the completion's kind.
    pub facts: Words,
    /// Its number.
    pub request: u64,
    /// When it was posted, in ticks.
    pub posted: u64,
    /// Made by an `MPI_*_init`: lives until freed.
    pub persistent: bool,
    /// Posted and not complete.
    pub active: bool,
    /// Of a non-blocking collective.
    pub nth: Nth,
}

/// Which collective of its communicator a request is, in 32 bits. Not written for other requests,
/// which are posted more often, so that they pay nothing for it: only readers of memory see it.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Nth(MaybeUninit<u32>);

impl Nth {
    /// The number.
    pub const fn new(number: u32) -> Nth {
        Nth(MaybeUninit::new(number))
    }
}

impl Default for Nth {
    #[inline(always)]
    fn default() -> Nth {
        Nth(MaybeUninit::uninit())
    }
}

impl core::fmt::Debug for Nth {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Nth")
    }
}

/// It may be there or not: requests are the same without it.
impl PartialEq for Nth {
    fn eq(&self, _: &Nth) -> bool {
        true
    }
}

impl Eq for Nth {}

/// What is remembered of a window or a file.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Calls of all members on it so far.
    pub calls: u64,
    /// The number of its communicator in records.
    pub local: u32,
    /// Which of the windows and files of its communicator, counted from 1.
    pub number: u32,
    /// Whose part of a window this rank has locked last, and not unlocked; negative for nobody's.
    pub locked: i32,
}

/// A table's values as another process reads them.
pub trait Readable: Sized {
    /// What a reader makes of it.
    type Value;

    /// The value of which these are the bytes; nothing where they cannot be one.
    fn read(bytes: &[u8]) -> Option<Self::Value>;
}

/// Reads a slot: its key, and the entry of its last value; `Some(None)` where it is free.
pub fn slot(bytes: &[u8]) -> Option<Option<(u64, u32)>> {
    let last = u32_at(bytes, offset_of!(Slot, last))?;
    let key = u64_at(bytes, offset_of!(Slot, key))?;
    // Outer: the bytes are a slot; inner: the slot is taken.
    Some((last != NONE).then_some((key, last)))
}

/// Reads an entry: its value, and the entry behind it. `None` where the bytes are too few or make
/// no sense.
pub fn entry<T: Readable>(bytes: &[u8]) -> Option<(T::Value, u32)> {
    let value = T::read(bytes.get(offset_of!(Entry<T>, value)..)?)?;
    Some((value, u32_at(bytes, offset_of!(Entry<T>, next))?))
}

impl Readable for Known {
    type Value = Known;

    fn read(bytes: &[u8]) -> Option<Known> {
        let neighbors = offset_of!(Known, neighbors);
        Some(Known {
            ordinal: u64_at(bytes, offset_of!(Known, ordinal))?,
            packed: u64_at(bytes, offset_of!(Known, packed))?,
            local: u32_at(bytes, offset_of!(Known, local))?,
            made: u32_at(bytes, offset_of!(Known, made))?,
            shared: u32_at(bytes, offset_of!(Known, shared))?,
            rank: u32_at(bytes, offset_of!(Known, rank))? as i32,
            members: u32_at(bytes, offset_of!(Known, members))?,
            peers: u32_at(bytes, offset_of!(Known, peers))?,
            neighbors: [u32_at(bytes, neighbors)?, u32_at(bytes, neighbors + 4)?],
            inter: bool_at(bytes, offset_of!(Known, inter))?,
            foreign: bool_at(bytes, offset_of!(Known, foreign))?,
        })
    }
}

impl Readable for Shared {
    type Value = Shared;

    fn read(bytes: &[u8]) -> Option<Shared> {
        Some(Shared {
            calls: u64_at(bytes, offset_of!(Shared, calls))?,
            local: u32_at(bytes, offset_of!(Shared, local))?,
            number: u32_at(bytes, offset_of!(Shared, number))?,
            locked: u32_at(bytes, offset_of!(Shared, locked))? as i32,
        })
    }
}

impl Readable for Posted {
    /// With its [`Nth`], which means something for collectives alone.
    type Value = (Posted, u32);

    fn read(bytes: &[u8]) -> Option<(Posted, u32)> {
        let facts = bytes.get(offset_of!(Posted, facts)..)?;
        let facts = Words {
            head: u64_at(facts, offset_of!(Words, head))?,
            message: u64_at(facts, offset_of!(Words, message))?,
            bytes_out: u64_at(facts, offset_of!(Words, bytes_out))?,
            bytes_in: u64_at(facts, offset_of!(Words, bytes_in))?,
        };
        // The kind may be any number.
        facts.facts()?;
        let nth = u32_at(bytes, offset_of!(Posted, nth))?;
        let posted = Posted {
            facts,
            request: u64_at(bytes, offset_of!(Posted, request))?,
            posted: u64_at(bytes, offset_of!(Posted, posted))?,
            persistent: bool_at(bytes, offset_of!(Posted, persistent))?,
            active: bool_at(bytes, offset_of!(Posted, active))?,
            nth: Nth::new(nth),
        };
        Some((posted, nth))
    }
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn bool_at(bytes: &[u8], at: usize) -> Option<bool> {
    match bytes.get(at)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CommLocal, RegionId, SiteId};
    use crate::record::{Facts, RecordKind};
    use std::{vec, vec::Vec};

    /// The bytes of a value as they lie in memory; of padding nothing is said.
    fn bytes<T: Copy>(of: &T) -> Vec<u8> {
        let mut zeroed = vec![0u8; size_of::<T>()];
        // SAFETY: both are as long; the source is a value whose padding is copied without being
        // looked at.
        unsafe {
            core::ptr::copy_nonoverlapping(
                core::ptr::from_ref(of).cast::<u8>(),
                zeroed.as_mut_ptr(),
                zeroed.len(),
            );
        }
        zeroed
    }

    #[test]
    fn what_lies_in_memory_is_read() {
        let posted = Posted {
            facts: Words::from(&Facts {
                kind: RecordKind::CompletedRecv,
                region: RegionId(4),
                comm: CommLocal(7),
                peer: -2,
                tag: 99,
                bytes_out: 1,
                bytes_in: 1 << 40,
                site: SiteId(12),
            }),
            request: 5,
            posted: 6,
            persistent: true,
            active: false,
            nth: Nth::new(77),
        };

        let lies = bytes(&Entry {
            value: posted,
            next: 42,
        });
        assert_eq!(entry::<Posted>(&lies), Some(((posted, 77), 42)));
        let taken = bytes(&Slot { key: 7, last: 3 });
        assert_eq!(slot(&taken), Some(Some((7, 3))));
        assert_eq!(slot(&bytes(&Slot { key: 7, last: NONE })), Some(None));
        assert_eq!(slot(&taken[..8]), None);
        let known = Known {
            ordinal: 9,
            packed: 8,
            local: 7,
            made: 10,
            shared: 11,
            rank: -1,
            members: 5,
            peers: 6,
            neighbors: [1, 2],
            inter: false,
            foreign: true,
        };

        let lies = bytes(&Entry {
            value: known,
            next: 1,
        });
        assert_eq!(entry::<Known>(&lies), Some((known, 1)));
        let window = Shared {
            calls: 1 << 40,
            local: 2,
            number: 3,
            locked: -1,
        };
        let lies = bytes(&Entry {
            value: window,
            next: 2,
        });
        assert_eq!(entry::<Shared>(&lies), Some((window, 2)));
    }

    #[test]
    fn what_makes_no_sense_is_nothing() {
        let mut lies = bytes(&Entry {
            value: Posted {
                nth: Nth::new(0),
                ..Posted::default()
            },
            next: 0,
        });
        for cut in 0..offset_of!(Entry<Posted>, next) + 4 {
            assert_eq!(entry::<Posted>(&lies[..cut]), None);
        }
        lies[offset_of!(Posted, active)] = 2;
        assert_eq!(entry::<Posted>(&lies), None);
        lies[offset_of!(Posted, active)] = 1;
        lies[offset_of!(Words, head)] = 15;
        assert_eq!(entry::<Posted>(&lies), None);
    }
}
