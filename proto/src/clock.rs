//! Chooses the clock of a node's ticks, with which ranks stamp records and by which places read
//! them.
//!
//! Both decide by the same rule, so that they agree without a message.

pub mod skew;
pub mod thinning;

use core::sync::atomic::{AtomicU8, Ordering};

/// The node's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// The processor's time stamp counter: constant, does not stop in idle states, same on all
    /// cores.
    Tsc,
    /// `CLOCK_MONOTONIC` in ns, where the counter is not to be trusted.
    Monotonic,
}

/// What [`kind`] has found out; [`UNKNOWN`] until it was called.
static KIND: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const TSC: u8 = 1;
const MONOTONIC: u8 = 2;

/// The clock of this node. The processor is asked once per process: in a virtual machine CPUID
/// traps, which takes microseconds, and callers ask at every reading of the clock.
#[inline]
pub fn kind() -> ClockKind {
    match KIND.load(Ordering::Relaxed) {
        TSC => ClockKind::Tsc,
        MONOTONIC => ClockKind::Monotonic,
        _ => ask(),
    }
}

#[cold]
fn ask() -> ClockKind {
    let is_invariant = counter_is_invariant();
    // Threads that come here at once find out the same, so that no order is needed.
    KIND.store(
        if is_invariant { TSC } else { MONOTONIC },
        Ordering::Relaxed,
    );
    if is_invariant {
        ClockKind::Tsc
    } else {
        ClockKind::Monotonic
    }
}

/// Whether the processor calls its counter invariant (CPUID 8000_0007h, EDX bit 8).
fn counter_is_invariant() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid;
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Reads the counter. Only meaningful where [`kind`] says [`ClockKind::Tsc`]; elsewhere 0.
#[inline(always)]
pub fn tsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has RDTSC, and user code may use it unless the kernel
        // forbids it, in which case the whole system's clock would not work either.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        0
    }
}
