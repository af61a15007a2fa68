//! The state of a thread as `/proc` shows it, without stopping it: whether it sleeps in a system
//! call, in which, and its stack pointer and instruction.
//!
//! A stop wakes a sleeping thread for a moment. Most system calls go to sleep again as if nothing
//! had been; some come back to the application with `EINTR`, with or without a tracer's doing
//! (signal(7)). A thread in one that is not known to go on by itself is not stopped.

use crate::frames::Registers;
use rustix::process::Pid;

/// System calls that the kernel begins again by itself after a stop, whatever they were given (the
/// kernel's sources: `ERESTARTSYS`, `ERESTARTNOINTR`, `ERESTARTNOHAND` and
/// `ERESTART_RESTARTBLOCK`).
const BEGIN_AGAIN: [i64; 16] = [
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_pause,
    libc::SYS_rt_sigsuspend,
    libc::SYS_restart_syscall,
    libc::SYS_sched_yield,
    libc::SYS_flock,
    libc::SYS_fcntl,
];

/// System calls that the kernel begins again on the files of [`PIPES`]. Not on others: sockets may
/// have a time limit (`SO_RCVTIMEO`), with which they end with `EINTR`, and a file system in a
/// process of its own (FUSE) may do anything when its caller is interrupted.
const BEGIN_AGAIN_ON_PIPES: [i64; 4] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
];

/// What the links of these files begin with: pipes, counters, terminals.
const PIPES: [&str; 4] = ["pipe:", "anon_inode:[eventfd]", "/dev/pts/", "/dev/tty"];

/// Whether a thread runs or sleeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockedThread {
    /// It runs, or the kernel does not say.
    Runs,
    /// It sleeps.
    Sleeps(Sleep),
}

/// Of a thread that sleeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// The system call; negative where it is in none (it waits for memory, or was stopped by
    /// somebody).
    call: i64,
    /// Its first argument.
    argument: u64,
    /// Where it is.
    pub registers: Registers,
    /// All that was said, and how often the thread has gone to sleep: the same again when it has
    /// slept all the time.
    said: (String, String),
}

/// Reads a thread's state.
pub fn observe(pid: Pid, tid: Pid) -> BlockedThread {
    let file = |name: &str| {
        let (pid, tid) = (pid.as_raw_nonzero(), tid.as_raw_nonzero());
        std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}"))
    };
    let said = file("syscall").unwrap_or_default();
    let status = file("status").unwrap_or_default();
    // The counter tells one sleep from the next in the same call with the same arguments.
    let switches = status
        .lines()
        .find(|line| line.starts_with("voluntary_ctxt_switches"));
    sleep(said, switches.unwrap_or_default().to_owned())
        .map_or(BlockedThread::Runs, BlockedThread::Sleeps)
}

/// Reads `/proc/PID/task/TID/syscall`: `running`, or the call with its arguments, the stack pointer
/// and the instruction.
fn sleep(said: String, switches: String) -> Option<Sleep> {
    let words: Vec<&str> = said.split_whitespace().collect();
    let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let (call, rest) = words.split_first()?;
    let [arguments @ .., stack, code] = rest else {
        return None;
    };
    let (code, stack) = (number(code)?, number(stack)?);
    // A thread that has ended has neither.
    if code == 0 {
        return None;
    }
    Some(Sleep {
        call: call.parse().ok()?,
        argument: arguments.first().and_then(|text| number(text)).unwrap_or(0),
        registers: Registers {
            code,
            stack,
            frame: None,
        },
        said: (said, switches),
    })
}

impl Sleep {
    /// Whether a stop would not be noticed.
    pub fn may_be_stopped(&self, pid: Pid) -> bool {
        let is_pipe = || {
            let file = format!("/proc/{}/fd/{}", pid.as_raw_nonzero(), self.argument as u32);
            let file = std::fs::read_link(file).unwrap_or_default();
            let file = file.to_string_lossy();
            PIPES.iter().any(|beginning| file.starts_with(beginning))
        };
        // Below 0 it is in no system call, so there is none that could be interrupted.
        self.call < 0
            || BEGIN_AGAIN.contains(&self.call)
            || (BEGIN_AGAIN_ON_PIPES.contains(&self.call) && is_pipe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        let of = |said: &str| sleep(said.to_owned(), String::new());
        assert_eq!(of("running\n"), None);
        assert_eq!(of(""), None);
        assert_eq!(
            of("0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0"),
            None,
            "it has ended"
        );
        let one =
            of("232 0x5 0x7f01 0x20 0xffffffff 0x0 0x0 0x7ffc10 0x7f0010\n").expect("it sleeps");
        assert_eq!((one.call, one.argument), (libc::SYS_epoll_wait, 5));
        assert_eq!(
            (one.registers.stack, one.registers.code),
            (0x7ffc10, 0x7f0010)
        );
        let us = rustix::process::getpid();
        assert!(!one.may_be_stopped(us), "it comes back with EINTR");
        let in_none = of("-1 0x7ffc10 0x7f0010\n").expect("it sleeps");
        assert!(in_none.may_be_stopped(us));
        assert!(of("35 0x1 0x0 0x7ffc10 0x7f0010").is_some_and(|one| one.may_be_stopped(us)));
    }

    #[test]
    fn only_pipes_and_their_like_are_read_with_a_stop() {
        let us = rustix::process::getpid();
        let (socket, _other) = std::os::unix::net::UnixStream::pair().expect("a socket");
        let (pipe, _write) = rustix::pipe::pipe().expect("a pipe");
        let file = std::fs::File::open("/proc/self/maps").expect("a file");
        let reading = |fd: i32| {
            sleep(format!("0 {fd:#x} 0x7ffc10 0x7f0010"), String::new()).expect("it sleeps")
        };
        use std::os::fd::AsRawFd;
        assert!(!reading(socket.as_raw_fd()).may_be_stopped(us));
        assert!(reading(pipe.as_raw_fd()).may_be_stopped(us));
        assert!(!reading(file.as_raw_fd()).may_be_stopped(us));
        assert!(!reading(-1).may_be_stopped(us));
    }
}
