//! A rank's process as others than its supervisor see it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;

/// A process on this host, or nobody.
#[derive(Debug, Default)]
pub struct Process(Option<OwnedFd>);

impl Process {
    /// The process of this number. Where it cannot be seen (in another namespace, say, or on an old
    /// kernel) it is nobody.
    pub fn of(pid: u32) -> Process {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        Process(pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()))
    }

    /// Whether it is gone; nobody is.
    pub fn is_gone(&self) -> bool {
        let Some(descriptor) = &self.0 else {
            return true;
        };
        let mut ended = [PollFd::new(descriptor, PollFlags::IN)];
        // An error is no reason to wait for it.
        poll(&mut ended, Some(&Timespec::default())).map_or(true, |ready| ready > 0)
    }
}
