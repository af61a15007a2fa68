//! The gateway of a job: a gRPC server on a Unix socket of the user and, on request, with TLS on
//! TCP. It runs outside MPI and gets all its data from the root analysis node over another Unix
//! socket, so it can crash and be restarted at any time without any effect on the job.
//!
//! Not here: MPI, any analysis, anything about ranks beyond the messages.

#![forbid(unsafe_code)]

pub mod audit;
pub mod auth;
mod capabilities;
pub mod connect_file;
pub mod connection;
pub mod limits;
pub mod listener;
pub mod root_link;
pub mod server;
pub mod service;
