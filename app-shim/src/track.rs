//! What lives longer than a call: communicators, groups, requests, sizes of datatypes, call sites.

pub mod communicator_ids;
pub mod communicators;
pub mod datatype_sizes;
pub mod definitions;
mod groups;
mod handle_table;
pub mod requests;
mod shared_table;
pub mod sites;
pub mod windows;
