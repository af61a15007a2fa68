//! The supervisor of the root: gateway, result, last seconds, and what is removed afterwards.

pub mod assignment;
pub mod cleanup;
pub mod end_without_node;
pub mod final_message;
pub mod gateway_process;
pub mod last_seconds;
mod lost_node;
pub mod publication;
pub mod result;
pub mod salvage;
mod save_at_end;
mod saving;
pub mod supervisor;
pub mod waiters;
