//! The gateway interface as Rust, and `connect.json`, which says where a job's gateway is.

pub mod connect;
