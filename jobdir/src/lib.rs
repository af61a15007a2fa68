//! The directories of jobs on a host: `connect.json` in the state directory, sockets in the runtime
//! directory, and files that are written whole.
//!
//! ```text
//! connect <- directories      connect.json; the list of running jobs; runtime directories
//! kept                        timelines and reports of jobs that are over
//! orphans <- directories      runtime directories of jobs that were killed with all processes
//! no_core_dump                of processes that hold tokens
//! private                     is a directory its user's alone
//! process_stat                /proc/PID/stat: does a process still run, who started it
//! random                      tokens and ids
//! surplus                     which of the files that are kept are too many
//! whole_file                  a file is replaced at once, or stays as it was
//! ```
//!
//! The supervisors of a job write them, the gateway and clients read them.

#![forbid(unsafe_code)]

mod connect;
mod directories;
mod kept;
mod no_core_dump;
mod orphans;
mod private;
pub mod process_stat;
pub mod random;
mod surplus;
pub mod whole_file;

pub use connect::{Connect, ConnectError, FILE_NAME, Liveness, host};
pub use directories::*;
pub use kept::{Kept, kept_path};
pub use no_core_dump::no_core_dump;
pub use orphans::{hold_runtime_dir, remove_orphans};
pub use private::{NotPrivate, check_dir};
