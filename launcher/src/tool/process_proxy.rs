//! Tool processes in process groups of their own.
//!
//! MPICH's launcher kills the process group of everybody that it has started, with SIGKILL, as soon
//! as one of them dies, and when it dies itself. Who is to make the report then must be somewhere
//! else: what the launcher has started only stands in for a tool process.
//!
//! ```text
//! launcher
//!   |-- invivo exec        stands in: hands signals on, and leaves as its child leaves
//!         '-- invivo exec    its own group, with all below: supervisor of the root or of a tool
//!               '-- the tool process, which dies with it
//! ```
//!
//! A stand-in that is gone is for the others what the end of the launcher is: they have two seconds
//! then, see [`super::root`] and [`super::keeper`]. The group stays in the launcher's session, so
//! that the kernel wakes whoever stands still in it when its stand-in is gone.

use crate::process::child::{self, Fork};
use crate::process::poll::is_readable;
use crate::process::signals::{Relations, Signals, asks_to_end};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Pid;
use std::os::fd::OwnedFd;

/// Goes on in a child in a process group of its own, while the calling process stands in for it and
/// does not return. Where the system has no room for another process, it goes on in the calling
/// one: then it ends with the others.
pub fn continue_behind_proxy(signals: &Signals) {
    let launcher = Relations::here().launcher_fd();
    match child::fork() {
        Ok(Fork::Parent(child)) => child::leave_as(proxy(child, signals, launcher)),
        Ok(Fork::Child) | Err(_) => {}
    }
}

/// Waits for the child's end. `launcher` becomes readable when nobody waits for ours any more.
fn proxy(child: Pid, signals: &Signals, launcher: Option<OwnedFd>) -> child::Ended {
    loop {
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(signals, PollFlags::IN)];
        fds.extend(
            launcher
                .as_ref()
                .map(|launcher| PollFd::new(launcher, PollFlags::IN)),
        );
        // Whatever it says, everything is looked at. A child's end is a signal, too.
        let _ = poll(&mut fds, None);
        while let Some(incoming) = signals.next() {
            if asks_to_end(incoming.signal) {
                child::pass_on_to_group(child, incoming.signal);
            }
        }
        if let Some(ended) = child::ended(child) {
            return ended;
        }
        if launcher.as_ref().is_some_and(is_readable) {
            return child::Ended::Code(0);
        }
    }
}
