//! The one allocation of a buffer, its bins and the list of free ones.

use crate::event::EVENT_CLASSES;
use crate::geometry::Geometry;
use alloc::vec;
use alloc::vec::Vec;

/// Fills memory that holds no records: no token, so that reading too far is an error and never an
/// event. Not zero, so that every page is really there before the first record comes.
const FILLER: u8 = 0x7f;

/// A bin of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BinId(u32);

/// What is known of a bin without reading it; up to date when the bin is closed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BinInfo {
    /// The next newer bin of the same level, or the next free one.
    pub next: Option<BinId>,
    /// Bytes in use, the head included.
    pub used: u32,
    /// Records that begin in the bin, by class.
    pub counts: [u32; EVENT_CLASSES],
    /// The end of the first of these records.
    pub first_end: u64,
    /// The end of the last one.
    pub last_end: u64,
    /// How many bins had been taken when this one was.
    pub serial: u64,
    /// The number of the last frozen view that has read it, from 1.
    pub read_by: u32,
    /// No level has it any more; a frozen view will give it back.
    pub detached: bool,
}

const _: () = assert!(size_of::<BinInfo>() == 64);

/// Memory of fixed size, cut into bins.
#[derive(Debug)]
pub(crate) struct Arena {
    geometry: Geometry,
    bytes: Vec<u8>,
    info: Vec<BinInfo>,
    free: Option<BinId>,
    free_bins: u32,
    taken: u64,
}

impl Arena {
    pub fn new(geometry: Geometry) -> Self {
        // At first every bin is in the free list, in order.
        let info = (1..=geometry.bins)
            .map(|next| BinInfo {
                next: (next < geometry.bins).then_some(BinId(next)),
                ..BinInfo::default()
            })
            .collect();
        Arena {
            geometry,
            // Not zeros: `vec![0; n]` would be mapped lazily, and pages would fault while the
            // application runs.
            bytes: vec![FILLER; geometry.arena_bytes()],
            info,
            free: (geometry.bins > 0).then_some(BinId(0)),
            free_bins: geometry.bins,
            taken: 0,
        }
    }

    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Bytes allocated for records.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub fn free_bins(&self) -> u32 {
        self.free_bins
    }

    /// How many bins have been taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// A free bin, no longer free, its info blank.
    pub fn take(&mut self) -> Option<BinId> {
        let bin = self.free?;
        self.free = self.info(bin).next;
        self.free_bins -= 1;
        // The serial tells bins of a frozen view (taken before it) from later ones.
        *self.info_mut(bin) = BinInfo {
            serial: self.taken,
            ..BinInfo::default()
        };
        self.taken += 1;
        Some(bin)
    }

    /// Gives one bin back.
    pub fn give(&mut self, bin: BinId) {
        self.give_chain(bin, bin, 1);
    }

    /// Gives the `bins` bins from `oldest` to `newest` back, whatever their number, at the cost of
    /// one.
    pub fn give_chain(&mut self, oldest: BinId, newest: BinId, bins: u32) {
        // The chain's own links stay as they are: only its end is joined to the free list.
        self.info_mut(newest).next = self.free;
        self.free = Some(oldest);
        self.free_bins += bins;
    }

    #[inline(always)]
    pub fn info(&self, bin: BinId) -> &BinInfo {
        &self.info[bin.0 as usize]
    }

    #[inline(always)]
    pub fn info_mut(&mut self, bin: BinId) -> &mut BinInfo {
        &mut self.info[bin.0 as usize]
    }

    /// The whole memory of a bin.
    #[inline(always)]
    pub fn bin_mut(&mut self, bin: BinId) -> &mut [u8] {
        let start = bin.0 as usize * self.geometry.bin_bytes;
        &mut self.bytes[start..start + self.geometry.bin_bytes]
    }

    /// The first `used` bytes of a bin.
    pub fn written(&self, bin: BinId, used: u32) -> &[u8] {
        let start = bin.0 as usize * self.geometry.bin_bytes;
        &self.bytes[start..start + used as usize]
    }
}
