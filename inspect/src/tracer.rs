//! Stops a thread for a moment by ptrace, and copies its registers and the end of its stack. Unsafe
//! code is needed for detaching with a real-time signal, which has no name.
//!
//! ```text
//! seize      nothing happens to the thread
//! interrupt  it stops when it next leaves the kernel; no signal is sent
//! wait       until it has stopped; a signal that came first is delivered when it goes on
//! copy       registers and stack, and an interpreter's calls: all else is done when it runs again
//! detach     it goes on
//! ```
//!
//! A thread may have gone to sleep between the look that found it running and the stop, in a system
//! call that a stop makes come back with `EINTR`. It would not have, so the call is made again, as
//! the kernel itself makes others again. Signals that nobody takes wake a thread that is traced,
//! and no other: they do not count.
//!
//! All of this is done by a thread of its own: whatever goes wrong, the kernel lets go of all that
//! a thread traces when that thread ends. Ends of the process are never waited for, because the
//! supervisor that is its parent has to see them.

use crate::frames::Registers;
use crate::memory::ProcessMemory;
use crate::panic_guard::guarded;
use invivo_jobdir::process_stat;
use nix::sys::ptrace;
use rustix::process::{Pid, WaitId, WaitIdOptions};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// Bytes of a stack that are copied: frames with large arrays, as Fortran has them, and still some
/// ten microseconds.
const STACK_BYTES_MAX: usize = 512 * 1024;
/// The longest wait for a thread to stop: it must come out of the kernel.
const STOPS_WITHIN: Duration = Duration::from_millis(100);
/// The longest wait for a thread that waits for a processor. Were it given up before it gets one,
/// its system call would not be made again.
const RUNS_WITHIN: Duration = Duration::from_secs(1);
/// Polls without sleep in between: on a machine with a free core a thread stops within that.
const QUICK_POLLS: u32 = 32;
/// Between later polls.
const POLL_INTERVAL: Duration = Duration::from_micros(20);

/// System calls that a stop ends with `EINTR` when they have done nothing yet, and which may be
/// made again.
const ENDED_BY_A_STOP: [i64; 18] = [
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_io_getevents,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// A copy of where a thread was.
pub struct Copied {
    pub registers: Registers,
    /// The end of its stack, from the stack pointer on.
    pub stack: Vec<u8>,
    /// How long the thread stood still, at most.
    pub stopped: Duration,
}

impl Copied {
    /// A word of the stack.
    pub fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.registers.stack)?).ok()?;
        let word = self.stack.get(at..at.checked_add(8)?)?;
        Some(u64::from_ne_bytes(word.try_into().ok()?))
    }
}

/// Why a thread was not stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is gone.
    Gone,
    /// The kernel does not allow it, or somebody else traces it.
    Forbidden,
    /// It did not stop in time.
    InKernel,
}

/// Room for a copy that is there before the thread stops.
pub fn room() -> Vec<u8> {
    // Written to, so that the kernel does not have to find the pages while the thread is stopped.
    vec![1; STACK_BYTES_MAX]
}

/// Stops a thread of a process and copies it. `also` is called while it stands still, so that it
/// has to be quick.
pub fn copy<T: Send>(
    process: Pid,
    tid: Pid,
    memory: &ProcessMemory,
    also: impl FnOnce() -> T + Send,
) -> Result<(Copied, T), Refused> {
    let room = room();
    std::thread::scope(|scope| {
        let traced = || {
            guarded(|| trace(process, tid, memory, room, also)).unwrap_or(Err(Refused::Forbidden))
        };
        // No thread can be started: the machine is out of memory or processes.
        let tracer = std::thread::Builder::new().spawn_scoped(scope, traced);
        let tracer = tracer.map_err(|_| Refused::Forbidden)?;
        tracer.join().unwrap_or(Err(Refused::Forbidden))
    })
}

