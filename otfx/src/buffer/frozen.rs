//! A frozen view: what the buffer held at one moment, for a save that takes its time while writing
//! goes on.
//!
//! No byte is copied; the view's bins are not used again before it has read them or is given back.
//! A view is read record by record, or bin by bin: bins decode alone, so a save moves them as they
//! are.

use super::Buffer;
use crate::arena::BinId;
use crate::contents::{BinError, Contents};
use crate::ledger::{Ledger, Loss};
use crate::reader::Merge;
use alloc::vec::Vec;

/// A view never holds more than all but this part of the bins: the rest takes what is recorded in
/// the meantime.
const RESERVE_PART: u32 = 4;

/// A view is out already: there is one at a time, because each may hold three quarters of the bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyFrozen;

impl core::fmt::Display for AlreadyFrozen {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the buffer is frozen already")
    }
}

impl core::error::Error for AlreadyFrozen {}

/// What a buffer held when it was frozen. To be given back by [`Buffer::thaw`]; what it has not
/// read stays held.
#[derive(Debug)]
#[must_use = "its bins are held until it is given back"]
pub struct Frozen {
    merge: Merge,
    ledger: Ledger,
    losses: Vec<Loss>,
}

impl Frozen {
    /// The ledger of that moment.
    pub fn ledger(&self) -> Ledger {
        self.ledger
    }

    /// What had been lost at that moment.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// The next record, as of [`crate::Reader::next`]. Bins that were read are the buffer's again.
    ///
    /// # Errors
    /// When memory does not hold what was written: a fault of this program, or another buffer than
    /// the view's.
    pub fn next(&mut self, buffer: &mut Buffer) -> Result<Option<&Contents>, BinError> {
        // Collected first: the reader borrows the arena while it names the bins.
        let mut passed = Vec::new();
        let read = self.merge.next(&buffer.arena, |bin| passed.push(bin));
        for bin in passed {
            buffer.pass(bin);
        }
        read
    }

    /// Leaves out the bins whose records ended before `ticks`: they are the buffer's again. Of
    /// views that nothing was read of.
    pub fn skip_before(&mut self, buffer: &mut Buffer, ticks: u64) {
        let mut passed = Vec::new();
        self.merge
            .skip(&buffer.arena, ticks, |bin| passed.push(bin));
        for bin in passed {
            buffer.pass(bin);
        }
    }

    /// Appends the next bin to `into`, as it was written, and says which chain it belongs to;
    /// nothing at the end. Chains come one after the other, each from its oldest bin on:
    /// [`crate::Chains`] reads them again. A view is read so or by [`Frozen::next`], not by both.
    pub fn next_bin(&mut self, buffer: &mut Buffer, into: &mut Vec<u8>) -> Option<u32> {
        let (chain, bin) = self.merge.next_bin(&buffer.arena, into)?;
        buffer.pass(bin);
        Some(chain)
    }

    /// Bytes in the bins that are still to be read.
    pub fn bytes_left(&self, buffer: &Buffer) -> u64 {
        self.merge.bytes_left(&buffer.arena)
    }
}

impl Buffer {
    /// Freezes what is there, once a quarter of the bins is free: what is missing to that goes
    /// first, as when room is made. While the view is out, records for which neither a free bin nor
    /// one that the view has read can be found are dropped and counted.
    ///
    /// # Errors
    /// When a view is out already.
    pub fn freeze(&mut self) -> Result<Frozen, AlreadyFrozen> {
        if self.frozen_before.is_some() {
            return Err(AlreadyFrozen);
        }
        let reserve = self.arena.geometry().bins / RESERVE_PART;
        while self.arena.free_bins() < reserve {
            // Room is made as for the most valuable level: every other may give up bins.
            if self.make_room(self.sorter.rest(), false).is_err() {
                break;
            }
        }

        // After room was made: bins taken from now on are not part of the view.
        self.frozen_before = Some(self.arena.taken());
        // Number 0 stands for "never read" in a bin's info, so it is left out on wrapping.
        self.views = self.views.wrapping_add(1).max(1);
        Ok(Frozen {
            merge: Merge::new(&self.former, &self.levels),
            ledger: self.ledger(),
            losses: self.losses().collect(),
        })
    }

    /// Takes a view back.
    pub fn thaw(&mut self, frozen: Frozen) {
        // Bins that the view never read are still held.
        let mut left = Vec::new();
        frozen.merge.left(&self.arena, |bin| left.push(bin));
        for bin in left {
            self.pass(bin);
        }
        self.frozen_before = None;
    }

    /// Whether the view that is out still needs a bin.
    pub(super) fn is_frozen(&self, bin: BinId) -> bool {
        let info = self.arena.info(bin);
        // Taken before the view, and not yet read by it.
        self.frozen_before
            .is_some_and(|before| info.serial < before)
            && info.read_by != self.views
    }

    /// The view needs a bin no longer.
    fn pass(&mut self, bin: BinId) {
        let info = self.arena.info_mut(bin);
        info.read_by = self.views;
        // Its level gave it up while the view held it; nobody else would free it.
        if info.detached {
            self.arena.give(bin);
        }
    }
}
