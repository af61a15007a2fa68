//! The handler of the signal of a timer: notes where the thread is, with the end of its stack, for
//! the sampler to follow.
//!
//! It takes no lock, allocates nothing and touches no memory whose place it does not know: the
//! stack is copied by the kernel, which stops where there is none.

use super::sample_timers::{delete_all, is_ours, place, run_errand};
use crate::clock::monotonic_ns;
use crate::errno::keeping_errno;
use crate::process;
use crate::registers::Registers;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;
use invivo_proto::shm::{Page, TIMER_STACK_BYTES, TimerSample};

/// Bytes of a page of the system, at which memory may end.
const PAGE: usize = 4096;

/// The beginning of what the kernel tells of a timer's signal, as its `siginfo_t` has it.
#[repr(C)]
struct TimerInfo {
    signal: c_int,
    error: c_int,
    code: c_int,
    pad: c_int,
    timer: c_int,
    /// How often it fired while its signal was pending.
    overrun: c_int,
    value: usize,
}

/// Our handler.
pub unsafe extern "C" fn on_signal(
    _signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    if info.is_null() || context.is_null() {
        return;
    }
    // SAFETY: the information that the kernel gave, which is longer.
    let info = unsafe { &*info.cast::<TimerInfo>() };
    // Another one's signal of this number would have been ignored.
    if info.code != libc::SI_TIMER || !is_ours(info.value) {
        return;
    }
    let Some(page) = process::page() else {
        return;
    };
    // SAFETY: the context that the kernel gave.
    let at = unsafe { Registers::interrupted(context) };
    let missed = u32::try_from(info.overrun).unwrap_or(0);
    keeping_errno(|| sample(page, at, missed));
}

fn sample(page: &Page, at: Registers, missed: u32) {
    let begin = monotonic_ns();
    if page.control.errand.load(Ordering::Relaxed) != 0 {
        run_errand(page, on_signal);
    }
    let timers = &page.sample_timers;
    if begin >= timers.until_ns.load(Ordering::Relaxed) {
        // Nobody is there any more who wants it.
        delete_all();
    } else if timers.period_ns.load(Ordering::Relaxed) != 0 {
        let number = timers.begun.fetch_add(1, Ordering::Relaxed);
        if let Some(place) = place(number) {
            write(place, number, begin, at, missed);
        }
    }
    let spent = monotonic_ns().saturating_sub(begin);
    timers.handler_ns.fetch_add(spent, Ordering::Relaxed);
}

/// Writes a sample, unless another thread is still writing the one whose place it would take.
fn write(place: &TimerSample, number: u64, time_ns: u64, at: Registers, missed: u32) {
    let was = place.state.load(Ordering::Relaxed);
    let writing = number.wrapping_mul(2).wrapping_add(1);
    let claimed = was.is_multiple_of(2)
        // A thread that was kept from it for a whole turn comes too late.
        && was < writing
        && place
            .state
            .compare_exchange(was, writing, Ordering::Acquire, Ordering::Relaxed)
            .is_ok();
    if !claimed {
        return;
    }
    place.time_ns.store(time_ns, Ordering::Relaxed);
    // SAFETY: gettid has no preconditions.
    let tid = unsafe { libc::gettid() };
    place.tid.store(tid as u32, Ordering::Relaxed);
    place.missed.store(missed, Ordering::Relaxed);
    place.code.store(at.instruction, Ordering::Relaxed);
    place.stack.store(at.stack, Ordering::Relaxed);
    place.frame.store(at.frame, Ordering::Relaxed);
    let copied = copy_stack(place, at.stack as usize);
    place.copied.store(copied, Ordering::Relaxed);
    place
        .state
        .store(writing.wrapping_add(1), Ordering::Release);
}

/// Copies the end of the stack, as far as there is one. The bytes that are there.
fn copy_stack(place: &TimerSample, from: usize) -> u64 {
    let part = |at: usize, bytes: usize| libc::iovec {
        iov_base: at as *mut c_void,
        iov_len: bytes,
    };
    // Page by page: of a part that is not there as a whole nothing is copied.
    let first = PAGE - from % PAGE;
    let parts = [
        part(from, first),
        part(from.wrapping_add(first), PAGE),
        part(
            from.wrapping_add(first + PAGE),
            TIMER_STACK_BYTES.saturating_sub(first + PAGE),
        ),
    ];
    let into = part(place.bytes.get().addr(), TIMER_STACK_BYTES);
    // SAFETY: the kernel writes into the place of this sample, which this thread has claimed, and
    // reads what it finds to be readable.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &into, 1, parts.as_ptr(), 3, 0) };
    u64::try_from(copied).unwrap_or(0)
}
