//! Processes of the tree as the launcher sees them: how they start, wait and end.

pub mod command;
pub mod process_proxy;
pub mod processors;
pub mod startup_barrier;
pub mod test_hooks;
pub mod tool_supervisor;
