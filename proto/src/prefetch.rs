//! Asks the processor to fetch memory that is wanted soon, so that nobody waits for it then.

/// Asks for the cache line in which `of` begins. It changes nothing but the time that a later look
/// takes; on processors for which the standard library has no such function it does nothing.
#[inline(always)]
pub fn soon<T>(of: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it needs SSE, which every processor of this architecture has. A prefetch faults
        // nowhere, and here the address is even that of a value.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(of).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = of;
}
