//! Result files of the benches: single figures and tables, as JSON in `target/bench`.

use super::effort::Effort;
use super::machine::{Beside, machine};
use crate::run::root;
use anyhow::Result;
use serde_json::Value;
use std::path::PathBuf;

/// Writes the table of a bench: its rows, the machine, and the load of others meanwhile. A table of
/// some rows only is no result, and is not written.
pub fn write_table(
    name: &str,
    about: &str,
    effort: &Effort,
    beside: &Beside,
    rows: &[Value],
) -> Result<()> {
    if effort.only.is_some() {
        println!("only some: nothing is written");
        return Ok(());
    }
    let table = serde_json::json!({
        "name": name, "about": about, "full": effort.full, "machine": machine(),
        "beside": beside.json(), "rows": rows,
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

/// A single figure beside its baseline.
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
    /// Writes the figure to its file and prints it.
    pub fn write(&self) -> Result<()> {
        let ratio = self.value / self.baseline;
        let text = serde_json::to_string_pretty(&serde_json::json!({
            "name": self.name, "value": self.value, "unit": self.unit, "baseline": self.baseline,
            "ratio": ratio,
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

/// The folder of results and compiled programs.
pub fn folder() -> PathBuf {
    root().join("target/bench")
}
