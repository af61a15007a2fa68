//! Another process' memory, read through the kernel, and the shim's tables in it.

use invivo_proto::handles::{self, Entry, Readable, Slot};
use invivo_proto::shm::Handles;
use rustix::process::Pid;
use std::fs::File;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

/// Bytes of each half of a table that are looked at: some ten thousand requests; a rank with more
/// is told to have more.
const TABLE_BYTES_MAX: usize = 1 << 20;
/// Slots from a handle's home on that are looked at: in a table of which half is taken no handle
/// is further away.
const STEPS_MAX: usize = 1024;

/// The memory of a process that the kernel lets us read: a child, in most configurations.
pub struct ProcessMemory(File);

impl ProcessMemory {
    /// Of this process; nothing where the kernel forbids it.
    pub fn of(pid: Pid) -> Option<ProcessMemory> {
        let path = format!("/proc/{}/mem", pid.as_raw_nonzero());
        File::open(path).ok().map(ProcessMemory)
    }

    /// What a process that reads for us needs of it.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// So many bytes; nothing where not all of them are there.
    pub fn read(&self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut read = vec![0; bytes];
        self.0.read_exact_at(&mut read, address).ok()?;
        Some(read)
    }

    /// As many bytes from here as are there, `into` full at most.
    pub fn read_some(&self, address: u64, into: &mut [u8]) -> usize {
        let mut read = 0;
        while read < into.len() {
            match self
                .0
                .read_at(&mut into[read..], address.wrapping_add(read as u64))
            {
                Ok(more) if more > 0 => read += more,
                _ => break,
            }
        }
        read
    }

    /// One word.
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        self.0.read_exact_at(&mut word, address).ok()?;
        Some(u64::from_ne_bytes(word))
    }
}

/// A table by handle, copied.
pub struct Table<T> {
    slots: Copied,
    entries: Copied,
    value: PhantomData<T>,
}

/// An array, or as much of it as is looked at.
struct Copied {
    bytes: Vec<u8>,
    each: usize,
    count: usize,
}

impl Copied {
    fn of(memory: &ProcessMemory, base: u64, count: u64, each: usize) -> Copied {
        let count = usize::try_from(count).unwrap_or(0);
        let bytes = memory.read(base, count.min(TABLE_BYTES_MAX / each) * each);
        let bytes = bytes.unwrap_or_default();
        Copied { bytes, each, count }
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let start = at.checked_mul(self.each)?;
        self.bytes.get(start..start + self.each)
    }

    /// Those that were copied, which may be fewer than there are said to be.
    fn copied(&self) -> usize {
        self.bytes.len() / self.each
    }

    fn is_whole(&self) -> bool {
        self.copied() == self.count
    }
}

impl<T: Readable> Table<T> {
    /// As it is now; empty where it cannot be read.
    pub fn of(memory: &ProcessMemory, told: &Handles) -> Table<T> {
        // The rank goes on meanwhile and may move the table: what is read may make no sense, and is
        // checked at each step.
        let slots = told.slots.load(Ordering::Acquire);
        let slot_count = told.slot_count.load(Ordering::Relaxed);
        // Positions are taken by a mask, see `get`.
        let slot_count = if slot_count.is_power_of_two() {
            slot_count
        } else {
            0
        };
        let entries = told.entries.load(Ordering::Relaxed);
        let entry_count = told.entry_count.load(Ordering::Relaxed);
        Table {
            slots: Copied::of(memory, slots, slot_count, size_of::<Slot>()),
            entries: Copied::of(memory, entries, entry_count, size_of::<Entry<T>>()),
            value: PhantomData,
        }
    }

    /// Whether all of it was copied.
    pub fn is_whole(&self) -> bool {
        self.slots.is_whole() && self.entries.is_whole()
    }

    fn slot(&self, at: usize) -> Option<Option<(u64, u32)>> {
        handles::slot(self.slots.get(at)?)
    }

    fn entry(&self, at: u32) -> Option<(T::Value, u32)> {
        handles::entry::<T>(self.entries.get(at as usize)?)
    }

    /// What is known by this handle: of several the first.
    pub fn get(&self, key: u64) -> Option<T::Value> {
        if self.slots.count == 0 {
            return None;
        }
        let home = handles::home(key, self.slots.count);
        for step in 0..self.slots.count.min(STEPS_MAX) {
            let (found, last) = self.slot((home + step) & (self.slots.count - 1))??;
            if found == key {
                let (_, first) = self.entry(last)?;
                return Some(self.entry(first)?.0);
            }
        }
        None
    }

    /// Everything in it that makes sense.
    pub fn all(&self) -> impl Iterator<Item = T::Value> {
        let queues = (0..self.slots.copied()).filter_map(|at| self.slot(at).flatten());
        // A ring that never comes round is one that changed meanwhile, and may be reached from many
        // slots: no entry is behind two handles, so that all of them together are as many steps as
        // there can be.
        let steps = self.entries.copied();
        let values = queues.flat_map(move |(_, last)| {
            let mut next = self.entry(last).map(|(_, first)| first);
            core::iter::from_fn(move || {
                let at = next?;
                let (value, behind) = self.entry(at)?;
                next = (at != last).then_some(behind);
                Some(value)
            })
        });
        values.take(steps)
    }
}
