//! The life of an observed process: attaching, start, `MPI_Finalize`, `MPI_Abort`, faults,
//! refusals.

pub mod abort;
pub mod attach;
mod fault;
pub mod finalize;
mod found_numbers;
pub mod init_lock;
pub mod refusals;
pub mod sessions;
mod spinning;
pub mod start;
mod supervisor;
mod supervisor_fds;
