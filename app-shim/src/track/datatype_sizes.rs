//! Remembers sizes of datatypes per thread: one is needed for every message.

use crate::family::{Datatype, SUCCESS};
use crate::limits::DATATYPE_SIZES as SLOTS;
use crate::resolve::pmpi;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

/// Counts freed datatypes: a handle may then mean another type.
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// A small direct-mapped cache of sizes, by the datatype's handle.
pub struct DatatypeSizes {
    generation: u32,
    slots: [(u64, u64); SLOTS],
}

/// Forgets all sizes, on all threads: a datatype was freed.
pub fn forget() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

impl DatatypeSizes {
    pub fn new() -> Self {
        DatatypeSizes {
            generation: 0,
            slots: [(0, 0); SLOTS],
        }
    }

    /// Bytes of one element; 0 where MPI does not say.
    #[inline(always)]
    pub fn get(&mut self, datatype: Datatype) -> u64 {
        let generation = GENERATION.load(Ordering::Relaxed);
        // Any handle may mean another type now: only MPI knows which was freed.
        if generation != self.generation {
            self.begin(generation);
        }
        // The top bits of the product mix all bits of the handle: handles that are addresses differ
        // in the middle ones alone.
        let bits = datatype.bits();
        let slot = (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize % SLOTS;
        if self.slots[slot].0 == bits {
            return self.slots[slot].1;
        }
        self.learn(datatype, slot)
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, generation: u32) {
        *self = DatatypeSizes::new();
        self.generation = generation;
    }

    /// Asks MPI for a size, and keeps it in that slot.
    #[cold]
    #[inline(never)]
    fn learn(&mut self, datatype: Datatype, slot: usize) -> u64 {
        let size = ask(datatype);
        self.slots[slot % SLOTS] = (datatype.bits(), size);
        size
    }
}

fn ask(datatype: Datatype) -> u64 {
    let mut size: c_int = 0;
    // SAFETY: the application just used this datatype in a successful call.
    let result = unsafe { pmpi::type_size(datatype, &mut size) };
    // A size that does not fit into an int is MPI_UNDEFINED, below 0.
    if result == SUCCESS {
        u64::try_from(size).unwrap_or(0)
    } else {
        0
    }
}
