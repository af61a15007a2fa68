//! A rank's mapped memory: made by one process, looked at by others, which take nothing in it on
//! trust.

use super::{
    MAGIC, PACKETS_MAX, PAGE_BYTES, Page, SLOT_BYTES, SlotHeader, VERSION, recording, region_bytes,
};
use core::sync::atomic::Ordering;

/// A rank's mapped memory, seen by any of its users.
#[derive(Clone, Copy)]
pub struct Region {
    base: *const u8,
    packets: usize,
}

// SAFETY: the region is shared memory made of atomics and guarded cells; see `Sync` of its parts.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

/// Why memory is no rank's region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionError {
    /// Fewer bytes than the first part has, or than its packets need.
    Short,
    /// Not ours.
    Magic,
    /// Of another release.
    Version(u32),
    /// A pool of no packets, or of too many.
    Packets(u32),
}

impl core::fmt::Display for RegionError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            RegionError::Short => f.write_str("shared memory is shorter than its own header says"),
            RegionError::Magic => f.write_str("shared memory is not a rank's (wrong magic number)"),
            RegionError::Version(v) => {
                write!(
                    f,
                    "shared memory has layout {v}, this program knows {VERSION}"
                )
            }
            RegionError::Packets(n) => write!(
                f,
                "shared memory says {n} packets, allowed are 2 to {PACKETS_MAX}"
            ),
        }
    }
}

impl core::error::Error for RegionError {}

impl Region {
    /// Writes the identity into zeroed memory.
    ///
    /// # Safety
    /// `base` must point at `region_bytes(packets)` zeroed, writable, page-aligned bytes that stay
    /// mapped as long as the region is used, and `packets` must lie in `2..=PACKETS_MAX`.
    pub unsafe fn create(
        base: *mut u8,
        packets: usize,
        rank: u32,
        ranks: u32,
        place: u32,
    ) -> Region {
        let region = Region { base, packets };
        let page = region.page();
        page.version.store(VERSION, Ordering::Relaxed);
        page.packets.store(packets as u32, Ordering::Relaxed);
        page.rank.store(rank, Ordering::Relaxed);
        page.ranks.store(ranks, Ordering::Relaxed);
        page.place.store(place, Ordering::Relaxed);
        page.control
            .recording
            .store(recording::word(0, true), Ordering::Relaxed);
        // Last, with release order: who sees the magic number sees all of the identity.
        page.magic.store(MAGIC, Ordering::Release);
        region
    }

    /// Looks at mapped memory that somebody else made.
    ///
    /// # Errors
    /// What is wrong with it.
    ///
    /// # Safety
    /// `base` must point at `bytes` page-aligned bytes of a shared mapping that is writable and
    /// stays mapped as long as the region is used.
    pub unsafe fn attach(base: *mut u8, bytes: usize) -> Result<Region, RegionError> {
        if bytes < PAGE_BYTES {
            return Err(RegionError::Short);
        }
        let region = Region { base, packets: 0 };
        let page = region.page();
        if page.magic.load(Ordering::Acquire) != MAGIC {
            return Err(RegionError::Magic);
        }

        let version = page.version.load(Ordering::Relaxed);
        if version != VERSION {
            return Err(RegionError::Version(version));
        }

        let packets = page.packets.load(Ordering::Relaxed);
        // One open packet and one on its way are the least with which a rank can go on.
        if !(2..=PACKETS_MAX).contains(&(packets as usize)) {
            return Err(RegionError::Packets(packets));
        }

        // The count comes from the memory itself, so the mapping must really have room for it.
        if bytes < region_bytes(packets as usize) {
            return Err(RegionError::Short);
        }
        Ok(Region {
            base,
            packets: packets as usize,
        })
    }

    /// The first part.
    #[inline(always)]
    pub fn page(&self) -> &'static Page {
        // SAFETY: `create` and `attach` ask for at least PAGE_BYTES aligned bytes that outlive the
        // region's use; Page is atomics and guarded cells, for which any bit pattern is valid.
        unsafe { &*self.base.cast::<Page>() }
    }

    /// Packets in the pool.
    #[inline(always)]
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Packet slot `index`, or nothing where there is none.
    #[inline(always)]
    pub fn slot(&self, index: usize) -> Option<&'static SlotHeader> {
        if index >= self.packets {
            return None;
        }
        // SAFETY: `index` is below the number of slots that the mapping has room for; alignment
        // follows from PAGE_BYTES and SLOT_BYTES being multiples of 64.
        Some(unsafe {
            &*self
                .base
                .add(PAGE_BYTES + index * SLOT_BYTES)
                .cast::<SlotHeader>()
        })
    }
}
