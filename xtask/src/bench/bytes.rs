//! Benches the bytes per recorded call on the streams of LAMMPS' melt and colloid examples on four
//! ranks. (Those of the kernels come with `apps`.)

use super::effort::Effort;
use super::machine::Beside;
use super::mpi::{OPEN_MPI, Report, observed, with_tools};
use super::results::{folder, write_table};
use super::statistics::Median;
use super::stream;
use crate::run::output;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

/// What libotf2 3.0 writes for one call of three events (enter, message, leave): measured, 12 bytes
/// for an enter or a leave, 10 to 20 for a message.
const OTF2_BYTES: f64 = 35.0;
/// The target for a call, and for each request that it completes.
const TARGET_BYTES: f64 = 10.0;
const TARGET_REQUEST_BYTES: f64 = 2.0;
const RANKS: u32 = 4;
/// The examples with their number of steps, chosen for a second or more.
const EXAMPLES: [(&str, u32); 2] = [("melt", 250), ("colloid", 5000)];
/// Runs in a short and in a full bench.
const TURNS: (usize, usize) = (3, 9);

/// Measures both examples, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let turns = effort.turns(TURNS);
    let beside = Beside::begin();
    println!(
        "{:<10}{:>12}{:>8}{:>9}",
        "LAMMPS", "bytes/call", "OTF2", "target"
    );
    let mut rows = Vec::new();
    for (example, steps) in EXAMPLES {
        let row = measure(example, steps, turns)?;
        println!(
            "{example:<10}{:>12.2}{OTF2_BYTES:>8.0}{:>9.2}",
            row["bytes_per_call"]["median"].as_f64().unwrap_or(0.0),
            row["target_bytes"].as_f64().unwrap_or(0.0)
        );
        rows.push(row);
    }

    let about = "Payload bytes of the packets that places took, for each recorded call; completed \
        requests included in their calls, \
                 packet headers (96 bytes per 100 KiB) not. Four ranks, Open MPI. otf2: libotf2's \
                 three events for a call.";
    write_table("bytes", about, effort, &beside, &rows)
}

fn measure(example: &str, steps: u32, turns: usize) -> Result<Value> {
    let file = folder().join("bytes-report.json");
    let (mut each, mut calls, mut target) = (Vec::new(), 0, 0.0);

    for _ in 0..turns {
        let mut launch = OPEN_MPI.launch(with_tools(RANKS));
        observed(&mut launch, &file, &[]);

        output(
            launch
                .arg("lmp")
                .arg("-in")
                .arg(stream::input(example, steps)?),
        )?;

        let report = Report::read(&file)?;
        report.is_complete(RANKS)?;
        calls = report.taken()?;
        // Fewer calls would be mostly of the start, which is not typical.
        ensure!(calls > 10_000, "{calls} calls only were recorded");
        each.push(report.payload_bytes()? as f64 / calls as f64);
        // A request is completed by another call, whose record has some bytes for it.
        let posted = report.calls("MPI_Irecv") + report.calls("MPI_Isend");
        target = TARGET_BYTES + TARGET_REQUEST_BYTES * posted as f64 / calls as f64;
    }
    Ok(json!({
        "program": format!("LAMMPS {example}"), "ranks": RANKS, "turns": turns, "calls": calls,
        "bytes_per_call": Median::of(&each)?.json(), "otf2_bytes": OTF2_BYTES,
        "target_bytes": target,
    }))
}
