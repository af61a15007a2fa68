//! What the diagnosis of a hang needs to know beside the pending calls.

use crate::groups::Members;
use invivo_proto::ids::CommId;

/// Ranks are inspected one after the other. Calls that have all been pending for so long were
/// pending together, as a wave takes far less; younger ones may be over by the time that the next
/// rank is inspected.
pub const SETTLED_NS: u64 = 1_000_000_000;

/// What else is known of the job.
pub struct Surroundings<'a> {
    /// Ranks of the application.
    pub ranks: u32,
    /// The members of a communicator, as far as they were reported.
    pub members: &'a dyn Fn(CommId) -> Option<Members>,
}
