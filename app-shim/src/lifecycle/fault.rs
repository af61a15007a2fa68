//! Leaves word of the fault that is about to end the rank, so that its supervisor can follow the
//! thread's call path, and then lets the fault go its way.
//!
//! ```text
//! fault -> handler: registers into the rank's page, `fault` to the supervisor
//!          waits until the supervisor has seen the stack, or FAULT_WAIT_NS
//!          puts the action back that was there before MPI_Init returned
//!          returns: the instruction faults again, or the signal is sent again
//! ```
//!
//! So output, status and core file are made by the same fault as without us. Nothing here allocates
//! or takes a lock, and no function of MPI is called. ADR 0025 has the alternatives.

use super::supervisor;
use crate::clock::monotonic_ns;
use crate::limits::{ALTERNATE_STACK_BYTES, FAULT_WAIT_NS};
use crate::process;
use crate::registers::Registers;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, transmute, zeroed};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicU32, Ordering};
use invivo_proto::channel::FAULT;
use invivo_proto::shm::{Page, fault::state};

/// Signals that a thread sends itself by what it does.
const SIGNALS: [c_int; 5] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
];
/// `BUS_MCEERR_AO`: memory is broken that the thread does not use now.
const ELSEWHERE: c_int = 5;

/// The action of a signal as it was before ours.
struct Before {
    action: UnsafeCell<MaybeUninit<libc::sigaction>>,
    /// One of the numbers below.
    state: AtomicU32,
}

/// We have not touched the signal.
const UNTOUCHED: u32 = 0;
/// Our handler is set, and `action` is there.
const OURS: u32 = 1;
/// The action is put back, for good.
const PUT_BACK: u32 = 2;

// SAFETY: the action is written before `state` says that it is there, and never again.
unsafe impl Sync for Before {}

static BEFORE: [Before; SIGNALS.len()] = [const {
    Before {
        action: UnsafeCell::new(MaybeUninit::uninit()),
        state: AtomicU32::new(UNTOUCHED),
    }
}; SIGNALS.len()];

/// Begins to watch for faults, behind the real `MPI_Init`: what MPI has set there by now is what
/// was there before.
pub fn watch() {
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
        // SAFETY: both actions are ours; the handler is there as long as the process, because
        // libraries that are preloaded are never unloaded.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            if libc::sigaction(signal, null(), &mut action) != 0
                || action.sa_sigaction == libc::SIG_IGN
                || before.state.load(Ordering::Relaxed) != UNTOUCHED
            {
                continue;
            }
            let is_memory = matches!(signal, libc::SIGSEGV | libc::SIGBUS);
            if signal == libc::SIGSEGV && action.sa_flags & libc::SA_ONSTACK == 0 {
                give_alternate_stack();
            }
            before.action.get().write(MaybeUninit::new(action));
            before.state.store(OURS, Ordering::Release);

            // Interrupted calls begin again as without us, or do not. A full stack leaves room on
            // the alternate one alone.
            let kept = libc::SA_RESTART | libc::SA_ONSTACK;
            let stack = if is_memory { libc::SA_ONSTACK } else { 0 };
            let mut ours: libc::sigaction = zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | stack | (action.sa_flags & kept);
            libc::sigfillset(&mut ours.sa_mask);
            libc::sigaction(signal, &ours, null_mut());
        }
    }
}

/// Stops it where the application has not set actions of its own meanwhile.
pub fn stop_watching() {
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
        if is_ours(signal) {
            put_back(signal, before);
        }
    }
}

