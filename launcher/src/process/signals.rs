//! Which signals reach the application through its supervisor: those that were sent to the
//! supervisor alone.
//!
//! Supervisor and application share a process group, so a signal to the group has reached the
//! application already, and passing it on would double it. The kernel does not say how a signal was
//! addressed, but it says who sent it. Tried on Open MPI 4.1 (mpiexec and orted) and MPICH 4.0
//! (hydra_pmi_proxy): both give each rank a process group, and both signal that group and nothing
//! else: TERM, INT, USR1 on both, USR2 and CONT on Open MPI; Slurm's slurmstepd signals every
//! process of a step. Hence:
//!
//! - from the launcher's process on this node, from the kernel (a terminal, a limit) or from
//!   another PID namespace (sender 0): the application has it;
//! - from the application or a descendant: it was `kill(0, ...)`, which it has itself, or it was
//!   meant for whoever started it;
//! - from anybody else (a user's `kill PID`, a wrapper script's trap): it was sent to the
//!   supervisor alone. Only a `kill -- -PGID` typed by hand is taken for that wrongly, and arrives
//!   twice.

use invivo_jobdir::process_stat;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Its number.
    pub signal: i32,
    /// `si_code`: above 0 when the kernel made it.
    pub code: i32,
    /// The sender's number, 0 when it is in another PID namespace.
    pub sender: i32,
}

/// The processes around a supervisor, by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Relations {
    /// The supervisor.
    pub own: i32,
    /// The launcher's process on this node.
    pub launcher: i32,
    /// Who started the supervisor.
    pub parent: i32,
}

impl Relations {
    /// As seen by the calling process.
    pub fn here() -> Relations {
        let own = std::process::id() as i32;
        Relations {
            own,
            launcher: process_stat::launcher(own),
            parent: std::os::unix::process::parent_id() as i32,
        }
    }

    /// Becomes readable when the launcher's process is gone; nothing where the kernel cannot tell.
    pub fn launcher_fd(&self) -> Option<OwnedFd> {
        let launcher = rustix::process::Pid::from_raw(self.launcher)?;
        rustix::process::pidfd_open(launcher, rustix::process::PidfdFlags::empty()).ok()
    }

    /// Whether the process that started us is gone; for kernels without
    /// [`Relations::launcher_fd`].
    pub fn is_orphan(&self) -> bool {
        std::os::unix::process::parent_id() as i32 != self.parent
    }

    /// Whether the signal went to the supervisor alone, so that it has to be passed on.
    pub fn sent_to_us_alone(&self, incoming: Incoming) -> bool {
        self.alone(incoming, |sender| process_stat::descends(sender, self.own))
    }

    fn alone(&self, incoming: Incoming, descends: impl Fn(i32) -> bool) -> bool {
        let unseen = incoming.code > 0 || incoming.sender <= 0;
        !unseen && incoming.sender != self.launcher && !descends(incoming.sender)
    }
}

/// Whether a signal ends a process that does nothing about it, and is used to ask for that.
pub fn asks_to_end(signal: i32) -> bool {
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT].contains(&signal)
}

/// The calling thread's mask.
pub fn mask() -> SigSet {
    // It cannot fail: nothing but the mask is read.
    SigSet::thread_get_mask().unwrap_or_else(|_| SigSet::empty())
}

/// The mask of a tool process: signals that people send to applications (a launcher passes them to
/// every process of the job) must not end a tool that does not know them.
pub fn for_tools(mut mask: SigSet) -> SigSet {
    for signal in [
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGALRM,
        Signal::SIGXCPU,
        Signal::SIGIO,
    ] {
        mask.add(signal);
    }
    mask
}

/// All signals of the process, read from a descriptor instead of interrupting it. Those that a
/// fault of our own would raise keep their effect.
#[derive(Debug)]
pub struct Signals {
    fd: SignalFd,
    /// The mask before, which is the application's.
    pub mask_before: SigSet,
}

impl Signals {
    /// Blocks them in the calling thread, which must be the only one.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn take() -> std::io::Result<Signals> {
        // A blocked fault of our own would loop for ever on the same instruction.
        let mut mask = SigSet::all();
        for fault in [
            Signal::SIGSEGV,
            Signal::SIGBUS,
            Signal::SIGFPE,
            Signal::SIGILL,
            Signal::SIGTRAP,
            Signal::SIGSYS,
            Signal::SIGABRT,
        ] {
            mask.remove(fault);
        }
        let mut mask_before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&mask), Some(&mut mask_before))?;
        let fd = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Signals { fd, mask_before })
    }

    /// The next one, if any.
    pub fn next(&self) -> Option<Incoming> {
        let info = self.fd.read_signal().ok()??;
        Some(Incoming {
            signal: info.ssi_signo as i32,
            code: info.ssi_code,
            sender: info.ssi_pid as i32,
        })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_else_delivers_is_passed_on() {
        let relations = Relations {
            own: 100,
            launcher: 50,
            parent: 50,
        };
        let descends = |pid| pid == 101 || pid == 102;
        for (code, sender, alone) in [
            (libc::SI_USER, 50, false),
            (libc::SI_USER, 0, false),
            (libc::SI_KERNEL, 0, false),
            (libc::SI_USER, 101, false),
            (libc::SI_TKILL, 102, false),
            (libc::SI_USER, 7, true),
            (libc::SI_QUEUE, 7, true),
        ] {
            let incoming = Incoming {
                signal: libc::SIGTERM,
                code,
                sender,
            };
            assert_eq!(relations.alone(incoming, descends), alone, "{incoming:?}");
        }
    }
}
