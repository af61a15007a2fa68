//! The open packet of a thread: the slot of the pool that its records are written into.

use core::sync::atomic::Ordering;
use invivo_proto::packet::PAYLOAD_BYTES;
use invivo_proto::record::MAX_CALL_BYTES;
use invivo_proto::shm::SlotHeader;

/// An open packet, or none.
#[repr(C)]
pub struct OpenPacket {
    /// The first byte behind what is written.
    out: *mut u8,
    /// The last address at which there is room for a call; 0 where there is no packet.
    limit: usize,
    slot: Option<&'static SlotHeader>,
    /// Payload bytes of the packet that was taken last.
    written: usize,
    /// The slot's number in the pool, also of the packet that was closed last.
    slot_index: usize,
}

impl OpenPacket {
    pub const fn none() -> OpenPacket {
        OpenPacket {
            // Behind the limit.
            out: core::ptr::dangling_mut(),
            limit: 0,
            slot: None,
            written: 0,
            slot_index: 0,
        }
    }

    /// Begins to write into `slot`, which the caller owns.
    pub fn open(&mut self, slot: &'static SlotHeader, slot_index: usize) {
        self.out = first(slot);
        self.limit = self.out as usize + PAYLOAD_BYTES - MAX_CALL_BYTES;
        self.slot = Some(slot);
        self.slot_index = slot_index;
    }

    /// Takes the slot, if there is one; [`OpenPacket::written`] remains that of its packet.
    pub fn take(&mut self) -> Option<&'static SlotHeader> {
        let slot = self.slot.take()?;
        self.written = self.out as usize - first(slot) as usize;
        self.limit = 0;
        Some(slot)
    }

    /// Whether there is one.
    pub fn is_open(&self) -> bool {
        self.slot.is_some()
    }

    /// See [`OpenPacket::slot_index`].
    pub fn slot_index(&self) -> usize {
        self.slot_index
    }

    /// Payload bytes of the packet that was taken last.
    pub fn written(&self) -> usize {
        self.written
    }

    /// Whether there is room for a call with parts of so many bytes.
    #[inline(always)]
    pub fn has_room(&self, parts: usize) -> bool {
        self.out as usize + parts <= self.limit
    }

    /// Where the next record is to be written.
    #[inline(always)]
    pub fn out(&self) -> *mut u8 {
        self.out
    }

    /// Lets the place see what is written before `out`, of `records` calls more than before.
    #[inline(always)]
    pub fn commit(&mut self, out: *mut u8, records: u32) {
        self.out = out;
        if let Some(slot) = self.slot {
            // Only this thread writes it: no atomic addition.
            let records = slot.records.load(Ordering::Relaxed).wrapping_add(records);
            slot.records.store(records, Ordering::Relaxed);
            // The release order makes the bytes visible before their count.
            let written = (out as usize).wrapping_sub(first(slot) as usize);
            slot.committed.store(written as u32, Ordering::Release);
        }
    }
}

/// The first byte of a slot's payload.
#[inline(always)]
fn first(slot: &SlotHeader) -> *mut u8 {
    slot.payload.get().cast()
}
