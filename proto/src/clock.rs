//! Chooses the clock of a node's ticks, with which ranks stamp records and by which places read
//! them.
//!
//! Both decide by the same rule, so that they agree without a message.

/// The node's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// The processor's time stamp counter: constant, does not stop in idle states, same on all
    /// cores.
    Tsc,
    /// `CLOCK_MONOTONIC` in ns, where the counter is not to be trusted.
    Monotonic,
}

/// The clock of this node. The processor must call its counter invariant (CPUID 8000_0007h, EDX bit
/// 8).
pub fn kind() -> ClockKind {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid;
        let highest = __cpuid(0x8000_0000).eax;
        if highest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0 {
            return ClockKind::Tsc;
        }
    }
    ClockKind::Monotonic
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
