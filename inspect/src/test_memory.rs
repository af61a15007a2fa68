//! A rank's shared memory for tests: zeroed pages of this process.

use invivo_proto::shm::{PACKETS_DEFAULT, Region, region_bytes};
use std::alloc::{Layout, alloc_zeroed};

/// What pages must be aligned to.
const PAGE_BYTES: usize = 4096;

/// Fresh memory of one rank of two, which is never freed: threads may still write to it.
pub fn region() -> Region {
    let layout = Layout::from_size_align(region_bytes(PACKETS_DEFAULT), PAGE_BYTES);
    // SAFETY: the size is not zero.
    let base = unsafe { alloc_zeroed(layout.expect("a layout")) };
    assert!(!base.is_null(), "memory");
    // SAFETY: as many zeroed, aligned, writable bytes as the packets need, never freed.
    unsafe { Region::create(base.cast(), PACKETS_DEFAULT, 0, 2, 2) }
}
