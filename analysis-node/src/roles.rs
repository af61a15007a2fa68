//! The two roles of an analysis node on MPI, inner node and root: messages in, messages out.

mod branch;
mod root;
mod tree_messages;

pub use branch::BranchRole;
pub use root::RootRole;
