//! A process of our own that is a fork of ours: what it works on lies in its memory.
//!
//! It has no descriptors but those that it is given, leaves no core file, has little memory of its
//! own, and dies with us. Unsafe code is needed for the fork and for closing what the child must
//! not keep.

use crate::panic_guard::guarded;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// Bytes that a child may allocate beside what it was born with: tables of debug information of
/// large programs. Files that are mapped do not count.
pub const ALLOCATED_BYTES_MAX: u64 = 1 << 30;

/// The longest wait for a child that was killed.
const ENDS_WITHIN: Duration = Duration::from_millis(if cfg!(test) { 10_000 } else { 500 });
/// Between two looks whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_micros(100);

/// A child. Dropped, it is killed.
pub struct Child(Pid);

impl Child {
    /// Forks a child that keeps these descriptors, runs this, and ends; nothing where there is no
    /// room for one.
    pub fn start(mut keep: Vec<RawFd>, run: impl FnOnce()) -> Option<Child> {
        keep.sort_unstable();
        let parent = rustix::process::getpid();
        // SAFETY: the supervisor has no other thread here, so that no lock stays taken in the
        // child.
        match unsafe { nix::unistd::fork() }.ok()? {
            nix::unistd::ForkResult::Parent { child } => Pid::from_raw(child.as_raw()).map(Child),
            nix::unistd::ForkResult::Child => {
                if confine(parent, &keep).is_some() {
                    guarded(run);
                }
                // SAFETY: ends the process without running anything that was its parent's to run.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Time on a processor that it has taken; nothing where that cannot be read.
    pub fn cpu_time(&self) -> Option<Duration> {
        let pid = nix::unistd::Pid::from_raw(self.0.as_raw_nonzero().get());
        let clock = nix::time::ClockId::pid_cpu_clock_id(pid).ok()?;
        clock.now().ok().map(Duration::from)
    }

    /// Its number.
    #[cfg(test)]
    pub fn pid(&self) -> Pid {
        self.0
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Nobody else waits for it, so that its number is still its own.
        let _ = rustix::process::kill_process(self.0, Signal::KILL);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let since = Instant::now();
        // One that a file system holds in the kernel does not end: it stays, and is waited for by
        // whoever comes behind us.
        while since.elapsed() < ENDS_WITHIN {
            match rustix::process::waitid(WaitId::Pid(self.0), options) {
                Ok(None) => std::thread::sleep(POLL_INTERVAL),
                Err(rustix::io::Errno::INTR) => {}
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

/// Takes from a fresh child what it must not have.
fn confine(parent: Pid, keep: &[RawFd]) -> Option<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).ok()?;
    // The parent may have ended before the call above: then no death signal comes.
    if rustix::process::getppid() != Some(parent) {
        return None;
    }
    let no_more_than = |bytes| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    rustix::process::setrlimit(Resource::Core, no_more_than(0)).ok()?;
    rustix::process::setrlimit(Resource::Data, no_more_than(ALLOCATED_BYTES_MAX)).ok()?;
    // Where memory is short, it is what can be spared first.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");

    // Nothing that goes wrong here is to be read among the application's output.
    let nothing = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .ok()?;
    for standard in 0..=2 {
        // SAFETY: both are numbers; the child's standard descriptors are its own.
        unsafe { libc::dup2(nothing.as_raw_fd(), standard) };
    }
    drop(nothing);
    // The launcher's connections and our own sockets: their ends are to be seen when we end.
    let mut first = 3;
    for kept in keep.iter().map(|fd| fd.cast_unsigned()).chain([u32::MAX]) {
        if kept > first {
            // SAFETY: closes numbers that nobody uses: the child only ever uses those in `keep`,
            // and leaves without dropping anything.
            unsafe { libc::syscall(libc::SYS_close_range, first, kept - 1, 0) };
        }
        first = kept.saturating_add(1);
    }
    Some(())
}