fn trace<T>(
    process: Pid,
    tid: Pid,
    memory: &ProcessMemory,
    mut stack: Vec<u8>,
    also: impl FnOnce() -> T,
) -> Result<(Copied, T), Refused> {
    // The kernel may lengthen a sleep by the timer slack, 50 us by default: more than we sleep.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let pid = nix::unistd::Pid::from_raw(tid.as_raw_nonzero().get());
    let refused = |error| match error {
        nix::Error::ESRCH => Refused::Gone,
        _ => Refused::Forbidden,
    };

    // Seize and not attach: attaching would send a SIGSTOP to the thread.
    ptrace::seize(pid, ptrace::Options::empty()).map_err(refused)?;
    let interrupted_at = Instant::now();
    ptrace::interrupt(pid).map_err(refused)?;
    let (signal, since) = stops(tid, interrupted_at)?;
    let registers = ptrace::getregs(pid).map_err(refused)?;
    let copied = memory.read_some(registers.rsp, &mut stack);
    let beside = also();
    if let Some(again) = begun_again(&registers)
        && !is_ended_by_signal(process, tid, signal)
    {
        ptrace::setregs(pid, again).map_err(refused)?;
    }

    let detached = detach(tid, signal);
    let stopped = since.elapsed();
    detached?;
    stack.truncate(copied);
    stack.shrink_to_fit();
    let copied = Copied {
        registers: Registers {
            code: registers.rip,
            stack: registers.rsp,
            frame: Some(registers.rbp),
        },
        stack,
        stopped,
    };
    Ok((copied, beside))
}

/// Waits until the thread has stopped; returns the signal with which it is to go on (0, or one that
/// came at that moment), and when it was last seen not to be stopped.
fn stops(tid: Pid, interrupted_at: Instant) -> Result<(i32, Instant), Refused> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    let mut since = interrupted_at;
    for attempt in 0.. {
        let now = Instant::now();
        match rustix::process::waitid(WaitId::Pid(tid), options) {
            Ok(Some(status)) => {
                return Ok((going_on(status.trapping_signal().unwrap_or(0)), since));
            }
            Ok(None) if is_over(tid, interrupted_at.elapsed()) => break,
            Ok(None) => {
                since = now;
                if attempt < QUICK_POLLS {
                    std::thread::yield_now();
                } else {
                    std::thread::sleep(POLL_INTERVAL);
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Err(Refused::Gone),
        }
    }
    Err(Refused::InKernel)
}

/// Whether the wait for a thread is over: one that runs, or has stopped by now, gets more time.
fn is_over(tid: Pid, waited: Duration) -> bool {
    let runs = || {
        let stat = process_stat::stat(tid.as_raw_nonzero().get());
        stat.is_some_and(|stat| matches!(stat.state, 'R' | 't'))
    };
    waited >= RUNS_WITHIN || waited >= STOPS_WITHIN && !runs()
}

/// Bytes of the instruction of a system call.
const SYSCALL_BYTES: u64 = 2;

/// The registers with which a system call that our stop has ended is made again.
fn begun_again(registers: &libc::user_regs_struct) -> Option<libc::user_regs_struct> {
    // Registers hold negative numbers as their complements.
    let call = registers.orig_rax as i64;
    let is_ended = registers.rax as i64 == -i64::from(libc::EINTR);
    (is_ended && ENDED_BY_A_STOP.contains(&call)).then(|| libc::user_regs_struct {
        rax: registers.orig_rax,
        rip: registers.rip.wrapping_sub(SYSCALL_BYTES),
        ..*registers
    })
}

/// Signals that do nothing where a program has not interrupted_at for them.
const IGNORED: [i32; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];

/// A signal's bit in the sets that the kernel shows; none for no signal.
fn bit(signal: i32) -> u64 {
    u32::try_from(signal - 1).map_or(0, |at| 1 << at)
}

/// Whether a signal ends a thread's call by itself: the one that it is to get when it goes on, or
/// one on its way.
fn is_ended_by_signal(process: Pid, tid: Pid, given: i32) -> bool {
    let (process, tid) = (process.as_raw_nonzero(), tid.as_raw_nonzero());
    let status =
        std::fs::read_to_string(format!("/proc/{process}/task/{tid}/status")).unwrap_or_default();
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
            .unwrap_or(0)
    };
    let not_taken = IGNORED.into_iter().map(bit).sum::<u64>() & !set("SigCgt:");
    let coming = (set("SigPnd:") | set("ShdPnd:")) & !set("SigBlk:") | bit(given);
    coming & !(set("SigIgn:") | not_taken) != 0
}

/// The signal of a stop that is the delivery of one; others (ours, and that of a process that was
/// stopped) are events.
fn going_on(status: i32) -> i32 {
    if status >> 8 == 0 { status } else { 0 }
}

fn detach(tid: Pid, signal: i32) -> Result<(), Refused> {
    let (tid, nothing) = (
        tid.as_raw_nonzero().get(),
        std::ptr::null_mut::<libc::c_void>(),
    );
    // SAFETY: this request reads and writes no memory of ours; a thread that is not stopped by us
    // is an error.
    let done = unsafe {
        libc::ptrace(
            libc::PTRACE_DETACH,
            tid,
            nothing,
            libc::c_long::from(signal),
        )
    };
    if done < 0 { Err(Refused::Gone) } else { Ok(()) }
}
