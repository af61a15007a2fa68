//! Numbers the program's regions: instrumented functions by their address, marked regions by their
//! name.
//!
//! Both are looked up in one table of the whole process, which is read without a lock: one load and
//! one comparison where a region was met before. A new one is given the next number, and the place
//! is told which it is, before the record that has it.
//!
//! The key of a name is its hash, with the highest bit set, which no address of a program has. That
//! two names have the same one does not happen: it has 63 bits, and there are some thousand names.

use super::definitions::define;
use super::files;
use crate::errno::keeping_errno;
use crate::limits::REGION_SLOT_BITS;
use crate::resolve::modules;
use crate::spin_lock::SpinLock;
use core::ffi::c_char;
use core::hash::Hasher;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use invivo_proto::definition::{Definition, REGION_NAME_BYTES_MAX};
use invivo_proto::ids::RegionId;
use invivo_proto::record::{REGIONS_END, REGIONS_MAX};
use rustc_hash::FxHasher;

const SLOTS: usize = 1 << REGION_SLOT_BITS;
// Some slots stay empty, so that a search ends.
const _: () = assert!(SLOTS >= 2 * REGIONS_MAX as usize);
/// Of the key of a name.
const NAMED: u64 = 1 << 63;

#[repr(C, align(16))]
struct Slot {
    /// 0 of an empty slot. Written last.
    key: AtomicU64,
    region: AtomicU32,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot {
        key: AtomicU64::new(0),
        region: AtomicU32::new(0),
    }
}; SLOTS];

/// Regions numbered so far.
static NUMBERED: SpinLock<u16> = SpinLock::new(0);
/// No more regions are numbered.
static IS_FULL: AtomicU32 = AtomicU32::new(0);

/// The slot that a key is looked for in first.
#[inline(always)]
fn slot_of(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - REGION_SLOT_BITS)) as usize
}

/// The region of the function at an address, where that is found at once.
#[inline(always)]
pub fn found_function(address: usize) -> Option<RegionId> {
    known(address as u64)
}

/// The same where it is not.
pub fn of_function(address: usize) -> RegionId {
    keeping_errno(|| meet_function(address))
}

/// A name of a region, and its key.
#[derive(Clone, Copy)]
pub struct Name<'a> {
    key: u64,
    name: &'a [u8],
}

impl Name<'_> {
    /// Nothing for null.
    ///
    /// # Safety
    /// A string of C that outlives this, or null.
    pub unsafe fn of(name: *const c_char) -> Option<Self> {
        if name.is_null() {
            return None;
        }
        // SAFETY: no byte behind the end of the string is read, nor more than so many.
        let length = unsafe { libc::strnlen(name, REGION_NAME_BYTES_MAX) };
        // SAFETY: so many bytes of the string are there.
        let name = unsafe { core::slice::from_raw_parts(name.cast::<u8>(), length) };
        // A mark costs what this does: eight bytes at a time.
        let mut hasher = FxHasher::default();
        hasher.write(name);
        let key = hasher.finish() | NAMED;
        Some(Name { key, name })
    }

    /// Its region, where that is found at once.
    pub fn found(self) -> Option<RegionId> {
        known(self.key)
    }

    /// Its region.
    pub fn region(self) -> RegionId {
        self.found()
            .unwrap_or_else(|| keeping_errno(|| meet_name(self.key, self.name)))
    }
}

/// What the first slot of a key says, where it is the key's.
#[inline(always)]
fn known(key: u64) -> Option<RegionId> {
    let slot = &TABLE[slot_of(key)];
    (slot.key.load(Ordering::Acquire) == key)
        .then(|| RegionId(slot.region.load(Ordering::Relaxed) as u16))
}

/// The same where the slot is another's.
fn find(key: u64) -> Option<RegionId> {
    let first = slot_of(key);
    for next in 0..SLOTS {
        let slot = TABLE.get((first + next) % SLOTS)?;
        match slot.key.load(Ordering::Acquire) {
            0 => return None,
            here if here == key => {
                return Some(RegionId(slot.region.load(Ordering::Relaxed) as u16));
            }
            _ => {}
        }
    }
    None
}

#[cold]
#[inline(never)]
fn meet_function(address: usize) -> RegionId {
    if let Some(region) = find(address as u64) {
        return region;
    }
    if IS_FULL.load(Ordering::Relaxed) != 0 {
        return RegionId::OTHERS;
    }
    // Not under our lock: the loader has one of its own, and a thread that has it may be here.
    let module = modules::of(address);
    let bias = module.as_ref().map_or(0, |module| module.bias);
    let number = module.as_ref().map_or(0, files::number);
    meet(address as u64, |region| {
        define(&Definition::Region {
            region,
            module: number,
            offset: address.wrapping_sub(bias) as u64,
            name: b"",
        });
    })
}

#[cold]
#[inline(never)]
fn meet_name(key: u64, name: &[u8]) -> RegionId {
    if let Some(region) = find(key) {
        return region;
    }
    // One without a name would be taken for a function.
    let name = if name.is_empty() { b"?" } else { name };
    meet(key, |region| {
        define(&Definition::Region {
            region,
            module: 0,
            offset: 0,
            name,
        });
    })
}

/// Takes a new region into the table, and defines it.
fn meet(key: u64, define: impl FnOnce(RegionId)) -> RegionId {
    NUMBERED.with(|numbered| {
        // Another thread may have met it meanwhile.
        if let Some(region) = find(key) {
            return region;
        }
        if *numbered >= REGIONS_MAX {
            IS_FULL.store(1, Ordering::Relaxed);
            return RegionId::OTHERS;
        }
        let region = RegionId(REGIONS_END + *numbered);
        *numbered += 1;
        define(region);
        put(key, region);
        region
    })
}

/// Puts a key into the first empty slot from its own on.
fn put(key: u64, region: RegionId) {
    let first = slot_of(key);
    let slots = (0..SLOTS).filter_map(|next| TABLE.get((first + next) % SLOTS));
    let mut empty = slots.filter(|slot| slot.key.load(Ordering::Relaxed) == 0);
    if let Some(slot) = empty.next() {
        slot.region.store(u32::from(region.0), Ordering::Relaxed);
        slot.key.store(key, Ordering::Release);
    }
}
