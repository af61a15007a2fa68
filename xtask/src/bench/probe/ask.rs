//! Asks the bench's own job, and tells it what to do: others may run jobs meanwhile.

use crate::bench::programs::invivo;
use crate::run::output;
use anyhow::{Context, Result};
use serde_json::Value;
use std::process::Command;

/// The variable that names the job, for the job and for clients.
pub fn job() -> (&'static str, String) {
    ("INVIVO_JOB", format!("bench-probe-{}", std::process::id()))
}

/// A client's answer.
pub fn answer(words: &[&str]) -> Result<Value> {
    let (name, id) = job();
    let mut client = Command::new(invivo());
    let text = output(client.args(words).arg("--json").env(name, id))?;
    serde_json::from_str(&text).with_context(|| format!("the answer to {words:?}"))
}

/// A number of an answer.
pub fn number(answer: &Value, name: &str) -> Result<u64> {
    let number = answer[name].as_u64();
    number.with_context(|| format!("{name} in an answer"))
}
