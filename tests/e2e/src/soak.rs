//! A long run of one job with random clients, and a check that no process leaks.
//!
//! While [`random_clients`] steer the job, a [`sampler`] measures the [`resource_usage`] of every
//! process, which is judged in the end by its [`trend`] beside a bare run of the same program.

pub mod random_clients;
pub mod resource_usage;
pub mod sampler;
pub mod trend;
