//! Reads the time: the node's ticks for records, nanoseconds for bounds of waits.

use core::sync::atomic::{AtomicU8, Ordering};
#[cfg(feature = "test-hooks")]
use invivo_proto::clock::skew::{here, tsc};
#[cfg(not(feature = "test-hooks"))]
use invivo_proto::clock::tsc;
use invivo_proto::clock::{ClockKind, kind};

static KIND: AtomicU8 = AtomicU8::new(0);
const TSC: u8 = 1;
const MONOTONIC: u8 = 2;

/// Now, in the node's ticks.
#[inline(always)]
pub fn ticks() -> u64 {
    // The counter first: nearly all machines have a usable one.
    if KIND.load(Ordering::Relaxed) == TSC {
        tsc()
    } else {
        other_ticks()
    }
}

/// Now, by the other clock, or before it was decided which.
#[cold]
#[inline(never)]
fn other_ticks() -> u64 {
    if KIND.load(Ordering::Relaxed) == MONOTONIC {
        return monotonic_ns();
    }
    // Threads that come here at once decide alike, so that no order is needed.
    KIND.store(
        if kind() == ClockKind::Tsc {
            TSC
        } else {
            MONOTONIC
        },
        Ordering::Relaxed,
    );
    ticks()
}

/// `CLOCK_MONOTONIC` in ns.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is ours to write; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    #[cfg(feature = "test-hooks")]
    let ns = here().ns(ns);
    ns
}

/// Sleeps for so many microseconds, or until a signal comes. No point of cancellation, which the
/// function of the C library is.
pub fn sleep_us(us: u64) {
    let time = libc::timespec {
        tv_sec: (us / 1_000_000) as i64,
        tv_nsec: (us % 1_000_000 * 1000) as i64,
    };
    // SAFETY: `time` is valid; no remainder is asked for.
    unsafe {
        libc::syscall(
            libc::SYS_nanosleep,
            &raw const time,
            core::ptr::null_mut::<libc::timespec>(),
        )
    };
}
