//! The `invivo` command.

pub mod connect;
