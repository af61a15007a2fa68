//! What is fixed about MPI whatever the library: its functions by number, and special peers.

/// Peers that are no ranks. Families have other numbers for them; the shim maps to these.
pub mod peer {
    /// No peer, no root.
    pub const NONE: i32 = -1;
    /// `MPI_ANY_SOURCE` of a receive that was posted and not yet matched.
    pub const ANY: i32 = -2;
    /// `MPI_PROC_NULL`.
    pub const NULL: i32 = -3;
    /// `MPI_ROOT` of a collective on an intercommunicator.
    pub const ROOT: i32 = -4;
}
/// `MPI_ANY_TAG` of a receive that was posted and not yet matched.
pub const ANY_TAG: i32 = -2;

/// One MPI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its C name.
    pub name: &'static str,
    /// Whether calls of it are recorded (query-only functions are not).
    pub recorded: bool,
}

/// All functions; a [`crate::ids::RegionId`] is an index here. Index 0 is no function.
pub const FUNCTIONS: &[Function] = &include!("functions.rs");

/// The name of a region.
pub fn name(region: crate::ids::RegionId) -> &'static str {
    FUNCTIONS
        .get(usize::from(region.0))
        .map_or("unknown function", |f| f.name)
}
