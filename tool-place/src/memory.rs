//! Maps a rank's shared memory and reads packets and definitions from it. All unsafe code is here.
//!
//! The other side is somebody else's process: it may write anything at any time. What is read is
//! copied first and checked then, offsets are held against the constants of [`invivo_proto::shm`],
//! and a memory whose size could still change is refused, because reading behind its end would kill
//! this process.
#![allow(unsafe_code)]

use invivo_proto::packet::PAYLOAD_BYTES;
use invivo_proto::shm::{
    LOCATIONS_MAX, PACKETS_MAX, PAGE_BYTES, Page, RING_BYTES, Region, RegionError, SlotHeader,
    Status, region_bytes,
};
use rustix::fs::{SealFlags, fcntl_get_seals, fstat, fstatfs};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::sync::atomic::{Ordering, fence};

/// The file system of a memfd of ordinary pages. One of huge pages may have fewer of them than it
/// says, and whoever touches one that is missing is killed.
const TMPFS: i64 = 0x0102_1994;
/// Seals without which the size could change.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// Why a descriptor is no rank's memory.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The kernel refused.
    #[error("shared memory cannot be mapped: {0}")]
    Map(#[from] rustix::io::Errno),
    /// Its size is not fixed.
    #[error("shared memory is not sealed against shrinking and growing")]
    NotSealed,
    /// It is a file, or of huge pages, which may not be there.
    #[error("shared memory is not made of ordinary pages")]
    Pages,
    /// It is larger than the largest that a supervisor makes.
    #[error("shared memory has {0} bytes, more than any rank's")]
    TooLarge(usize),
    /// It holds something else.
    #[error(transparent)]
    Region(#[from] RegionError),
}

/// A mapped memory.
pub struct Memory {
    base: *mut c_void,
    bytes: usize,
    region: Region,
}

/// A packet in shared memory, as it stood at one moment. Nothing of it is certain before its bytes
/// were copied by [`Memory::copy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Which one.
    pub index: usize,
    /// As in [`invivo_proto::shm::owner`].
    pub owner: u32,
    /// The thread's number.
    pub location: u16,
    /// The packet's number.
    pub sequence: u64,
    /// Calls in it.
    pub records: u32,
    /// As in a packet's header.
    pub first_time: u64,
    /// As in a packet's header.
    pub next_request: u64,
    /// As in a packet's header.
    pub epoch: u32,
    /// Payload bytes that are whole records.
    pub committed: usize,
}

