//! The report of a job as a page, read by a parser of Python.

use crate::paths::root;
use crate::programs::python;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

#[derive(Clone, Debug, Deserialize)]
pub struct Page {
    /// What does not fit together, and what would make a browser ask somebody.
    pub wrong: Vec<String>,
    /// Values by their names.
    pub facts: BTreeMap<String, String>,
    /// Rows by the heading above them, the tables' heads first.
    pub tables: BTreeMap<String, Vec<Vec<String>>>,
    /// What the cells of the matrix say of themselves.
    pub cells: Vec<String>,
}

impl Page {
    pub fn read(path: &Path) -> Page {
        let output = Command::new(python::interpreter())
            .arg(root().join("tests/e2e/python/page_reader.py"))
            .arg(path)
            .output()
            .expect("Python runs");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("the page as JSON")
    }
}

/// A number with its unit as a number: seconds, bytes, or a count.
pub fn number(shown: &str) -> f64 {
    let shown = shown.replace(',', "");
    let parts: Vec<&str> = shown.split(' ').collect();
    let one = |pair: &[&str]| {
        let value: f64 = pair[0].parse().unwrap_or_else(|_| panic!("{shown:?}"));
        let unit = match pair.get(1) {
            None | Some(&"s" | &"B") => 1.0,
            Some(&"ns") => 1e-9,
            Some(&"us") => 1e-6,
            Some(&"ms") => 1e-3,
            Some(&"min") => 60.0,
            Some(&"h") => 3600.0,
            Some(&"KiB") => 1024.0,
            Some(&"MiB") => 1024.0 * 1024.0,
            Some(&"GiB") => 1024.0 * 1024.0 * 1024.0,
            Some(&"%") => 0.01,
            Some(unit) => panic!("the unit {unit} of {shown:?}"),
        };
        value * unit
    };
    // Minutes have seconds behind them.
    parts.chunks(2).map(one).sum()
}
