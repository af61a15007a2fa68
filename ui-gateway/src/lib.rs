//! The gateway of a job: a gRPC server on a Unix socket of the user, outside MPI, fed by the root of the
//! measurement over another Unix socket. It may die and be started again at any time: all that it knows it has
//! from the root, and the job does not notice.
//!
//! Not here: MPI, any analysis, anything about ranks beyond the messages.

pub mod audit;
pub mod auth;
pub mod feed;
pub mod limits;
pub mod link;
pub mod listener;
pub mod server;
pub mod service;
