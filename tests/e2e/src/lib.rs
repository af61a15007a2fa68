//! Support of the end-to-end tests: real MPI programs, run bare and under Invivo, and comparisons.
//!
//! A test fails by panicking, like every test: the functions here panic with a sentence where a run
//! did not go as it must, and a job that is dropped by a panic prints everything that it wrote.
//!
//! The tests expect the tree of `cargo xtask build` in `target/dist` (or where INVIVO_DIST says),
//! for some of them the tree with test hooks in `target/dist-hooks` (INVIVO_DIST_HOOKS), and the
//! Python of `cargo xtask test` in `target/python` (INVIVO_PYTHON). Jobs run one after the other,
//! whatever the number of test threads: a job has more processes than a small machine has cores.
//!
//! ```text
//! mpi/       the MPI libraries                  programs/  test programs, preloaded libraries
//! job/       one run of a program               cluster/   hosts, Slurm, control groups
//! clients/   clients of a running job           processes  processes of a job, by their mark
//! logs/      what programs write down           results/   report, page and timeline
//! checks     what must hold of every report     interval   what must hold of a cut-out table
//! kills/     random kills of processes          soak/      long runs with random clients
//! remarks    what tests say of themselves   login      a login server on loopback
//! gprof      calls as gprof lists them      perf_stat  what the kernel counts of a process
//! ```

#![forbid(unsafe_code)]

pub mod callgrind;
pub mod campaign;
pub mod checks;
pub mod clients;
pub mod cluster;
pub mod feature_table;
pub mod gprof;
pub mod interval;
pub mod job;
pub mod kills;
pub mod login;
pub mod logs;
pub mod manual;
pub mod mpi;
pub mod paths;
pub mod perf_stat;
pub mod processes;
pub mod programs;
pub mod remarks;
pub mod results;
pub mod soak;
pub mod tested_functions;
