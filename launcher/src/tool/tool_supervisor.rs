//! The supervisor of a tool process that is not the root: it sends SIGTERM when the launcher is
//! gone, and SIGKILL when that does not help. The one of a host's highest tool process, where the
//! root is on another host, also removes the job's directory here. (On the root's host the root's
//! supervisor does that.)
//!
//! The highest process of a host ends last of all here: everybody reports to it.

use crate::job::slurm_fence;
use crate::output::say;
use crate::process::child::{self, Ended, Inheritance};
use crate::process::poll::is_readable;
use crate::process::signals::{Relations, Signals, asks_to_end, for_tools};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the process may take to end when the launcher is gone.
const LINGER: Duration = Duration::from_secs(2);
/// Between two polls, where the kernel has no descriptor that announces a child's end.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Runs `command` and returns how it ended; the directory of the job's sockets here is removed then
/// where this is the last tool of the host. `fence` is what to say if it dies in `MPI_Init` as one
/// does that Slurm's fence did not hold back.
///
/// # Errors
/// When it cannot be started.
pub fn supervise(
    mut command: Command,
    sockets: PathBuf,
    is_last_tool: bool,
    fence: Option<String>,
    signals: Signals,
) -> std::io::Result<Ended> {
    let relations = Relations::here();
    command.stdin(Stdio::null());
    let inheritance = Inheritance {
        mask: for_tools(signals.mask_before),
        descriptors: &[],
        nothing_else: false,
    };
    let child = child::start(command, inheritance)?;
    let mut supervisor = ToolSupervisor {
        child,
        child_fd: rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty()).ok(),
        launcher: relations.launcher_fd(),
        launcher_gone: None,
        relations,
        signals,
        dir: is_last_tool.then(|| sockets.clone()),
    };
    let ended = supervisor.run();
    if let Some(fence) = fence
        && slurm_fence::may_explain(ended)
        && !has_begun(&sockets)
    {
        say(&fence);
    }
    supervisor.tidy_up();
    Ok(ended)
}

/// Whether a tool place of this host was through `MPI_Init`: right behind it, it binds the socket
/// for the supervisors of its ranks.
fn has_begun(sockets: &Path) -> bool {
    let names = std::fs::read_dir(sockets).into_iter().flatten().flatten();
    names
        .map(|entry| entry.file_name())
        .any(|name| name.to_string_lossy().starts_with("place-"))
}

struct ToolSupervisor {
    child: Pid,
    child_fd: Option<OwnedFd>,
    /// Readable once the launcher's process here is gone.
    launcher: Option<OwnedFd>,
    /// Since when it is gone.
    launcher_gone: Option<Instant>,
    relations: Relations,
    signals: Signals,
    dir: Option<PathBuf>,
}

impl ToolSupervisor {
    fn run(&mut self) -> Ended {
        loop {
            self.wait();
            let mut end_requested = false;
            while let Some(incoming) = self.signals.next() {
                if asks_to_end(incoming.signal) {
                    end_requested = true;
                    if self.relations.sent_to_us_alone(incoming) {
                        self.ask_to_end();
                    }
                }
            }

            // Without a descriptor for the launcher (an old kernel), a request to end from a parent
            // that is gone means the same.
            let gone = self.launcher.as_ref().is_some_and(is_readable);
            if self.launcher_gone.is_none() && (gone || end_requested && self.relations.is_orphan())
            {
                self.launcher = None;
                self.launcher_gone = Some(Instant::now());
                self.tidy_up();
                self.ask_to_end();
            }
            if let Some(ended) = child::ended(self.child) {
                return ended;
            }
            if self
                .launcher_gone
                .is_some_and(|since| since.elapsed() >= LINGER)
            {
                child::end(self.child);
                return Ended::Code(0);
            }
        }
    }

    fn wait(&self) {
        let others = [self.child_fd.as_ref(), self.launcher.as_ref()];
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(&self.signals, PollFlags::IN)];
        fds.extend(
            others
                .into_iter()
                .flatten()
                .map(|fd| PollFd::new(fd, PollFlags::IN)),
        );
        let rest = self
            .launcher_gone
            .map(|since| LINGER.saturating_sub(since.elapsed()));
        let polling = self.child_fd.is_none().then_some(POLL_INTERVAL);
        let timeout = rest.into_iter().chain(polling).min();
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        // Its result does not matter: every source is polled without waiting afterwards.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    fn ask_to_end(&self) {
        let _ = rustix::process::kill_process(self.child, Signal::TERM);
    }

    /// Removes the job's directory on this host.
    fn tidy_up(&self) {
        if let Some(dir) = &self.dir {
            // It may be gone already, or a place may have put a socket into it again.
            let _ = invivo_jobdir::remove_runtime_dir(dir);
        }
    }
}
