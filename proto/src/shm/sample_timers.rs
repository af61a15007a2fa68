//! Samples that timers in a rank take: what is asked of the rank, and how what it takes lies in its
//! own memory.
//!
//! Whoever samples writes an order here and then [`super::Control::errand`]; the rank carries it
//! out when a call of MPI returns, or in the handler of a timer that is set already.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Threads that timers can be set for.
pub const TIMER_THREADS_MAX: usize = 256;
/// Samples in the rank's memory: a new one takes the place of the oldest.
pub const TIMER_SAMPLES: usize = 256;
/// Bytes of the stack that a sample has.
pub const TIMER_STACK_BYTES: usize = 8192;

/// What is asked of the rank, and what has come of it.
#[repr(C, align(64))]
pub struct SampleTimers {
    /// The number of the last order. Written behind the rest of it.
    pub order: AtomicU32,
    /// Threads that are to be sampled: `threads[..count]`.
    pub count: AtomicU32,
    /// Time on a processor from one sample to the next, in ns; 0 for no samples.
    pub period_ns: AtomicU64,
    /// `CLOCK_MONOTONIC` in ns: behind it the rank deletes its timers. Whoever wants samples pushes
    /// it on, so that they end with him.
    pub until_ns: AtomicU64,
    /// The order that the rank has carried out last. Written behind what came of it.
    pub done: AtomicU32,
    /// See [`timer_refusal`].
    pub refusal: AtomicU32,
    /// The address in the rank's memory of [`TIMER_SAMPLES`] times a [`TimerSample`]; 0 before the
    /// first order.
    pub samples_at: AtomicU64,
    /// Samples begun so far: they are numbered from 0.
    pub begun: AtomicU64,
    /// Time spent in handlers, in ns.
    pub handler_ns: AtomicU64,
    /// The kernel's ids of these threads.
    pub threads: [AtomicU32; TIMER_THREADS_MAX],
}

/// Why there are no samples.
pub mod timer_refusal {
    /// There are.
    pub const NONE: u32 = 0;
    /// The program handles the signal itself, or ignores it.
    pub const SIGNAL_IN_USE: u32 = 1;
    /// There is no memory.
    pub const NO_ROOM: u32 = 2;
    /// The kernel gives no timers, or not so many.
    pub const NO_TIMERS: u32 = 3;
}

/// A sample, at the place of its number modulo [`TIMER_SAMPLES`].
#[repr(C, align(64))]
pub struct TimerSample {
    /// Twice its number plus 2; less by 1 while it is written.
    pub state: AtomicU64,
    /// When it was taken, by `CLOCK_MONOTONIC` in ns.
    pub time_ns: AtomicU64,
    /// The thread.
    pub tid: AtomicU32,
    /// Samples of this thread that would have been before it: its signal was late by so many.
    pub missed: AtomicU32,
    /// Where it was.
    pub code: AtomicU64,
    /// Its stack pointer.
    pub stack: AtomicU64,
    /// Its frame register.
    pub frame: AtomicU64,
    /// So many bytes of the stack are there.
    pub copied: AtomicU64,
    /// The end of its stack, from the stack pointer on.
    pub bytes: UnsafeCell<[u8; TIMER_STACK_BYTES]>,
}

// SAFETY: the bytes are written by the thread that has made `state` odd, through raw pointers, and
// read only as copies.
unsafe impl Sync for TimerSample {}

const _: () = {
    // Read as one word.
    assert!(
        core::mem::offset_of!(TimerSample, missed) == core::mem::offset_of!(TimerSample, tid) + 4
    );
    assert!(size_of::<TimerSample>().is_multiple_of(64));
};

/// Bytes of a [`TimerSample`] before those of the stack.
pub const TIMER_SAMPLE_HEAD: usize = core::mem::offset_of!(TimerSample, bytes);
