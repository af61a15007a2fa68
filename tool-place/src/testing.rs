//! A rank for tests: writes shared memory and packets as the preloaded library does.
//!
//! The only unsafe code of the tests.
#![allow(unsafe_code)]

use invivo_proto::definition::Definition;
use invivo_proto::ids::{LocationId, Rank};
use invivo_proto::packet::{HEADER_BYTES, Header, Losses, PACKET_BYTES, PAYLOAD_BYTES};
use invivo_proto::record::{
    Call, Decoded, Encoder, MAX_CALL_BYTES, MAX_PART_BYTES, OPEN_BYTES_MAX, OpenRegion, Part,
};
use invivo_proto::shm::{
    Page, RING_BYTES, Region, SlotHeader, Status, inside, owner, region_bytes,
};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::os::fd::OwnedFd;
use std::sync::atomic::{Ordering, fence};

/// Appends a call with its parts, or a continuation where there is no call.
pub fn write(encoder: &mut Encoder, call: Option<&Call>, parts: &[Part], out: &mut Vec<u8>) {
    let mut bytes = vec![0u8; MAX_CALL_BYTES + parts.len() * MAX_PART_BYTES];
    let start = bytes.as_mut_ptr();
    // SAFETY: there is room for one call or continuation and for all parts.
    let end = unsafe {
        let behind = match call {
            Some(call) => encoder.call(start, call, parts.len()),
            None => encoder.continuation(start, parts.len()),
        };
        parts
            .iter()
            .fold(behind, |out, part| encoder.part(out, part))
    };
    out.extend_from_slice(&bytes[..end as usize - start as usize]);
}

/// Writes whose calls follow.
pub fn write_occupant(encoder: &mut Encoder, occupant: u32, out: &mut Vec<u8>) {
    let mut bytes = [0u8; MAX_CALL_BYTES];
    let start = bytes.as_mut_ptr();
    // SAFETY: there is room for a call, which takes more.
    let end = unsafe { encoder.occupant(start, occupant) };
    out.extend_from_slice(&bytes[..end as usize - start as usize]);
}

/// Writes that regions were entered or left, or which are open.
pub fn write_regions(
    encoder: &mut Encoder,
    record: &Decoded,
    open: &[OpenRegion],
    out: &mut Vec<u8>,
) {
    let mut bytes = vec![0u8; OPEN_BYTES_MAX];
    let start = bytes.as_mut_ptr();
    // SAFETY: there is room for what says which regions are open, and that is the longest.
    let end = unsafe {
        match *record {
            Decoded::Enter { time, region } => encoder.enter(start, time, region),
            Decoded::Leave { time } => encoder.leave(start, time),
            Decoded::Open { time, .. } => encoder.open(start, time, open.iter().copied()),
            _ => start,
        }
    };
    out.extend_from_slice(&bytes[..end as usize - start as usize]);
}

/// A rank's memory as its supervisor makes it, and the rank's own mapping of it.
pub fn memory(rank: u32, packets: usize) -> (OwnedFd, Region) {
    let bytes = region_bytes(packets);
    let descriptor = memfd_create("rank", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&descriptor, bytes as u64).unwrap();
    fcntl_add_seals(
        &descriptor,
        SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL,
    )
    .unwrap();
    // SAFETY: a new mapping at an address of the kernel's choice, never unmapped, zeroed as it is
    // new.
    let region = unsafe {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let base = mmap(
            std::ptr::null_mut(),
            bytes,
            prot,
            MapFlags::SHARED,
            &descriptor,
            0,
        )
        .unwrap();
        Region::create(base.cast(), packets, rank, 4, 4)
    };
    (descriptor, region)
}

/// Writes one location's packets, slot by slot, in the order of stores that the preloaded library
/// keeps to.
pub struct Writer {
    region: Region,
    thread: u16,
    slot: Option<&'static SlotHeader>,
    sending: Vec<&'static SlotHeader>,
    encoder: Encoder,
    time: u64,
    written: usize,
    records: u32,
    entered: u64,
    is_in_call: bool,
}

impl Writer {
    /// Of a new location.
    pub fn new(region: Region) -> Writer {
        let thread = region.page().locations.fetch_add(1, Ordering::AcqRel) as u16;
        Writer {
            region,
            thread,
            slot: None,
            sending: Vec::new(),
            encoder: Encoder::new(0, 1),
            time: 0,
            written: 0,
            records: 0,
            entered: 0,
            is_in_call: false,
        }
    }

    /// The memory.
    pub fn region(&self) -> Region {
        self.region
    }

