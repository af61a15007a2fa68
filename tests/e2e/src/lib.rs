//! What the end-to-end tests stand on: real MPI programs, built here, run bare and under Invivo,
//! and what they and others say about them compared.
//!
//! A test fails by panicking, like every test: the functions here panic with a sentence where a run
//! did not go as it must, and a job that is dropped by a panic prints everything that it wrote.
//!
//! The tests expect the tree of `cargo xtask build` in `target/dist` (or where INVIVO_DIST says)
//! and the Python of `cargo xtask test` in `target/python` (or INVIVO_PYTHON). They run one after
//! the other, whatever the number of test threads: a job has more processes than a small machine
//! has cores.

pub mod apps;
pub mod asked;
pub mod beside;
pub mod call_log;
pub mod checks;
pub mod client;
pub mod clock_log;
pub mod control_group;
pub mod counts;
pub mod crowd;
pub mod ended;
pub mod every;
pub mod family;
pub mod functions;
pub mod hosts;
pub mod instructions;
pub mod interval;
pub mod job;
pub mod kills;
pub mod manual;
pub mod output;
pub mod places;
pub mod processes;
pub mod python;
pub mod report;
pub mod screen;
pub mod seen;
pub mod slurm;
pub mod soak;
pub mod timeline;
pub mod whole;
