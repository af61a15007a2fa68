//! The lease for which the gates of a place's ranks stay closed.

use crate::agenda::{SECOND, Time};

/// How long a gate stays closed where nobody pushes it on, in ns.
pub const GATE_NS: Time = 2 * SECOND;

/// What the place knows of its gates.
#[derive(Debug, Default)]
pub struct Gates {
    /// The lease in force ends then, by the host's clock.
    pub(super) lease_until: u64,
}
