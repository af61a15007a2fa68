//! Programs that the benches compile and start.

use super::results::folder;
use crate::run::{FAMILIES, allow_root, check, dist, root};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// Compiles a program of xtask/bench for Open MPI, where something changed.
pub fn compile(source: &str, output: &str, options: &[&str]) -> Result<PathBuf> {
    let output = folder().join(output);
    let mut compiler = Command::new(FAMILIES[0].compiler.unwrap_or("mpicc"));
    compiler
        .args(["-O2", "-Wall", "-o"])
        .arg(&output)
        .arg(root().join("xtask/bench").join(source))
        .args(options);
    check(&mut compiler)?;
    Ok(output)
}

/// `mpiexec -n COUNT` of Open MPI, allowed to start more processes than there are cores.
pub fn mpiexec(count: u32) -> Command {
    let mut launch = Command::new("mpiexec.openmpi");
    allow_root(&mut launch);
    launch
        .args(["--oversubscribe", "-n", &count.to_string()])
        .current_dir(folder());
    launch
}

/// The `invivo` command of the tree.
pub fn invivo() -> PathBuf {
    dist().join("bin/invivo")
}
