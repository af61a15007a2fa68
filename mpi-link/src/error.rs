//! What can go wrong between two processes of the job.

use invivo_proto::ids::WorldRank;
use std::time::Duration;

/// How long the end waits for the last messages to be read by others, and then for them. Both take
/// some milliseconds unless a process is stopped; leaving earlier would make the job's exit status
/// ours.
pub(crate) const FINISH_WAIT_MAX: Duration = Duration::from_secs(5);

/// What can go wrong between two processes of the job.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// MPI was initialised before, or could not be.
    #[error("MPI cannot be initialised in this process")]
    Initialise,
    /// MPI refused.
    #[error("{doing} failed with MPI error {code}")]
    Mpi { doing: &'static str, code: i32 },
    /// At the end, another process did not take the last message: MPI would wait for it for ever.
    #[error("process {to} took no message for {} s at the end", FINISH_WAIT_MAX.as_secs())]
    Unread { to: WorldRank },
    /// More bytes than MPI counts.
    #[error("message of {bytes} bytes is longer than MPI can carry")]
    TooLong { bytes: usize },
}
