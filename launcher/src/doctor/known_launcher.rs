//! An MPI launcher that was found on this machine.

use crate::job::environment::Family;

/// An MPI launcher that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// As one types it.
    pub name: String,
    /// The MPI family.
    pub family: Family,
    /// What it says of itself, or nothing.
    pub version: String,
}
