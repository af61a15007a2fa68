//! What lives longer than a call: communicators, groups, requests, sizes of datatypes, call sites,
//! regions.

pub mod communicator_ids;
pub mod communicators;
pub mod datatype_sizes;
pub mod definitions;
mod files;
mod groups;
mod handle_table;
pub mod regions;
pub mod requests;
mod shared_table;
pub mod sites;
pub mod windows;
