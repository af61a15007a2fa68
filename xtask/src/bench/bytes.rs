//! Bytes per recorded call on real programs' streams: LAMMPS' melt and colloid examples on four ranks.

use super::mpi::{OPEN_MPI, Report, observed, with_tools};
use super::{Figure, folder, stream};
use crate::run::output;
use anyhow::Result;

/// What libotf2 3.0 writes for one call of three events (enter, message, leave): measured, 12 bytes for an enter or
/// a leave, 10 to 20 for a message.
const OTF2_BYTES: f64 = 35.0;
const RANKS: u32 = 4;
/// The examples with as many steps as they have, or as take a second, and the figures' names.
const EXAMPLES: [(&str, u32, &str); 2] = [
    ("melt", 250, "bytes-per-call"),
    ("colloid", 5000, "bytes-per-call-colloid"),
];

/// Measures and writes the figures.
pub fn run() -> Result<()> {
    EXAMPLES.into_iter().try_for_each(measure)
}

fn measure((example, steps, name): (&str, u32, &'static str)) -> Result<()> {
    let file = folder().join("bytes-report.json");
    let mut launch = OPEN_MPI.launch(with_tools(RANKS));
    observed(&mut launch, &file, &[]);
    output(launch.arg("lmp").arg("-in").arg(stream::input(example, steps)?))?;
    let report = Report::read(&file)?;
    report.is_complete(RANKS)?;
    let (bytes, calls) = (report.payload_bytes()?, report.taken()?);
    Figure {
        name,
        value: bytes as f64 / calls as f64,
        unit: "bytes/call",
        baseline: OTF2_BYTES,
        about: format!(
            "{bytes} payload bytes of {calls} calls: LAMMPS {example}, {RANKS} ranks, Open MPI; completed requests included in \
             their calls, packet headers (96 bytes per 100 KiB) not. Baseline: libotf2's three events per call."
        ),
    }
    .write()
}
