//! Timers that sample the rank's threads, where perf events are forbidden: set and deleted as the
//! sampler, another process, orders.
//!
//! A timer runs by its thread's time on a processor, so that a thread that waits is left alone. It
//! sends SIGURG: where the program has put the default action back, that is ignored and harms
//! nobody. Where the program handles or ignores SIGURG itself, no timer is set. ADR 0039 has the
//! alternatives.
//!
//! Everything here may run in the handler of a signal.

use crate::errno::keeping_errno;
use crate::signals::without_signals;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use invivo_proto::shm::{
    Page, SampleTimers, TIMER_SAMPLES, TIMER_THREADS_MAX, TimerSample, timer_refusal,
};

/// The signal of the timers.
const SIGNAL: c_int = libc::SIGURG;

/// What handles it.
pub type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// A timer of a thread.
#[derive(Clone, Copy)]
struct Timer {
    /// The kernel's id of the thread; 0 where there is no timer.
    tid: u32,
    /// The kernel's id of the timer.
    id: c_int,
    period_ns: u64,
}

const NONE: Timer = Timer {
    tid: 0,
    id: 0,
    period_ns: 0,
};

/// The timers that are set.
struct Timers(UnsafeCell<[Timer; TIMER_THREADS_MAX]>);

// SAFETY: touched by the thread alone that has set `BUSY`.
unsafe impl Sync for Timers {}

static TIMERS: Timers = Timers(UnsafeCell::new([NONE; TIMER_THREADS_MAX]));
/// A thread carries out an order.
static BUSY: AtomicBool = AtomicBool::new(false);
/// Where samples are written; null before the first order.
static SAMPLES: AtomicPtr<TimerSample> = AtomicPtr::new(null_mut());

/// Carries out what the sampler wants, if nobody is about it; `handler` is always the same one.
#[cold]
#[inline(never)]
pub fn run_errand(page: &Page, handler: Handler) {
    // A handler of the program that leaves by a jump would leave this undone.
    keeping_errno(|| without_signals(|| run(page, handler)));
}

fn run(page: &Page, handler: Handler) {
    // An order that comes while a thread is at it is seen by that thread, or by the next one.
    while page.control.errand.load(Ordering::Relaxed) != 0 {
        if BUSY.swap(true, Ordering::Acquire) {
            return;
        }
        if page.control.errand.swap(0, Ordering::AcqRel) != 0 {
            let wanted = &page.sample_timers;
            let order = wanted.order.load(Ordering::Acquire);
            let refusal = carry_out(wanted, handler);
            wanted.refusal.store(refusal, Ordering::Relaxed);
            wanted.done.store(order, Ordering::Release);
        }
        BUSY.store(false, Ordering::Release);
    }
}

/// Deletes all timers, because nobody wants them any more.
#[cold]
pub fn delete_all() {
    if BUSY.swap(true, Ordering::Acquire) {
        return;
    }
    // SAFETY: this thread has set `BUSY`.
    let timers = unsafe { &mut *TIMERS.0.get() };
    timers
        .iter_mut()
        .filter(|timer| timer.tid != 0)
        .for_each(delete);
    BUSY.store(false, Ordering::Release);
}

/// The place of the sample of this number; nothing before the first order.
pub fn place(number: u64) -> Option<&'static TimerSample> {
    let first = SAMPLES.load(Ordering::Acquire);
    if first.is_null() {
        return None;
    }
    // SAFETY: so many lie there, of atomics and guarded bytes, in memory that is never unmapped.
    Some(unsafe { &*first.add((number % TIMER_SAMPLES as u64) as usize) })
}

/// Whether the value of a signal says that one of our timers has sent it.
pub fn is_ours(value: usize) -> bool {
    value == mark()
}

/// What our timers send with their signals: an address that nobody else has.
fn mark() -> usize {
    (&raw const TIMERS).addr()
}

