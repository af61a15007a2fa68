//! What a recorded call costs on top of the call: a program of cheap calls, alone, under a wrapper that only
//! takes two time stamps, and under Invivo in full (packets consumed). The three are run in turn, so that a busy
//! moment of the machine meets all of them.
//!
//! Where there are more processes than cores, Open MPI yields the processor whenever it looks for messages and
//! finds none: half a microsecond in each `MPI_Iprobe`. The tool processes must not bring that on, or the figure
//! would be about the number of cores; so it is switched off in all three.

use super::{Figure, compile, invivo, mpiexec, quantile};
use crate::run::output;
use anyhow::Result;
use std::collections::BTreeMap;
use std::process::Command;

/// Runs of each kind.
const ROUNDS: usize = 7;
/// Measured loops of 20,000 calls per run.
const BATCHES: &str = "15";
/// The kinds of calls with the names of their figures.
const KINDS: [(&str, &str); 3] = [
    ("iprobe", "shim-iprobe"),
    ("sendrecv", "shim-sendrecv"),
    ("waitall", "shim-waitall"),
];

/// ns per call by kind of call.
type Samples = BTreeMap<String, Vec<f64>>;

/// Measures and writes three figures.
pub fn run() -> Result<()> {
    let calls = compile("calls.c", "calls", &[])?;
    let stamps = compile("stamps.c", "libstamps.so", &["-shared", "-fPIC"])?;
    let (mut bare, mut stamped, mut observed) = (Samples::new(), Samples::new(), Samples::new());
    for _ in 0..ROUNDS {
        collect(launch(2).arg(&calls).arg(BATCHES), &mut bare)?;
        collect(
            launch(2)
                .arg("-x")
                .arg(format!("LD_PRELOAD={}", stamps.display()))
                .arg(&calls)
                .arg(BATCHES),
            &mut stamped,
        )?;
        // Two ranks, their place, the root.
        collect(
            launch(4)
                .arg(invivo())
                .args(["exec", "--quiet", "--"])
                .arg(&calls)
                .arg(BATCHES),
            &mut observed,
        )?;
    }
    for (kind, name) in KINDS {
        let median = |samples: &mut Samples| {
            quantile(samples.get_mut(kind).map_or(&mut [][..], Vec::as_mut_slice), 0.5)
        };
        let (alone, with_stamps, with_all) =
            (median(&mut bare)?, median(&mut stamped)?, median(&mut observed)?);
        Figure {
            name,
            value: with_all - alone,
            unit: "ns/call added",
            baseline: with_stamps - alone,
            about: format!(
                "Medians over {ROUNDS} interleaved runs of two ranks (one works, one sleeps), Open MPI: {alone:.1} ns per call alone, {with_stamps:.1} with a \
                 wrapper that takes two time stamps (the baseline), {with_all:.1} recorded in full."
            ),
        }
        .write()?;
    }
    Ok(())
}

fn launch(count: u32) -> Command {
    let mut launch = mpiexec(count);
    launch.args(["--mca", "mpi_yield_when_idle", "0"]);
    launch
}

fn collect(command: &mut Command, samples: &mut Samples) -> Result<()> {
    for line in output(command)?.lines() {
        if let Some((kind, ns)) = line.split_once(' ') {
            samples.entry(kind.to_owned()).or_default().push(ns.parse()?);
        }
    }
    Ok(())
}
