//! The buffer beside libotf2's writer: time and bytes per call, pair and sample, reading, the distribution of insert
//! times, the cost of removals, and seconds of history. One of the streams is recorded from LAMMPS first. What is
//! measured is otfx/examples/bench, built as a release.

use super::{Figure, compile, folder, mpiexec};
use crate::run::{cargo, check, output};
use anyhow::{Context, Result};
use std::process::Stdio;

/// The input of LAMMPS' melt example.
const MELT: &str = "/usr/share/lammps/examples/melt/in.melt";
/// Time steps: some 200,000 calls of each rank.
const STEPS: u32 = 8000;

/// Measures and writes all figures.
pub fn run() -> Result<()> {
    record()?;
    let mut bench = cargo();
    bench.args([
        "run",
        "--release",
        "-p",
        "invivo-otfx",
        "--example",
        "bench",
        "--",
    ]);
    bench.arg(folder()).arg(folder().join("melt.0"));
    for line in output(&mut bench)?.lines() {
        let figure: serde_json::Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
        let text = |name: &str| figure[name].as_str().with_context(|| line.to_owned());
        let number = |name: &str| figure[name].as_f64().with_context(|| line.to_owned());
        Figure {
            // A few dozen, once, in a program that ends.
            name: text("name")?.to_owned().leak(),
            value: number("value")?,
            unit: text("unit")?.to_owned().leak(),
            baseline: number("baseline")?,
            about: text("about")?.to_owned(),
        }
        .write()?;
    }
    Ok(())
}

/// Prints the published scenarios of adaptive sampling, as the real buffer plays them.
pub fn scenario() -> Result<()> {
    let mut scenario = cargo();
    scenario.args(["run", "--release", "-p", "invivo-otfx", "--example", "scenario"]);
    check(&mut scenario)
}

/// Records the calls of LAMMPS' melt on four ranks, longer than the example runs.
fn record() -> Result<()> {
    let library = compile("stream.c", "libstream.so", &["-shared", "-fPIC"])?;
    let melt = std::fs::read_to_string(MELT).with_context(|| MELT.to_owned())?;
    let longer = |line: &str| match line.split_whitespace().next() {
        Some("run") => format!("run {STEPS}\n"),
        _ => format!("{line}\n"),
    };
    let input = folder().join("melt.in");
    std::fs::write(&input, melt.lines().map(longer).collect::<String>())?;
    let mut launch = mpiexec(4);
    launch
        .arg("-x")
        .arg(format!("LD_PRELOAD={}", library.display()))
        .arg("-x")
        .arg(format!("INVIVO_STREAM={}", folder().join("melt").display()));
    launch.args(["lmp", "-in"]).arg(&input);
    check(launch.stdin(Stdio::null()).stdout(Stdio::null()))
}
