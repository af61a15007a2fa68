//! The open packet of a thread: the slot of the pool that its records are written into.

use core::sync::atomic::Ordering;
use invivo_proto::packet::PAYLOAD_BYTES;
use invivo_proto::shm::SlotHeader;

/// An open packet, or none.
pub struct OpenPacket {
    slot: Option<&'static SlotHeader>,
    /// The slot's number in the pool, also of the packet that was closed last.
    slot_index: usize,
    /// The first byte of the payload.
    base: *mut u8,
    /// The first byte behind what is written.
    out: *mut u8,
    records: u32,
}

impl OpenPacket {
    pub const fn none() -> OpenPacket {
        OpenPacket {
            slot: None,
            slot_index: 0,
            base: core::ptr::null_mut(),
            out: core::ptr::null_mut(),
            records: 0,
        }
    }

    /// Begins to write into `slot`, which the caller owns.
    pub fn open(&mut self, slot: &'static SlotHeader, slot_index: usize) {
        self.base = slot.payload.get().cast();
        self.out = self.base;
        self.records = 0;
        self.slot = Some(slot);
        self.slot_index = slot_index;
    }

    /// Takes the slot, if there is one; [`OpenPacket::written`] and [`OpenPacket::records`] remain
    /// those of its packet.
    pub fn take(&mut self) -> Option<&'static SlotHeader> {
        self.slot.take()
    }

    /// See [`OpenPacket::slot_index`].
    pub fn slot_index(&self) -> usize {
        self.slot_index
    }

    /// Payload bytes written.
    #[inline(always)]
    pub fn written(&self) -> usize {
        self.out as usize - self.base as usize
    }

    /// Calls in the packet.
    pub fn records(&self) -> u32 {
        self.records
    }

    #[inline(always)]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.slot.is_some() && PAYLOAD_BYTES - self.written() >= bytes
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
        self.records += records;
        if let Some(slot) = self.slot {
            slot.records.store(self.records, Ordering::Relaxed);
            // The release order makes the bytes visible before their count.
            slot.committed
                .store(self.written() as u32, Ordering::Release);
        }
    }
}