/// To be called by the thread that has set `BUSY`. What is in the way, of [`timer_refusal`].
fn carry_out(wanted: &SampleTimers, handler: Handler) -> u32 {
    let period_ns = wanted.period_ns.load(Ordering::Relaxed);
    let count = match period_ns {
        0 => 0,
        _ => wanted.count.load(Ordering::Relaxed) as usize,
    };
    let threads = wanted.threads.get(..count).unwrap_or(&wanted.threads);
    // SAFETY: this thread has set `BUSY`, and a handler that interrupts it finds that.
    let timers = unsafe { &mut *TIMERS.0.get() };
    let prepared = if count == 0 {
        timer_refusal::NONE
    } else {
        prepare(wanted, handler)
    };
    let threads = match prepared {
        timer_refusal::NONE => threads,
        _ => &[],
    };
    for timer in timers.iter_mut().filter(|timer| timer.tid != 0) {
        if !threads.iter().any(|tid| tid_of(tid) == timer.tid) {
            delete(timer);
        }
    }
    let mut refusal = prepared;
    for tid in threads.iter().map(tid_of).filter(|tid| *tid != 0) {
        let known = timers.iter().position(|timer| timer.tid == tid);
        let free = known.or_else(|| timers.iter().position(|timer| timer.tid == 0));
        let Some(timer) = free.and_then(|at| timers.get_mut(at)) else {
            continue;
        };
        let is_set = (timer.tid == tid || create(timer, tid))
            && (timer.tid != tid || timer.period_ns == period_ns || set(timer, period_ns));
        if !is_set {
            refusal = timer_refusal::NO_TIMERS;
        }
    }
    refusal
}

fn tid_of(word: &core::sync::atomic::AtomicU32) -> u32 {
    word.load(Ordering::Relaxed)
}

/// Makes room for samples, and sets the action of the signal, once.
fn prepare(wanted: &SampleTimers, handler: Handler) -> u32 {
    // SAFETY: reads and writes actions of ours; the handler stays as long as the process, because
    // libraries that are preloaded are never unloaded.
    unsafe {
        let ours = handler as *const () as usize;
        let mut now: libc::sigaction = zeroed();
        if libc::sigaction(SIGNAL, null(), &mut now) != 0 {
            return timer_refusal::SIGNAL_IN_USE;
        }
        if now.sa_sigaction != ours && now.sa_sigaction != libc::SIG_DFL {
            return timer_refusal::SIGNAL_IN_USE;
        }
        if SAMPLES.load(Ordering::Relaxed).is_null() {
            let bytes = TIMER_SAMPLES * size_of::<TimerSample>();
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let base = libc::mmap(null_mut(), bytes, protection, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return timer_refusal::NO_ROOM;
            }
            SAMPLES.store(base.cast(), Ordering::Release);
            wanted.samples_at.store(base as u64, Ordering::Release);
        }
        if now.sa_sigaction != ours {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = ours;
            // On the thread's own stack: an alternate one of the program may be too small.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            // None of the program's handlers runs in ours, or leaves it by a jump.
            libc::sigfillset(&mut action.sa_mask);
            if libc::sigaction(SIGNAL, &action, null_mut()) != 0 {
                return timer_refusal::SIGNAL_IN_USE;
            }
        }
    }
    timer_refusal::NONE
}

/// Makes the timer of a thread. False where the kernel gives none; a thread that is gone gets none,
/// which is right.
fn create(timer: &mut Timer, tid: u32) -> bool {
    // The clock of a thread's time on a processor, as the kernel numbers it (CPUCLOCK_SCHED of a
    // thread).
    let clock = (!(tid as c_int) << 3) | 6;
    let mut id: c_int = 0;
    // The system call itself: the C library's function allocates.
    // SAFETY: the description and the number are ours.
    let result = unsafe {
        let mut event: libc::sigevent = zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = SIGNAL;
        event.sigev_notify_thread_id = tid as c_int;
        event.sigev_value.sival_ptr = mark() as *mut _;
        libc::syscall(libc::SYS_timer_create, clock, &raw const event, &raw mut id)
    };
    if result != 0 {
        // SAFETY: the thread's own error number.
        let why = unsafe { *libc::__errno_location() };
        return why == libc::EINVAL || why == libc::ESRCH;
    }
    *timer = Timer {
        tid,
        id,
        period_ns: 0,
    };
    true
}

/// Sets it; false where the kernel does not.
fn set(timer: &mut Timer, period_ns: u64) -> bool {
    let period = libc::timespec {
        tv_sec: (period_ns / 1_000_000_000) as i64,
        tv_nsec: (period_ns % 1_000_000_000) as i64,
    };
    let time = libc::itimerspec {
        it_interval: period,
        it_value: period,
    };
    let (id, none) = (timer.id, null_mut::<libc::itimerspec>());
    // SAFETY: the time is ours, and that of before is not asked for.
    let result = unsafe { libc::syscall(libc::SYS_timer_settime, id, 0, &raw const time, none) };
    if result == 0 {
        timer.period_ns = period_ns;
    }
    result == 0
}

fn delete(timer: &mut Timer) {
    // SAFETY: takes a number; a signal that is under way still finds the handler.
    unsafe { libc::syscall(libc::SYS_timer_delete, timer.id) };
    *timer = NONE;
}
