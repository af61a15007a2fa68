//! Records the calls of a real program as streams for the benches of single parts of Invivo:
//! LAMMPS' melt on four ranks, recorded by a library that shares no code with Invivo.

use super::programs::{compile, mpiexec};
use super::results::folder;
use crate::run::check;
use anyhow::{Context, Result};
use std::fmt::Display;
use std::path::PathBuf;
use std::process::Stdio;

/// The folder of LAMMPS' examples.
const EXAMPLES: &str = "/usr/share/lammps/examples";
/// Time steps: some 200,000 calls of each rank, more than the example takes.
const STEPS: u32 = 8000;

/// Records the calls; the files are `PATH.0` to `PATH.3`.
pub fn recorded() -> Result<PathBuf> {
    let library = compile("stream.c", "libstream.so", &["-shared", "-fPIC"])?;
    let input = input("melt", STEPS)?;
    let files = folder().join("melt");
    let mut launch = mpiexec(4);
    launch
        // The library is given to the ranks, not to the launcher.
        .arg("-x")
        .arg(format!("LD_PRELOAD={}", library.display()))
        .arg("-x")
        .arg(format!("INVIVO_STREAM={}", files.display()));
    launch.args(["lmp", "-in"]).arg(&input);
    check(launch.stdin(Stdio::null()).stdout(Stdio::null()))?;
    Ok(files)
}

/// An example's input with so many time steps.
pub fn input(example: &str, steps: impl Display) -> Result<PathBuf> {
    let from = format!("{EXAMPLES}/{example}/in.{example}");
    let text = std::fs::read_to_string(&from).context(from)?;

    let as_long = |line: &str| match line.split_whitespace().next() {
        Some("run") => format!("run {steps}\n"),
        _ => format!("{line}\n"),
    };
    let steps = steps.to_string();
    let file = folder().join(format!(
        "{example}-{}.in",
        steps.trim_matches(['$', '{', '}'])
    ));
    std::fs::write(&file, text.lines().map(as_long).collect::<String>())?;
    Ok(file)
}