    /// The first part of the memory.
    pub fn page(&self) -> &'static Page {
        self.region.page()
    }

    /// Opens a packet; false when none is free.
    pub fn open(&mut self) -> bool {
        let free = |index: &usize| {
            self.region
                .slot(*index)
                .is_some_and(|slot| slot.pass(owner::FREE, owner::RANK))
        };
        let Some(slot) = (0..self.region.packets())
            .find(free)
            .and_then(|index| self.region.slot(index))
        else {
            return false;
        };
        let status = self.status();
        let sequence = status.packets.load(Ordering::Relaxed);
        slot.sequence.store(0, Ordering::Release);
        fence(Ordering::Release);
        slot.location
            .store(u32::from(self.thread), Ordering::Relaxed);
        slot.committed.store(0, Ordering::Relaxed);
        slot.taken.store(0, Ordering::Relaxed);
        slot.records.store(0, Ordering::Relaxed);
        slot.first_time.store(self.time, Ordering::Relaxed);
        slot.next_request
            .store(self.encoder.next_request(), Ordering::Relaxed);
        self.encoder.restart(self.time);
        self.slot = Some(slot);
        self.written = 0;
        self.records = 0;
        status.packets.store(sequence + 1, Ordering::Relaxed);
        slot.sequence.store(sequence + 1, Ordering::Release);
        true
    }

    /// Writes a call into the open packet. Its end must not be before the previous one's.
    pub fn call(&mut self, call: &Call, parts: &[Part]) {
        let slot = self.slot.expect("an open packet");
        let mut bytes = Vec::new();
        write(&mut self.encoder, Some(call), parts, &mut bytes);
        assert!(self.written + bytes.len() <= PAYLOAD_BYTES);
        if !std::mem::take(&mut self.is_in_call) {
            self.count();
        }
        // SAFETY: the bytes lie inside the payload, behind what is committed, which is the writer's
        // alone.
        unsafe {
            let to = slot.payload.get().cast::<u8>().add(self.written);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        self.written += bytes.len();
        self.records += 1;
        self.time = call.end;
        slot.records.store(self.records, Ordering::Relaxed);
        slot.committed.store(self.written as u32, Ordering::Release);
    }

    /// Writes further parts of the last call into the open packet.
    pub fn more(&mut self, parts: &[Part]) {
        let slot = self.slot.expect("an open packet");
        let mut bytes = Vec::new();
        write(&mut self.encoder, None, parts, &mut bytes);
        assert!(self.written + bytes.len() <= PAYLOAD_BYTES);
        // SAFETY: as in `call`.
        unsafe {
            let to = slot.payload.get().cast::<u8>().add(self.written);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        self.written += bytes.len();
        slot.committed.store(self.written as u32, Ordering::Release);
    }

    /// Puts a definition into the ring, which the test does not fill.
    pub fn define(&mut self, definition: &Definition<'_>) {
        let mut bytes = [0u8; 512];
        let length = definition.encode(&mut bytes).expect("room");
        let entry = [&(length as u16).to_le_bytes()[..], &bytes[..length]].concat();
        let ring = &self.page().ring;
        let head = ring.head.load(Ordering::Relaxed);
        for (at, byte) in entry.iter().enumerate() {
            let at = (head as usize + at) % RING_BYTES;
            // SAFETY: inside the ring, and the bytes from head on are the writer's until it moves.
            unsafe { ring.bytes[at].get().write(*byte) };
        }
        ring.head
            .store(head + entry.len() as u64, Ordering::Release);
    }

    /// Another thread has the location now: says so in the open packet and on the page.
    pub fn occupy(&mut self, occupant: u32, tid: u32) {
        let slot = self.slot.expect("an open packet");
        let mut bytes = Vec::new();
        write_occupant(&mut self.encoder, occupant, &mut bytes);
        // SAFETY: as in `call`.
        unsafe {
            let to = slot.payload.get().cast::<u8>().add(self.written);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        self.written += bytes.len();
        self.page().occupants[usize::from(self.thread)].store(occupant, Ordering::Relaxed);
        self.status().tid.store(tid, Ordering::Release);
        slot.committed.store(self.written as u32, Ordering::Release);
    }

    /// Enters a call, which its record then ends.
    pub fn enter(&mut self, region: u16, begin: u64) {
        let status = self.status();
        status.inside.store(inside::MPI, Ordering::Relaxed);
        status.region.store(u32::from(region), Ordering::Relaxed);
        status.entered_at.store(begin, Ordering::Relaxed);
        self.count();
        self.is_in_call = true;
    }

    /// Is back in the application.
    pub fn resume(&self) {
        self.status()
            .inside
            .store(inside::APPLICATION, Ordering::Release);
    }

    /// The location's status page.
    pub fn status(&self) -> &'static Status {
        &self.page().status[usize::from(self.thread)]
    }

    fn count(&mut self) {
        self.entered += 1;
        self.status().entered.store(self.entered, Ordering::Release);
    }

    /// Leaves the open packet for the place.
    pub fn leave(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.page().left_packets.fetch_add(1, Ordering::Relaxed);
            slot.pass(owner::RANK, owner::PLACE);
        }
    }

    /// Closes the open packet as one on its way over MPI, and gives the message.
    pub fn send(&mut self) -> Vec<u8> {
        let slot = self.slot.take().expect("an open packet");
        // SAFETY: as much was committed, and nobody writes it any more.
        let payload =
            unsafe { std::slice::from_raw_parts(slot.payload.get().cast::<u8>(), self.written) }
                .to_vec();
        let header = Header {
            location: LocationId {
                rank: Rank(self.page().rank.load(Ordering::Relaxed)),
                thread: self.thread,
            },
            sequence: slot.sequence.load(Ordering::Relaxed) - 1,
            records: self.records,
            first_time: slot.first_time.load(Ordering::Relaxed),
            last_time: self.time,
            next_request: slot.next_request.load(Ordering::Relaxed),
            losses: Losses {
                entered: self.entered,
                dropped: [0; 3],
            },
            ..Header::default()
        };
        let mut head = [0; HEADER_BYTES];
        header.encode(&payload, &mut head);
        slot.pass(owner::RANK, owner::MPI);
        self.sending.push(slot);
        let message = [&head[..], &payload].concat();
        assert!(message.len() <= PACKET_BYTES);
        message
    }

    /// The oldest send is complete.
    pub fn sent(&mut self) {
        if !self.sending.is_empty() {
            self.sending.remove(0).pass(owner::MPI, owner::FREE);
        }
    }
}
