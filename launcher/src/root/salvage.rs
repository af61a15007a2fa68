//! What a root's process that died leaves behind: another process takes the newest packets of its
//! ranks out of their shared memory, and the report is made of them.
//!
//! ```text
//! the tool process dies: its ranks' supervisors see their connections close, switch recording off,
//!                        and look for somebody at the socket where their place was
//! the same program, without MPI: listens there, takes all that lies in the ranks' memory, makes
//!                        the last queries to itself, hands the result to us, and leaves
//! ```
//!
//! That process is in no job: whatever becomes of it, the ranks run on, and end as they would.

use crate::process::child::{self, Ended, Inheritance};
use invivo_proto::control::link::Final;
use invivo_proto::control::results::NOTES_MAX;
use invivo_report::death;
use nix::sys::signal::SigSet;
use rustix::process::Pid;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long it may take: it waits three seconds for supervisors that do not come, and five for
/// members of the tree that are elsewhere.
const SALVAGE_MAX: Duration = Duration::from_secs(10);
/// Bytes of one location's buffer: a rank's packets have 1.6 MiB, and it is where memory may have
/// run out that somebody is salvaged.
const BUFFER_BYTES: u64 = 4 << 20;
/// Buffers per rank: threads share their rank's packets.
const BUFFERS_PER_RANK: u64 = 2;

/// A process that salvages.
#[derive(Debug)]
pub struct Salvage {
    process: Pid,
    since: Instant,
    died: Ended,
}

impl Salvage {
    /// Starts the process by a tool process' command line: it takes what is left of so many ranks,
    /// whose buffers had so many bytes each, and hands the result to `report`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start(
        mut command: Command,
        (ranks, bytes): (u32, u64),
        report: &OwnedFd,
        mask: SigSet,
        died: Ended,
    ) -> std::io::Result<Salvage> {
        let buffer_bytes = bytes.min(BUFFER_BYTES);
        let budget_bytes = u64::from(ranks) * BUFFERS_PER_RANK * buffer_bytes;
        command.arg("--salvage");
        command.arg("--buffer-bytes").arg(buffer_bytes.to_string());
        command.arg("--budget-bytes").arg(budget_bytes.to_string());
        let inheritance = Inheritance {
            mask,
            descriptors: &[report.as_fd()],
            // The launcher's connection is none of its business.
            nothing_else: true,
        };
        Ok(Salvage {
            process: child::start(command, inheritance)?,
            since: Instant::now(),
            died,
        })
    }

    /// Whether it is over: the process has ended, or had its time and is ended.
    pub fn is_over(&self) -> bool {
        if child::ended(self.process).is_some() {
            return true;
        }
        let is_late = self.left().is_zero();
        if is_late {
            child::end(self.process);
        }
        is_late
    }

    /// How the process ended that left what is taken.
    pub fn died(&self) -> Ended {
        self.died
    }

    /// How much time it has left.
    pub fn left(&self) -> Duration {
        SALVAGE_MAX.saturating_sub(self.since.elapsed())
    }

    /// Says in the result what it is made of.
    pub fn mark(&self, result: &mut Final) {
        let notes = &mut result.status.notes;
        notes.insert(0, death::tool_process(&self.died.into()));
        notes.truncate(NOTES_MAX);
    }
}
