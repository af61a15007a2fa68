//! What lives longer than a call: communicators, groups, requests, sizes of datatypes, call sites,
//! regions, what the program counts itself.

pub mod communicator_ids;
pub mod communicators;
pub mod datatype_sizes;
pub mod definitions;
mod files;
mod groups;
mod handle_table;
pub mod program_metrics;
pub mod regions;
pub mod requests;
mod shared_table;
pub mod sites;
pub mod windows;