/// Gives the first thread an alternate stack where it has none: a stack that is full has no room
/// for a handler.
unsafe fn give_alternate_stack() {
    // SAFETY: a fresh mapping, which stays; the lowest page is a guard.
    unsafe {
        let mut now: libc::stack_t = zeroed();
        if libc::getpid() != libc::gettid()
            || libc::sigaltstack(null(), &mut now) != 0
            || now.ss_flags & libc::SS_DISABLE == 0
        {
            return;
        }
        let guard = libc::sysconf(libc::_SC_PAGESIZE).max(0) as usize;
        let bytes = ALTERNATE_STACK_BYTES;
        let (all, flags) = (guard + bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let base = libc::mmap(null_mut(), all, libc::PROT_NONE, flags, -1, 0);
        if base == libc::MAP_FAILED {
            return;
        }
        let stack = base.cast::<u8>().add(guard).cast::<c_void>();
        if libc::mprotect(stack, bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            libc::munmap(base, all);
            return;
        }
        let ours = libc::stack_t {
            ss_sp: stack,
            ss_flags: 0,
            ss_size: bytes,
        };
        libc::sigaltstack(&ours, null_mut());
    }
}

/// Our handler: called by the kernel, or by the application's own handler as the one before it.
unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let mut all = SIGNALS.into_iter().zip(&BEFORE);
    let Some((_, before)) = all.find(|(number, _)| *number == signal) else {
        return;
    };
    // SAFETY: the thread's own error number.
    let error = unsafe { *libc::__errno_location() };
    let was_put_back = before.state.load(Ordering::Acquire) == PUT_BACK;
    let has_context = !info.is_null() && !context.is_null();
    // Another thread may have put the action back since the kernel called us.
    let is_kernels = is_ours(signal) || was_put_back && is_put_back(signal, before);
    if has_context && is_kernels {
        // SAFETY: the kernel called, with the information and the context of its signal.
        let (code, address, at) = unsafe {
            let at = Registers::interrupted(context);
            ((*info).si_code, (*info).si_addr() as u64, at)
        };
        // Of several threads that fault alike the first is followed, the others wait for it.
        if !was_put_back {
            tell(signal, code, address, at);
        }
        put_back(signal, before);
        if !faults_again(signal, code) {
            // The signal is blocked now and comes when we return: to this thread, as it came.
            // SAFETY: takes numbers, and the information that the kernel gave.
            unsafe {
                let (us, thread) = (libc::getpid(), libc::gettid());
                libc::syscall(libc::SYS_rt_tgsigqueueinfo, us, thread, signal, info);
            }
        }
    } else {
        // The application's handler calls the one that it found. What it hands on is not looked
        // at: it may be nothing.
        tell(signal, 0, 0, Registers::here());
        // SAFETY: as the application called.
        unsafe { as_before(signal, before, info, context) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}

/// Whether the instruction faults again when it is executed again: of signals that somebody sent,
/// nothing comes again by itself.
fn faults_again(signal: c_int, code: c_int) -> bool {
    signal != libc::SIGABRT && code > 0 && !(signal == libc::SIGBUS && code == ELSEWHERE)
}

fn is_ours(signal: c_int) -> bool {
    present(signal) == Some(on_fault as *const () as usize)
}

/// Whether the action that we have put back is there, and not one of the application behind it.
fn is_put_back(signal: c_int, before: &Before) -> bool {
    // SAFETY: written before the state said `OURS`, which is before `PUT_BACK`.
    let was = unsafe { (*before.action.get().cast::<libc::sigaction>()).sa_sigaction };
    present(signal) == Some(was)
}

/// What the signal calls now.
fn present(signal: c_int) -> Option<usize> {
    // SAFETY: reads the action of a signal into a place of ours.
    unsafe {
        let mut now: libc::sigaction = zeroed();
        (libc::sigaction(signal, null(), &mut now) == 0).then_some(now.sa_sigaction)
    }
}

/// Puts the action back that was there before ours: once, and again where the application has set
/// ours, which it had found.
fn put_back(signal: c_int, before: &Before) {
    let was = before.state.swap(PUT_BACK, Ordering::AcqRel);
    if was == OURS || was == PUT_BACK && is_ours(signal) {
        // SAFETY: written before the state said `OURS`.
        unsafe { libc::sigaction(signal, before.action.get().cast(), null_mut()) };
    }
}

/// Does what the action before ours would have done, for an application that calls it.
unsafe fn as_before(
    signal: c_int,
    before: &Before,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    if before.state.load(Ordering::Acquire) == UNTOUCHED {
        return;
    }
    // SAFETY: the action is written; a handler that was there is called as the kernel would have
    // called it, with what the caller gave.
    unsafe {
        let action = &*before.action.get().cast::<libc::sigaction>();
        match action.sa_sigaction {
            libc::SIG_IGN => {}
            libc::SIG_DFL => {
                // The signal's own effect: it ends the process here.
                let mut own: libc::sigset_t = zeroed();
                libc::sigemptyset(&mut own);
                libc::sigaddset(&mut own, signal);
                libc::sigaction(signal, action, null_mut());
                libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), signal);
                libc::pthread_sigmask(libc::SIG_UNBLOCK, &own, null_mut());
            }
            handler if action.sa_flags & libc::SA_SIGINFO != 0 => {
                type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
                transmute::<*const (), Handler>(handler as *const ())(signal, info, context);
            }
            handler => {
                type Handler = unsafe extern "C" fn(c_int);
                transmute::<*const (), Handler>(handler as *const ())(signal);
            }
        }
    }
}