impl Memory {
    /// Maps a descriptor that a supervisor sent.
    ///
    /// # Errors
    /// When it is not a rank's memory, or its size is not fixed.
    pub fn map(descriptor: &OwnedFd) -> Result<Memory, MemoryError> {
        // What is no memfd has no seals, or cannot be asked.
        if !fcntl_get_seals(descriptor).is_ok_and(|seals| seals.contains(SEALS)) {
            return Err(MemoryError::NotSealed);
        }
        if fstatfs(descriptor)?.f_type != TMPFS {
            return Err(MemoryError::Pages);
        }

        // Behind the seals' check: the size read now stays.
        let bytes = usize::try_from(fstat(descriptor)?.st_size).unwrap_or(0);
        if bytes < PAGE_BYTES {
            return Err(RegionError::Short.into());
        }
        if bytes > region_bytes(PACKETS_MAX) {
            return Err(MemoryError::TooLarge(bytes));
        }
        // SAFETY: the kernel chooses the address, so that nothing else is overlaid.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                descriptor,
                0,
            )?
        };

        // SAFETY: `base` begins a page-aligned, writable, shared mapping of `bytes` bytes, which
        // the seal keeps from shrinking and `drop` alone unmaps.
        match unsafe { Region::attach(base.cast(), bytes) } {
            Ok(region) => Ok(Memory {
                base,
                bytes,
                region,
            }),
            Err(error) => {
                // SAFETY: mapped above, used by nobody.
                unsafe { munmap(base, bytes)? };
                Err(error.into())
            }
        }
    }

    /// New memory that no process writes to, as that of a rank from which nothing has come.
    ///
    /// # Errors
    /// When the kernel gives none.
    pub fn blank(rank: u32, ranks: u32) -> Result<Memory, MemoryError> {
        const PACKETS: usize = 2;
        let bytes = region_bytes(PACKETS);
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so that nothing else is overlaid.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, prot, MapFlags::PRIVATE)? };
        // SAFETY: `base` begins a page-aligned, writable, zeroed mapping of that many bytes, which
        // `drop` alone unmaps, and so many packets are allowed.
        let region = unsafe { Region::create(base.cast(), PACKETS, rank, ranks, 0) };
        Ok(Memory {
            base,
            bytes,
            region,
        })
    }

    /// The first part.
    pub fn page(&self) -> &Page {
        self.region.page()
    }

    /// Packets in the pool.
    pub fn packets(&self) -> usize {
        self.region.packets()
    }

    /// The status pages of the locations in use, by number.
    pub fn locations(&self) -> impl Iterator<Item = &Status> {
        // The rank may write any number here.
        let used = self.page().locations.load(Ordering::Acquire) as usize;
        self.page().status[..used.min(LOCATIONS_MAX)].iter()
    }

    /// The number of the thread that has a location now, or had it last.
    pub fn occupant(&self, thread: usize) -> u32 {
        let occupant = self.page().occupants.get(thread);
        occupant.map_or(0, |occupant| occupant.load(Ordering::Relaxed))
    }

    /// Slot `index`, if a packet is in it.
    pub fn slot(&self, index: usize) -> Option<Slot> {
        self.packet(index, |owner| owner != invivo_proto::shm::owner::FREE)
    }

    /// The packet that is in slot `index`, or was in it last: a free slot keeps it until the next
    /// one is opened there.
    pub fn last_packet(&self, index: usize) -> Option<Slot> {
        self.packet(index, |_| true)
    }

    fn packet(&self, index: usize, is_wanted: impl FnOnce(u32) -> bool) -> Option<Slot> {
        let slot = self.region.slot(index)?;
        // The number first: if it is the same after all else was read, all else belongs to it.
        let sequence = slot.sequence.load(Ordering::Acquire).checked_sub(1)?;
        let owner = slot.owner.load(Ordering::Acquire);
        if !is_wanted(owner) {
            return None;
        }
        let location = u16::try_from(slot.location.load(Ordering::Relaxed)).ok()?;
        // Owner before bytes: of a closed packet these are all. Bytes before calls: the calls cover
        // them.
        let committed = slot.committed.load(Ordering::Acquire) as usize;
        Some(Slot {
            index,
            owner,
            location,
            sequence,
            records: slot.records.load(Ordering::Relaxed),
            first_time: slot.first_time.load(Ordering::Relaxed),
            next_request: slot.next_request.load(Ordering::Relaxed),
            epoch: slot.epoch.load(Ordering::Relaxed),
            committed: committed.min(PAYLOAD_BYTES),
        })
    }

    /// Copies the payload bytes from `from` to the end of what was committed. False when the slot
    /// has been given to another packet meanwhile: then `out` and `slot` mean nothing.
    pub fn copy(&self, slot: &Slot, from: usize, out: &mut Vec<u8>) -> bool {
        out.clear();
        let Some(header) = self.region.slot(slot.index) else {
            return false;
        };
        let length = slot.committed.min(PAYLOAD_BYTES).saturating_sub(from);
        out.reserve(length);
        let payload = header.payload.get().cast::<u8>();
        if length > 0 {
            // SAFETY: `from + length` is at most PAYLOAD_BYTES, so the source lies inside the slot.
            // The bytes are used only if the packet is still the same afterwards, in which case its
            // owner had committed them before and rewrites none.
            unsafe { copy_volatile(payload.add(from), length, out) };
        }
        still(header, slot)
    }

    /// Says that the packet's bytes so far are taken, so that the rank need not send them. Should
    /// the slot have another packet by now, that one is left for the place and taken from here: no
    /// harm.
    pub fn mark_taken(&self, slot: &Slot) {
        if let Some(header) = self.region.slot(slot.index)
            && still(header, slot)
        {
            header.taken.store(slot.committed as u32, Ordering::Release);
        }
    }

    /// Gives a packet that was left for the place back to the pool.
    pub fn free(&self, slot: &Slot) {
        if let Some(header) = self.region.slot(slot.index)
            && still(header, slot)
        {
            header.pass(
                invivo_proto::shm::owner::PLACE,
                invivo_proto::shm::owner::FREE,
            );
        }
    }

    /// Takes what the definition channel holds: whole entries, lengths included. Nothing when the
    /// writer's place makes no sense; the channel then begins anew behind it.
    pub fn definitions(&self, out: &mut Vec<u8>) -> Option<()> {
        self.definitions_behind(self.page().ring.tail.load(Ordering::Relaxed), out)
    }

    /// The same with those that were taken before, if none of them has been overwritten: where an
    /// entry begins is not known otherwise.
    pub fn all_definitions(&self, out: &mut Vec<u8>) -> Option<()> {
        let ring = &self.page().ring;
        match ring.head.load(Ordering::Acquire) <= RING_BYTES as u64 {
            true => self.definitions_behind(0, out),
            false => self.definitions(out),
        }
    }

    fn definitions_behind(&self, tail: u64, out: &mut Vec<u8>) -> Option<()> {
        out.clear();
        let ring = &self.page().ring;
        let head = ring.head.load(Ordering::Acquire);
        let length = usize::try_from(head.wrapping_sub(tail))
            .ok()
            .filter(|&length| length <= RING_BYTES);
        if let Some(length) = length {
            out.reserve(length);
            // Offsets run on without wrapping, so head - tail is the length even across the ring's
            // end.
            let start = (tail % RING_BYTES as u64) as usize;
            let first = length.min(RING_BYTES - start);
            let bytes = ring.bytes.as_ptr().cast::<u8>();
            // SAFETY: both pieces lie inside the ring; `UnsafeCell<u8>` is laid out as `u8`. The
            // writer leaves what lies before head alone.
            unsafe {
                copy_volatile(bytes.add(start), first, out);
                copy_volatile(bytes, length - first, out);
            }
        }
        // Behind the copy: from here on the writer may overwrite these bytes.
        ring.tail.store(head, Ordering::Release);
        length.map(|_| ())
    }
}

