//! `cargo xtask bench`: figures beside a baseline measured in the same run. Each goes to target/bench/NAME.json
//! with name, value, unit, baseline, ratio (value / baseline), and a paragraph about what was measured.

mod bytes;
mod otfx;
mod shim;
mod steer;

use crate::run::{FAMILIES, allow_root, check, dist, root};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// The benches by name.
pub const NAMES: [&str; 5] = ["shim", "steer", "bytes", "otfx", "otfx-scenario"];

/// Whether a bench, or one of all, runs jobs under Invivo. Those of buffers measure a library.
pub fn needs_tree(name: Option<&str>) -> bool {
    !name.is_some_and(|name| name.starts_with("otfx"))
}

/// Runs one, or all.
pub fn run(name: Option<&str>) -> Result<()> {
    std::fs::create_dir_all(folder())?;
    for bench in NAMES
        .into_iter()
        .filter(|bench| name.is_none_or(|name| name == *bench))
    {
        match bench {
            "shim" => shim::run()?,
            "steer" => steer::run()?,
            "otfx" => otfx::run()?,
            "otfx-scenario" => otfx::scenario()?,
            _ => bytes::run()?,
        }
    }
    Ok(())
}

/// One figure.
pub struct Figure {
    /// Also the file's name.
    pub name: &'static str,
    /// What was measured.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// What it is to be compared with, in the same unit.
    pub baseline: f64,
    /// How to read it.
    pub about: String,
}

impl Figure {
    /// Writes it and says it.
    pub fn write(&self) -> Result<()> {
        let ratio = self.value / self.baseline;
        let text = serde_json::to_string_pretty(&serde_json::json!({
            "name": self.name, "value": self.value, "unit": self.unit, "baseline": self.baseline, "ratio": ratio,
            "about": self.about,
        }))?;
        std::fs::write(folder().join(format!("{}.json", self.name)), text + "\n")?;
        println!(
            "{:<24} {:>9.2} {:<14} baseline {:>9.2}  ratio {ratio:.3}",
            self.name, self.value, self.unit, self.baseline
        );
        Ok(())
    }
}

/// Where results and programs go.
fn folder() -> PathBuf {
    root().join("target/bench")
}

/// Compiles a program of xtask/bench for Open MPI, where something changed.
fn compile(source: &str, output: &str, options: &[&str]) -> Result<PathBuf> {
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
fn mpiexec(count: u32) -> Command {
    let mut launch = Command::new("mpiexec.openmpi");
    allow_root(&mut launch);
    launch
        .args(["--oversubscribe", "-n", &count.to_string()])
        .current_dir(folder());
    launch
}

/// The tree's command.
fn invivo() -> PathBuf {
    dist().join("bin/invivo")
}

/// The value below which this part of all values lies.
fn quantile(values: &mut [f64], part: f64) -> Result<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1).context("nothing was measured")?;
    Ok(values[(last as f64 * part).round() as usize])
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let mut values: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&mut values, 0.5).unwrap(), 50.0);
        assert_eq!(quantile(&mut values, 0.99).unwrap(), 99.0);
        assert!(quantile(&mut [], 0.5).is_err());
    }
}