/// Tells the supervisor where the thread is, and waits until that has seen it. Not in a process
/// that is not the rank: a forked child has our handlers, too.
fn tell(signal: c_int, code: c_int, address: u64, at: Registers) {
    let Some(page) = process::page().filter(|_| process::observing()) else {
        return;
    };
    // SAFETY: getpid has no preconditions.
    if page.pid.load(Ordering::Relaxed) != unsafe { libc::getpid() } as u32 {
        return;
    }
    if !note(page, signal, code, address, at) {
        return wait(page);
    }
    if supervisor::rings(FAULT) {
        wait(page);
    } else {
        page.fault.state.store(state::SEEN, Ordering::Release);
    }
}

/// Writes into the page where the thread is; false where another one stands there and waits.
pub fn note(page: &Page, signal: c_int, code: c_int, address: u64, at: Registers) -> bool {
    let fault = &page.fault;
    let free = |now| matches!(now, state::NONE | state::SEEN).then_some(state::WRITTEN);
    let mine = fault
        .state
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, free);
    if mine.is_err() {
        return false;
    }
    // SAFETY: gettid has no preconditions.
    let tid = unsafe { libc::gettid() };
    fault.signal.store(signal as u32, Ordering::Relaxed);
    fault.code.store(code as u32, Ordering::Relaxed);
    fault.tid.store(tid as u32, Ordering::Relaxed);
    fault.address.store(address, Ordering::Relaxed);
    fault.instruction.store(at.instruction, Ordering::Relaxed);
    fault.stack.store(at.stack, Ordering::Relaxed);
    fault.frame.store(at.frame, Ordering::Relaxed);
    // Last: who sees the state reads the rest.
    fault.state.store(state::NOTED, Ordering::Release);
    true
}

/// Waits until the supervisor has seen the thread that stands in the page, but not for long.
fn wait(page: &Page) {
    let until = monotonic_ns().saturating_add(FAULT_WAIT_NS);
    loop {
        let now = page.fault.state.load(Ordering::Acquire);
        let left = until.saturating_sub(monotonic_ns());
        if matches!(now, state::NONE | state::SEEN) {
            return;
        }
        if left == 0 {
            // The next one is not to wait for this one.
            page.fault.state.store(state::SEEN, Ordering::Release);
            return;
        }
        let time = libc::timespec {
            tv_sec: (left / 1_000_000_000) as i64,
            tv_nsec: (left % 1_000_000_000) as i64,
        };
        // SAFETY: the page is mapped for good; the time is ours. Shared: another process wakes us.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                page.fault.state.as_ptr(),
                libc::FUTEX_WAIT,
                now,
                &time,
            );
        }
    }
}
