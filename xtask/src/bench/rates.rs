//! Benches what observing costs by the rate of calls: a lock-stepped exchange with so much work
//! before each that it makes so many calls a second, on full cores and with a core to spare, on
//! both MPIs; the kernel mg at a million calls a second, and LAMMPS.
//!
//! Everything is at its defaults, behind `invivo run` as a user types it. The work is planned once
//! for a program, by the bare program, and is the same in all of its runs.

use super::effort::{Effort, Turns};
use super::machine::Beside;
use super::mpi::{MPIS, Mpi, OPEN_MPI};
use super::pairs::{App, RANKS, lammps, measure, of_kernel, print_head};
use super::results::{folder, write_table};
use crate::run::output;
use anyhow::{Context, Result};

/// Pairs of runs in a short and in a full bench. A short one shows what is far off.
const PAIRS: Turns = (1, 10);
/// Seconds of a bare main loop as it is planned.
const LOOP_S: &str = "10.5";
/// Calls a second and rank, with what a run may be slower, in percent, and whether a short bench
/// has it: on full cores, and with a core to spare.
const FULL_CORES: [Rate; 4] = [
    (1_000, Some(0.5), true),
    (10_000, None, false),
    (35_000, Some(1.5), true),
    (130_000, Some(3.0), true),
];
const SPARE_CORE: [Rate; 4] = [
    (1_000, None, false),
    (10_000, None, false),
    (100_000, Some(1.5), true),
    (1_000_000, None, false),
];
type Rate = (u32, Option<f64>, bool);
/// What mg at a million calls a second, and LAMMPS, may be slower, in percent.
const MG_PERCENT: f64 = 30.0;
const LAMMPS_PERCENT: f64 = 1.0;
/// EZTrace keeps every call in memory and writes it: beyond this rate ten seconds are gigabytes.
const RIVAL_RATE_MAX: u32 = 200_000;
/// In a short bench it runs from this rate on.
const RIVAL_RATE_MIN: u32 = 100_000;

/// Measures all, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let beside = Beside::begin();
    let mut rows = Vec::new();
    print_head();
    for mpi in MPIS {
        for (app, target) in programs(mpi, effort)? {
            let mut row = measure(app, effort, PAIRS)?;
            row["target_percent"] = target.into();
            rows.push(row);
        }
    }
    let about = "Main loops of ten seconds and more, bare, under Invivo as a user types it and \
                 under EZTrace, turn by turn, answers compared and every call found in the report. \
                 Calls a second are those of the bare run; tool CPU is the CPU time of the whole \
                 job less that of the ranks in their loop, and less the same of the bare run: tool \
                 processes, root, gateway, supervisors, and their start and end.";
    write_table("rates", about, effort, &beside, &rows)
}

/// The programs of an MPI, each with what it may be slower.
fn programs(mpi: Mpi, effort: &Effort) -> Result<Vec<(App, Option<f64>)>> {
    let mut programs = Vec::new();
    for (ranks, rates) in [(RANKS, FULL_CORES), (1, SPARE_CORE)] {
        for (rate, target, is_short) in rates {
            let name = format!("exchange {rate}/s, {ranks}");
            if effort.wants(&name) && (is_short || effort.full || effort.only.is_some()) {
                let rival = rate <= RIVAL_RATE_MAX && (rate >= RIVAL_RATE_MIN || effort.full);
                programs.push((exchange(mpi, name, ranks, rate, rival)?, target));
            }
        }
    }

    if effort.wants("mg") {
        let mg = App {
            mpi,
            name: "mg".into(),
            about: "neighbours on grids of eight sizes, a million calls a second".into(),
            ranks: RANKS,
            program: mpi.compile("kernels.c", "kernels-c", &[])?,
            arguments: ["mg", "20000", "500"].map(str::to_owned).to_vec(),
            steps: Some(1),
            folder: folder(),
            rival: false,
            read: of_kernel,
        };
        programs.push((mg, Some(MG_PERCENT)));
    }
    // Debian's LAMMPS is linked with Open MPI.
    if mpi == OPEN_MPI && effort.wants("LAMMPS melt") {
        let about = "molecular dynamics, 4,000 atoms";
        let mut melt = lammps(mpi, "LAMMPS melt", RANKS, ("melt", 1000), about)?;
        melt.rival = effort.full;
        programs.push((melt, Some(LAMMPS_PERCENT)));
    }
    Ok(programs)
}

/// The exchange at a rate of calls.
pub fn exchange(mpi: Mpi, name: String, ranks: u32, rate: u32, rival: bool) -> Result<App> {
    let program = mpi.compile("exchange.c", "exchange", &[])?;
    let mut plan = mpi.launch(ranks);
    plan.arg(&program).args(["plan", &rate.to_string(), LOOP_S]);
    let said = output(&mut plan)?;
    let words: Vec<&str> = said.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "plan");
    let planned = words.get(at.context("no plan")? + 1..).unwrap_or(&[]);
    let mut arguments = vec!["run".to_owned()];
    arguments.extend(planned.iter().map(|&word| word.to_owned()));
    Ok(App {
        mpi,
        name,
        about: "MPI_Irecv, MPI_Isend and MPI_Waitall in lock-step".into(),
        ranks,
        program,
        arguments,
        // Planned for the time that it takes.
        steps: None,
        folder: folder(),
        rival,
        read: of_kernel,
    })
}
