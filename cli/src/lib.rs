//! The `invivo` command.

pub mod connect;
pub mod report;
pub mod view;
