//! Whether a rank's process is gone, observed through a pidfd by a process that is not its parent.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;

/// A process on this host, or none.
#[derive(Debug, Default)]
pub struct Process(Option<OwnedFd>);

impl Process {
    /// The process of this number; none where `pidfd_open` fails (another PID namespace, an old
    /// kernel).
    pub fn of(pid: Pid) -> Process {
        Process(pidfd_open(pid, PidfdFlags::empty()).ok())
    }

    /// Whether it has ended; true where there is none.
    pub fn is_gone(&self) -> bool {
        let Some(descriptor) = &self.0 else {
            return true;
        };
        // A pidfd becomes readable when its process ends, and its number cannot be reused for
        // another.
        let mut ended = [PollFd::new(descriptor, PollFlags::IN)];
        // An error is no reason to wait for it.
        poll(&mut ended, Some(&Timespec::default())).map_or(true, |ready| ready > 0)
    }
}
