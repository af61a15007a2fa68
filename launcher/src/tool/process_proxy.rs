//! Tool processes in process groups of their own.
//!
//! MPICH's launcher kills the process groups of all processes that it has started, with SIGKILL, as
//! soon as one of them dies, and when it dies itself. The processes that make the report then must
//! be in other groups: what the launcher has started is only a proxy of a tool process.
//!
//! ```text
//! launcher
//!   |-- invivo exec        the proxy: passes signals on, and leaves as its child leaves
//!         '-- invivo exec    its own group, with all below: supervisor of the root or of a tool
//!               '-- the tool process, which dies with it
//! ```
//!
//! The end of a proxy counts as the end of the launcher: the others have two seconds then, see
//! [`crate::root::supervisor`] and [`super::tool_supervisor`]. The group stays in the launcher's
//! session, so that the kernel continues stopped processes in it when the proxy is gone (an
//! orphaned process group gets SIGHUP and SIGCONT).

use crate::process::child::{self, Fork};
use crate::process::poll::is_readable;
use crate::process::signals::{Relations, Signals, asks_to_end};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Pid;
use std::os::fd::OwnedFd;

/// Goes on in a child in a process group of its own, while the calling process becomes its proxy
/// and does not return. Where the system has no room for another process, it goes on in the calling
/// one: then it ends with the others.
pub fn continue_behind_proxy(signals: &Signals) {
    let launcher = Relations::here().launcher_fd();
    match child::fork() {
        Ok(Fork::Parent(child)) => child::leave_as(proxy(child, signals, launcher)),
        Ok(Fork::Child) | Err(_) => {}
    }
}

/// Waits for the child's end. `launcher` becomes readable when the launcher has ended.
fn proxy(child: Pid, signals: &Signals, launcher: Option<OwnedFd>) -> child::Ended {
    loop {
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(signals, PollFlags::IN)];
        fds.extend(
            launcher
                .as_ref()
                .map(|launcher| PollFd::new(launcher, PollFlags::IN)),
        );
        // Its result does not matter: every source is polled afterwards. A child's end is a signal.
        let _ = poll(&mut fds, None);
        while let Some(incoming) = signals.next() {
            if asks_to_end(incoming.signal) {
                child::pass_on_to_group(child, incoming.signal);
            }
        }
        if let Some(ended) = child::ended(child) {
            return ended;
        }
        // The child sees our end, and has its two seconds.
        if launcher.as_ref().is_some_and(is_readable) {
            return child::Ended::Code(0);
        }
    }
}
