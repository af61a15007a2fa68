//! The gateway of a job: a gRPC server on a Unix socket of the user, and with TLS on TCP when asked
//! to, outside MPI, fed by the root of the measurement over another Unix socket. It may die and be
//! started again at any time: all that it knows it has from the root, and the job does not notice.
//!
//! Not here: MPI, any analysis, anything about ranks beyond the messages.

pub mod announce;
pub mod answer;
pub mod audit;
pub mod auth;
pub mod commands;
pub mod complaints;
pub mod connection;
pub mod door;
pub mod feed;
pub mod front;
pub mod invite;
pub mod last;
pub mod limits;
pub mod link;
pub mod listener;
pub mod orders;
mod random;
pub mod rate;
pub mod server;
pub mod service;
pub mod tls;
pub mod visit;
