//! Child processes, signals and descriptors.

pub mod child;
pub mod poll;
pub mod signals;
