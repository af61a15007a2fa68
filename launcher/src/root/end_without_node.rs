//! Ends a job whose only tool process is gone, once no rank works any more.
//!
//! `MPI_Finalize` waits for all processes of a job, so for the dead one for ever, on some MPIs; and
//! launchers end a job of which a process failed at once. So we stay while ranks work, and leave as
//! the process did when all are in `MPI_Finalize`.

use crate::process::child::Ended;
use crate::tool::startup_barrier::StartupBarrier;
use std::time::{Duration, Instant};

/// Between two looks at the notes of the ranks.
pub const POLL: Duration = Duration::from_secs(1);
/// What ranks have for the way from the note to the end of what they print.
const GRACE: Duration = Duration::from_secs(2);

/// The end of such a job.
#[derive(Debug)]
pub struct EndWithoutNode {
    notes: StartupBarrier,
    node: Ended,
    all_through: Option<Instant>,
}

impl EndWithoutNode {
    /// Of a job whose tool process ended like this.
    pub fn new(notes: StartupBarrier, node: Ended) -> EndWithoutNode {
        EndWithoutNode {
            notes,
            node,
            all_through: None,
        }
    }

    /// As what to leave, once it is time.
    pub fn status(&mut self) -> Option<Ended> {
        if self.all_through.is_none() && self.notes.all_through() {
            self.all_through = Some(Instant::now());
        }
        let is_time = self.all_through?.elapsed() >= GRACE;
        is_time.then_some(self.node)
    }
}
