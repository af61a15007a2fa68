//! The supervisor of one rank of the application.

pub mod assignment;
pub mod fd_handover;
mod inspection;
mod measuring;
mod passed;
pub mod pause;
pub mod place_socket;
mod program_metrics;
mod readings;
pub mod salvager;
mod sampling;
pub mod shared_memory;
mod spent;
pub mod supervisor;
