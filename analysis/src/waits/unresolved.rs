//! Calls of collectives whose communicator is not known yet.

use super::at_sites::At;
use super::meeting::Arrival;
use super::shape::Shape;
use invivo_proto::ids::CommLocal;

/// Calls that wait for their communicator's definition: some 3 MB.
pub const UNRESOLVED_MAX: usize = 1 << 15;
/// A call whose communicator is not known yet.
#[derive(Clone, Copy, Debug)]
pub struct Unresolved {
    pub comm: CommLocal,
    pub peer: i32,
    pub ordinal: u64,
    pub shape: Shape,
    pub at: At,
    pub arrival: Arrival,
}
