//! `invivo exec` below real launchers: what the application and the launcher see is what they would
//! see without it. The programs here use no MPI and the tool processes are played by scripts, so
//! this needs Open MPI's and MPICH's launchers only; one that is not installed is left out, and
//! said so.
//!
//! ```text
//! world    what the application finds        ends    statuses, reports, what is left
//! signals  who gets them, and how often      deaths  processes of ours that are killed
//! hosts    a job over two                    lines   what is typed
//! ```

mod deaths;
mod ends;
mod hosts;
mod lines;
mod signals;
mod stage;
mod watchdog;
mod world;

/// Ranks of the application in these tests, and processes in all.
const RANKS: u32 = 2;
const TOTAL: u32 = 4;
