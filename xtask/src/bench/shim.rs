//! What a recorded call costs on top of the call: a program of cheap calls, alone, under a wrapper that only
//! takes two time stamps, and under Invivo in full (packets consumed). The three are run in turn, so that a busy
//! moment of the machine meets all of them.

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
        collect(mpiexec(1).arg(&calls).arg(BATCHES), &mut bare)?;
        collect(
            mpiexec(1)
                .arg("-x")
                .arg(format!("LD_PRELOAD={}", stamps.display()))
                .arg(&calls)
                .arg(BATCHES),
            &mut stamped,
        )?;
        // One rank, its place, the root.
        collect(
            mpiexec(3)
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
                "Medians over {ROUNDS} interleaved runs of one rank, Open MPI: {alone:.1} ns per call alone, {with_stamps:.1} with a \
                 wrapper that takes two time stamps (the baseline), {with_all:.1} recorded in full."
            ),
        }
        .write()?;
    }
    Ok(())
}

fn collect(command: &mut Command, samples: &mut Samples) -> Result<()> {
    for line in output(command)?.lines() {
        if let Some((kind, ns)) = line.split_once(' ') {
            samples.entry(kind.to_owned()).or_default().push(ns.parse()?);
        }
    }
    Ok(())
}
