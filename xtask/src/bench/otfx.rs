//! Benches the buffer beside libotf2's writer: time and bytes per call, pair and sample, reading,
//! the distribution of insert times, the cost of removals, and seconds of history.
//!
//! One of the streams is recorded from LAMMPS first. The program is otfx/examples/bench, built as a
//! release.

use super::results::{Figure, folder};
use super::stream;
use crate::run::{cargo, check, output};
use anyhow::{Context, Result};

/// Measures and writes all figures.
pub fn run() -> Result<()> {
    let melt = stream::recorded()?;
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
    bench.arg(folder()).arg(melt.with_extension("0"));

    for line in output(&mut bench)?.lines() {
        let figure: serde_json::Value =
            serde_json::from_str(line).with_context(|| line.to_owned())?;

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
    scenario.args([
        "run",
        "--release",
        "-p",
        "invivo-otfx",
        "--example",
        "scenario",
    ]);
    check(&mut scenario)
}
