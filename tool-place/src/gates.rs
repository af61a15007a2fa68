//! Writes the pause gate and the recording switch into a rank's shared memory.
//!
//! [`seen_by_all`] is the memory barrier between closing a gate and stopping the rank.

use crate::memory::Memory;
use invivo_proto::shm::{OFF_WORDS, recording};
use rustix::thread::futex;
use rustix::thread::{MembarrierCommand, membarrier};
use std::sync::atomic::Ordering;

/// Closes a gate until then. To be followed by [`seen_by_all`].
pub fn close(memory: &Memory, generation: u32, until_ns: u64) {
    let control = &memory.page().control;
    // The time first: whoever reads the gate as closed must not find the time of an earlier
    // closing, which would open it at once.
    control.gate_until_ns.store(until_ns, Ordering::Release);
    control.gate.store(generation, Ordering::SeqCst);
}

/// Lets a closed gate stay closed until then.
pub fn push(memory: &Memory, until_ns: u64) {
    memory
        .page()
        .control
        .gate_until_ns
        .store(until_ns, Ordering::Release);
}

/// Opens a gate and wakes the threads that wait at it.
pub fn open(memory: &Memory) {
    let gate = &memory.page().control.gate;
    gate.store(0, Ordering::SeqCst);
    // Not FUTEX_PRIVATE: the waiters are in another process. Should the call fail, they read the
    // gate again by themselves.
    let _ = futex::wake(gate, futex::Flags::empty(), u32::MAX >> 1);
}

/// After this, a thread of a rank that reads its gate as open has its flag "in MPI" visible to us.
/// The rank registered for the barrier and so needs no fence of its own. Where the kernel has no
/// such barrier, stopping the process, which passes through the kernel, has the same effect a
/// little later.
pub fn seen_by_all() {
    let _ = membarrier(MembarrierCommand::GlobalExpedited);
}

/// Switches recording on or off. `now_ticks` is now: a call that is under way at a switching on
/// begins for the rank right before it, and so is seen to lie across any cut from here on.
pub fn switch(memory: &Memory, on: bool, epoch: u32, now_ticks: u64) {
    let control = &memory.page().control;
    if on && !recording::is_on(control.recording.load(Ordering::Relaxed)) {
        control
            .recording_since
            .store(now_ticks.saturating_sub(1), Ordering::Release);
    }
    // Last, with release order: whoever reads that recording is on also reads since when. The rank
    // writes its own part at any time.
    let switched = |before| Some(recording::by_place(before, epoch, on));
    let _ = control
        .recording
        .fetch_update(Ordering::Release, Ordering::Relaxed, switched);
}

/// Tells a rank what it does not record: a bit for each function and region.
pub fn select(memory: &Memory, off: &[u64; OFF_WORDS]) {
    let control = &memory.page().control;
    for (word, off) in control.off.words.iter().zip(off) {
        // The look first: the rank reads the line at its calls.
        if word.load(Ordering::Relaxed) != *off {
            // Before the first change: an end without its begin is no mistake from there on.
            control.has_selection.store(1, Ordering::Relaxed);
            word.store(*off, Ordering::Relaxed);
        }
    }
}

/// Whether the gate is closed, and has not opened by itself.
pub fn is_closed(memory: &Memory, now_ns: u64) -> bool {
    let control = &memory.page().control;
    control.gate.load(Ordering::Acquire) != 0
        && now_ns < control.gate_until_ns.load(Ordering::Acquire)
}
