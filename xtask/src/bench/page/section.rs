//! A section of the page on performance: how a bench's runs become its tables and charts.

use crate::bench::svg::Chart;
use anyhow::Result;
use serde_json::Value;

/// A bench's runs, the newest last.
pub type Runs = Vec<Value>;

/// Charts with the names of their files.
pub type Charts = Vec<(&'static str, Chart)>;

/// One section of the page.
pub struct Section {
    /// The name of the section and of its bench.
    pub name: &'static str,
    /// Cores that others may have used for figures to be taken over: where they take the ranks'
    /// own, a comparison of whole programs means nothing.
    pub others_max: f64,
    pub text: fn(&Runs) -> Result<String>,
    pub charts: fn(&Value) -> Result<Charts>,
}
