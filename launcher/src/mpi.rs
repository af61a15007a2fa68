//! Which MPI library the program loads, and the shim that fits it.

pub mod library;
pub mod preload;
pub mod program;
pub mod shim_copy;
pub mod symbols;
