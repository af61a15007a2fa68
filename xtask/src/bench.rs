//! `cargo xtask bench`: figures beside a baseline measured in the same run. Each goes to
//! target/bench/NAME.json with name, value, unit, baseline, ratio (value / baseline), and a
//! paragraph about what was measured; or, where there are many of a kind, a table does, with the
//! machine, and how busy others kept it.

mod apps;
mod bytes;
mod machine;
mod mpi;
mod otfx;
mod page;
mod place;
mod shim;
mod startup;
mod statistics;
mod steer;
mod stream;
mod svg;
mod tree;

use crate::run::{FAMILIES, allow_root, check, dist, root};
use anyhow::Result;
use machine::{Beside, machine};
use serde_json::Value;
use statistics::quantile;
use std::path::PathBuf;
use std::process::Command;

/// A bench by its name, with the function that runs it; the argument asks for a full run.
type Bench = (&'static str, fn(bool) -> Result<()>);
/// All of them.
const BENCHES: [Bench; 10] = [
    ("shim", shim::run),
    ("steer", |_| steer::run()),
    ("bytes", bytes::run),
    ("otfx", |_| otfx::run()),
    ("otfx-scenario", |_| otfx::scenario()),
    ("place", place::run),
    ("apps", apps::run),
    ("startup", startup::run),
    ("tree", tree::run),
    // The last: it shows what the others measured.
    ("page", |_| page::write()),
];
/// Their names.
pub const NAMES: [&str; BENCHES.len()] = {
    let mut names = [""; BENCHES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = BENCHES[at].0;
        at += 1;
    }
    names
};

/// Whether a bench, or one of all, runs jobs under Invivo. Those of buffers and of the place
/// measure libraries.
pub fn needs_tree(name: Option<&str>) -> bool {
    !name.is_some_and(|name| name.starts_with("otfx") || ["place", "page"].contains(&name))
}

/// Runs one, or all; in full, or for a minute or two each.
pub fn run(name: Option<&str>, full: bool) -> Result<()> {
    std::fs::create_dir_all(folder())?;
    let chosen = BENCHES
        .into_iter()
        .filter(|(bench, _)| name.is_none_or(|name| name == *bench));
    for (_, run) in chosen {
        run(full)?;
    }
    Ok(())
}

/// Writes a bench's table: what was measured where and beside what, in full or not, and its rows.
fn write_table(name: &str, about: &str, full: bool, beside: &Beside, rows: &[Value]) -> Result<()> {
    let table = serde_json::json!({
        "name": name, "about": about, "full": full, "machine": machine(), "beside": beside.json(), "rows": rows,
    });
    let file = folder().join(format!("{name}.json"));
    std::fs::write(&file, serde_json::to_string_pretty(&table)? + "\n")?;
    println!(
        "others used {:.2} cores meanwhile; all of it: {}",
        table["beside"]["cores_used_by_others"]
            .as_f64()
            .unwrap_or(0.0),
        file.display()
    );
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