/// Appends bytes that another process may be writing. Each is read once, and the compiler assumes
/// nothing about it: whatever they are, they are bytes.
///
/// # Safety
/// `from` begins `length` readable bytes.
unsafe fn copy_volatile(from: *const u8, length: usize, out: &mut Vec<u8>) {
    out.reserve(length);
    let before = from.align_offset(size_of::<u64>()).min(length);
    let words = (length - before) / size_of::<u64>();
    let behind = before + words * size_of::<u64>();
    // SAFETY: called with offsets below `length` only.
    let byte = |at: usize| unsafe { from.add(at).read_volatile() };
    // SAFETY: called with numbers below `words` only; the first is aligned, or there are none.
    let word = |at: usize| unsafe { from.add(before).cast::<u64>().add(at).read_volatile() };
    out.extend((0..before).map(byte));
    for at in 0..words {
        out.extend_from_slice(&word(at).to_ne_bytes());
    }
    out.extend((behind..length).map(byte));
}

/// Whether the packet is still the one that was looked at: its location's number and its own. Both
/// change when a packet is opened, before the first byte is written; the fence keeps the copy
/// before.
fn still(header: &SlotHeader, slot: &Slot) -> bool {
    fence(Ordering::Acquire);
    header.location.load(Ordering::Acquire) == u32::from(slot.location)
        && header.sequence.load(Ordering::Relaxed) == slot.sequence + 1
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`; references into it borrow `self`. A failure leaves the memory
        // mapped.
        let _ = unsafe { munmap(self.base, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};

    fn memfd(bytes: u64, flags: MemfdFlags, seals: SealFlags) -> rustix::io::Result<OwnedFd> {
        let flags = flags | MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let descriptor = memfd_create("hostile", flags)?;
        ftruncate(&descriptor, bytes)?;
        fcntl_add_seals(&descriptor, seals)?;
        Ok(descriptor)
    }

    #[test]
    fn volatile_copies_are_copies() {
        let bytes: Vec<u8> = (0..64).collect();
        for from in 0..16 {
            for length in 0..=bytes.len() - from {
                let mut copy = vec![255];
                // SAFETY: inside of `bytes`.
                unsafe { copy_volatile(bytes.as_ptr().add(from), length, &mut copy) };
                assert_eq!(copy[1..], bytes[from..from + length], "{from}, {length}");
            }
        }
    }

    #[test]
    fn only_what_a_supervisor_makes_is_mapped() {
        let (good, _) = testing::memory(0, 2);
        Memory::map(&good).expect("a rank's memory");
        let whole = region_bytes(2) as u64;
        let none = MemfdFlags::empty();
        let why = |descriptor: &OwnedFd| Memory::map(descriptor).map(drop).expect_err("refused");

        for seals in [SealFlags::empty(), SealFlags::SHRINK, SealFlags::GROW] {
            let unsealed = memfd(whole, none, seals).expect("memory");
            assert!(
                matches!(why(&unsealed), MemoryError::NotSealed),
                "{seals:?}"
            );
        }
        let terabytes = memfd(1 << 42, none, SEALS).expect("a sparse memory");
        assert!(matches!(why(&terabytes), MemoryError::TooLarge(_)));
        let blank = memfd(whole, none, SEALS).expect("memory");
        assert!(matches!(
            why(&blank),
            MemoryError::Region(RegionError::Magic)
        ));
        for bytes in [0, PAGE_BYTES as u64 - 1] {
            let short = memfd(bytes, none, SEALS).expect("memory");
            assert!(matches!(
                why(&short),
                MemoryError::Region(RegionError::Short)
            ));
        }
        // A machine may have no huge pages at all.
        if let Ok(huge) = memfd(2 << 20, MemfdFlags::HUGETLB, SEALS) {
            assert!(matches!(why(&huge), MemoryError::Pages));
        }
        let file = OwnedFd::from(tempfile::tempfile().expect("a file"));
        assert!(matches!(why(&file), MemoryError::NotSealed));
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
        assert!(matches!(why(&ours.into()), MemoryError::NotSealed));
    }
}
