//! Bytes per recorded call on a real program's stream: LAMMPS' melt example on four ranks.

use super::{Figure, invivo, mpiexec};
use crate::run::{check, root};
use anyhow::{Context, Result, ensure};
use std::process::Stdio;

/// What libotf2 3.0 writes for one call of three events (enter, message, leave): measured, 12 bytes for an enter or
/// a leave, 10 to 20 for a message.
const OTF2_BYTES: f64 = 35.0;

/// Measures and writes the figure.
pub fn run() -> Result<()> {
    let report = root().join("target/bench/melt-report.json");
    let _ = std::fs::remove_file(&report);
    let mut launch = mpiexec(6);
    launch
        .arg(invivo())
        .args(["exec", "--quiet", "--report"])
        .arg(&report);
    launch
        .args(["--", "lmp", "-in", "/usr/share/lammps/examples/melt/in.melt"])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    check(&mut launch)?;
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).context("the report")?)?;
    let coverage = &report["coverage"];
    let bytes = coverage["payload_bytes"].as_f64().context("payload_bytes")?;
    let ledger = &coverage["ledger"];
    let number = |name: &str| ledger[name].as_f64().with_context(|| name.to_owned());
    let calls = number("kept")? + number("reduced")? + number("dropped_by_place")?;
    ensure!(calls > 1000.0, "the report has {calls} calls only");
    Figure {
        name: "bytes-per-call",
        value: bytes / calls,
        unit: "bytes/call",
        baseline: OTF2_BYTES,
        about: format!(
            "{bytes} payload bytes of {calls} calls: LAMMPS melt, 4 ranks, Open MPI; completed requests included in their \
             calls, packet headers (96 bytes per 100 KiB) not. Baseline: libotf2's three events per call."
        ),
    }
    .write()
}
