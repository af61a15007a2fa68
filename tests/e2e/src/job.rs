//! One run of an MPI program, bare or under Invivo.
//!
//! ```text
//! description   what a job is to be, until it starts
//! command_line  the command line of that
//! environment   the variables of an MPI's jobs
//! start         from the description to a running job, one at a time
//! running       a job that runs: its processes, its clients, its files
//! ended         a job that has ended by itself, and what is left of it
//! output        what each process wrote
//! ```

mod command_line;
mod description;
mod ended;
mod environment;
mod output;
mod running;
mod start;

pub use description::Job;
pub use ended::Ended;
pub use environment::{PRELOAD, environment};
pub use running::Running;
pub use start::turn;
