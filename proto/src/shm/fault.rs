//! What a thread that has met a fault leaves in the rank's page, for the supervisor to follow its
//! path while it waits.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Values of [`Fault::state`].
pub mod state {
    /// No thread has met a fault.
    pub const NONE: u32 = 0;
    /// A thread writes.
    pub const WRITTEN: u32 = 1;
    /// All is there, and the thread waits.
    pub const NOTED: u32 = 2;
    /// The supervisor has seen what it can, and no thread is to wait.
    pub const SEEN: u32 = 3;
}

/// The thread that met a fault, and where. Written by that thread, but for the last state.
#[repr(C, align(64))]
pub struct Fault {
    /// See [`state`]. A futex.
    pub state: AtomicU32,
    /// The signal; 0 for `MPI_Abort`.
    pub signal: AtomicU32,
    /// Its `si_code`.
    pub code: AtomicU32,
    /// The kernel's id of the thread.
    pub tid: AtomicU32,
    /// Its `si_addr`.
    pub address: AtomicU64,
    /// The instruction.
    pub instruction: AtomicU64,
    /// The stack pointer.
    pub stack: AtomicU64,
    /// The frame register.
    pub frame: AtomicU64,
    reserved: [u64; 2],
}

impl Fault {
    /// Whether a thread waits for the supervisor.
    pub fn is_noted(&self) -> bool {
        self.state.load(Ordering::Acquire) == state::NOTED
    }
}

const _: () = assert!(size_of::<Fault>() == 64);
