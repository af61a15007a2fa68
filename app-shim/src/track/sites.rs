//! Call sites: numbers the places in the program that wrappers are called from.
//!
//! A call looks its return address up in a table of the whole process, which is read without a
//! lock: one load and one comparison where the address was met before. A new one is given the next
//! number, and the place is told which file and address that is, before the record that has it.
//!
//! Of a call that comes through the MPI library's own layer (Fortran's) the return address lies in
//! that layer. The table then says how far behind it the return address of the layer's own caller
//! is: how large the layer's frame is at this call, by its unwinding tables. Where these do not
//! tell it by the stack pointer alone, the site lies in the library.
//!
//! Addresses of a file that is unloaded stay in the table: what is loaded in its place later counts
//! as it.

use super::definitions::define;
use super::files;
use crate::limits::{LAYER_FRAMES_MAX, RETURN_ADDRESSES_MAX, SITE_SLOT_BITS};
use crate::resolve::modules::{self, Module};
use crate::spin_lock::SpinLock;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use invivo_proto::definition::{Definition, SITES_MAX};
use invivo_proto::ids::SiteId;
use invivo_proto::record::Words;

const SLOTS: usize = 1 << SITE_SLOT_BITS;
/// What a slot says from here on is the size of a frame; below, the number of a site.
const FRAME: u32 = 1 << 16;

/// Where a return address leads.
#[repr(C, align(16))]
struct Slot {
    /// 0 of an empty slot. Written last.
    address: AtomicUsize,
    what: AtomicU32,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot {
        address: AtomicUsize::new(0),
        what: AtomicU32::new(0),
    }
}; SLOTS];

/// Where nobody's return address lies.
static NOWHERE: usize = 0;

/// Who called a wrapper: where its return address lies on the stack, which stays there until the
/// wrapper returns.
#[derive(Clone, Copy)]
pub struct Caller(*const usize);

impl Caller {
    /// A caller that is not known.
    pub const NONE: Caller = Caller(&raw const NOWHERE);

    /// By what a wrapper's entry hands to it: the stack pointer as it was then, as the bits of a
    /// floating-point number.
    ///
    /// # Safety
    /// The wrapper has not returned when the caller is looked at.
    #[inline(always)]
    pub unsafe fn of(stack: f64) -> Caller {
        if cfg!(target_arch = "x86_64") {
            Caller(stack.to_bits() as usize as *const usize)
        } else {
            Caller::NONE
        }
    }
}

/// What the table knows of a return address.
#[derive(Clone, Copy)]
enum Known {
    Site(SiteId),
    /// It is in the MPI library; so many bytes behind it lies that of its caller.
    Frame(usize),
}

impl Known {
    fn of(what: u32) -> Known {
        match what.checked_sub(FRAME) {
            None => Known::Site(SiteId(what as u16)),
            Some(bytes) => Known::Frame(bytes as usize),
        }
    }

    fn what(self) -> u32 {
        match self {
            Known::Site(site) => u32::from(site.0),
            Known::Frame(bytes) => FRAME + bytes as u32,
        }
    }
}

/// Numbers given so far.
struct Numbers {
    sites: u16,
    addresses: usize,
}

static NUMBERS: SpinLock<Numbers> = SpinLock::new(Numbers {
    sites: 0,
    addresses: 0,
});
/// No more return addresses are taken into the table.
static IS_FULL: AtomicU32 = AtomicU32::new(0);

/// The slot that an address is looked for in first.
#[inline(always)]
fn slot_of(address: usize) -> usize {
    let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - SITE_SLOT_BITS)) as usize
}

/// The site of a call, as the first word of its facts has it.
#[inline(always)]
pub fn bits(caller: Caller) -> u64 {
    // SAFETY: the wrapper has not returned, so that its return address is there.
    let address = unsafe { *caller.0 };
    let slot = &TABLE[slot_of(address)];
    if slot.address.load(Ordering::Acquire) == address {
        let what = slot.what.load(Ordering::Relaxed);
        if what < FRAME {
            return Words::of_site(SiteId(what as u16));
        }
    }
    Words::of_site(look(caller.0))
}

/// The same where the address is new, has another's slot, or is one of the MPI library's.
#[cold]
#[inline(never)]
fn look(mut at: *const usize) -> SiteId {
    for _ in 0..LAYER_FRAMES_MAX {
        // SAFETY: the return address of a wrapper that has not returned, or of a function below
        // which it lies.
        let address = unsafe { *at };
        if address == 0 {
            return SiteId::NONE;
        }
        match find(address).unwrap_or_else(|| meet(address)) {
            Known::Site(site) => return site,
            Known::Frame(bytes) => at = at.wrapping_byte_add(bytes),
        }
    }
    SiteId::NONE
}

/// What the table knows of an address.
fn find(address: usize) -> Option<Known> {
    let first = slot_of(address);
    for next in 0..SLOTS {
        let slot = TABLE.get((first + next) % SLOTS)?;
        match slot.address.load(Ordering::Acquire) {
            0 => return None,
            here if here == address => {
                return Some(Known::of(slot.what.load(Ordering::Relaxed)));
            }
            _ => {}
        }
    }
    None
}

/// Takes a new address into the table.
#[cold]
#[inline(never)]
fn meet(address: usize) -> Known {
    let others = Known::Site(SiteId::OTHERS);
    if IS_FULL.load(Ordering::Relaxed) != 0 {
        return others;
    }
    // Not under our lock: the loader has one of its own, and a thread that has it may be here.
    let module = modules::of(address);
    let layer = module.as_ref().filter(|module| module.is_mpi());
    let frame = layer.and_then(|layer| layer.frame_bytes(address));
    NUMBERS.with(|numbers| {
        // Another thread may have met it meanwhile.
        if let Some(known) = find(address) {
            return known;
        }
        if numbers.sites >= SITES_MAX || numbers.addresses >= RETURN_ADDRESSES_MAX {
            IS_FULL.store(1, Ordering::Relaxed);
            return others;
        }
        numbers.addresses += 1;
        let known = match frame {
            // From the return address of the wrapper on.
            Some(bytes) => Known::Frame(bytes + size_of::<usize>()),
            None => numbers.site(address, module.as_ref()),
        };
        put(address, known.what());
        known
    })
}

/// Puts an address into the first empty slot from its own on.
fn put(address: usize, what: u32) {
    let first = slot_of(address);
    let slots = (0..SLOTS).filter_map(|next| TABLE.get((first + next) % SLOTS));
    let mut empty = slots.filter(|slot| slot.address.load(Ordering::Relaxed) == 0);
    if let Some(slot) = empty.next() {
        slot.what.store(what, Ordering::Relaxed);
        slot.address.store(address, Ordering::Release);
    }
}

impl Numbers {
    /// Gives a site the next number, and tells the place where it is.
    fn site(&mut self, address: usize, module: Option<&Module>) -> Known {
        self.sites += 1;
        let site = SiteId(self.sites);
        let number = module.map_or(0, files::number);
        // Within the call: what stands behind it may belong to another line.
        let bias = module.map_or(0, |module| module.bias);
        define(&Definition::Site {
            site,
            module: number,
            offset: address.wrapping_sub(1).wrapping_sub(bias) as u64,
        });
        Known::Site(site)
    }
}
