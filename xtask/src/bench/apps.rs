//! Benches whole programs: each bare and under Invivo, in pairs one after the other, with the same
//! answers.
//!
//! They are kernels of our own with the patterns of the NAS benchmarks, in C and Fortran, whose
//! call rates follow from the work between two exchanges, and real programs: LAMMPS, and in a full
//! run the HPC Challenge benchmark.

mod programs;

use super::effort::{Effort, Turns};
use super::machine::Beside;
use super::mpi::OPEN_MPI;
use super::pairs::{measure, print_head};
use super::results::write_table;
use anyhow::Result;
pub use programs::hpcc;

/// Pairs of runs in a short and in a full bench. A short one takes two runs of ten seconds of each
/// program, and shows what is out of order.
const PAIRS: Turns = (1, 10);

/// Measures all programs, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let beside = Beside::begin();
    let mut rows = Vec::new();
    print_head();
    for app in programs::all(OPEN_MPI, effort.full || effort.only.is_some())? {
        if effort.wants(&app.name) {
            rows.push(measure(app, effort, PAIRS)?);
        }
    }
    let about = "Main loops of ten seconds and more, bare and under Invivo as a user types it, on \
                 Open MPI, in pairs one after the other, answers compared and every call found in \
                 the report. Ranks and tools share the cores.";
    write_table("apps", about, effort, &beside, &rows)
}
