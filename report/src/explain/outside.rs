//! What the rank that computes longest did outside MPI when it did not compute: of metrics that are
//! measured of it from outside, where they are.
//!
//! Metrics do not tell time in MPI from time outside of it. So the part of the time outside MPI
//! without a processor is the least that it can be: whatever can have been in MPI is taken for
//! that.

use crate::units::{bytes, count, share};
use invivo_grpc::v1::{GridCell, GridReply};
use serde::{Deserialize, Serialize};

/// Metrics that tell something of it.
pub const METRICS: [&str; 5] = [
    "run-delay",
    "cpu-time",
    "read-bytes",
    "written-bytes",
    "major-faults",
];
/// What the grid calls time outside MPI.
pub const COMPUTE: &str = "compute";
/// From this part on of the time in which threads could run it is worth saying that they had no
/// processor.
const DELAYED: f64 = 0.1;
/// Threads could run for this part of the time at least, added up, or it is not said of them.
const COULD_RUN: f64 = 0.5;
/// From this part on, that no processor was used.
const OFF: f64 = 0.4;
/// From so many bytes a second on they may be what a rank waited for.
const BYTES: f64 = 1e6;
/// From so many faults a second on that read from a disk, a rank is paging.
const FAULTS: f64 = 100.0;
/// Metrics that lack more than this part of the time are not known.
const MISSING: f64 = 0.1;

/// What the rank did outside MPI but computing; of each only what is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct OutsideMpi {
    /// The part of the time in which its threads could run for which they had no processor: in MPI
    /// as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_delay_share: Option<f64>,
    /// The part of its time outside MPI for which it was on no processor and no thread waited for
    /// one, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_processor_share: Option<f64>,
    /// What was fetched from storage for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_s: Option<f64>,
    /// What it caused to be sent to storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes_per_s: Option<f64>,
    /// Page faults for which something was read from a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults_per_s: Option<f64>,
}

/// A value of the rank over the whole time.
#[derive(Clone, Copy)]
struct Known {
    value: f64,
    /// For how long it may not have been measured, in ns.
    missing_ns: f64,
    /// How long the time is.
    span_ns: f64,
}

impl Known {
    fn per_second(self) -> f64 {
        self.value / (self.span_ns - self.missing_ns) * 1e9
    }
}

/// Of grids over the same time: of computing, and of metrics. Nothing where none is known of the
/// rank. Grids over another time than that of computing do not count.
pub(super) fn outside_mpi(grids: &[GridReply], rank: u32) -> Option<OutsideMpi> {
    let columns = |grid: &GridReply| {
        let begin = i128::from(grid.begin_ns) + i128::from(grid.from_ns);
        (begin, grid.width_ns, grid.columns)
    };
    let grid = |metric: &str| grids.iter().find(|grid| grid.metric == metric);
    let time = columns(grid(COMPUTE)?);
    let of = |metric: &str| known(grid(metric).filter(|grid| columns(grid) == time)?, rank);
    let compute = of(COMPUTE).filter(|of| of.value > 0.0);
    let run = of("cpu-time").zip(of("run-delay"));
    let could_run = run.filter(|(on, delay)| on.value + delay.value >= COULD_RUN * on.span_ns);
    let rate = |metric| of(metric).map(Known::per_second);
    let outside = OutsideMpi {
        run_delay_share: could_run.map(|(on, delay)| delay.value / (on.value + delay.value)),
        off_processor_share: compute.zip(run).map(|(compute, (on, delay))| {
            // All that it ran may have been outside MPI, and so may what was not measured.
            let missing = delay.missing_ns.max(on.missing_ns) + compute.missing_ns;
            (compute.value - on.value - delay.value - missing).max(0.0) / compute.value
        }),
        read_bytes_per_s: rate("read-bytes"),
        written_bytes_per_s: rate("written-bytes"),
        major_faults_per_s: rate("major-faults"),
    };
    (outside != OutsideMpi::default()).then_some(outside)
}

/// What a grid has of one rank over its whole time; nothing where that may be another rank's, or
/// too much of the time is missing.
fn known(grid: &GridReply, rank: u32) -> Option<Known> {
    let number = rank.checked_div(grid.block_ranks)?;
    let row = grid.rows.iter().find(|row| row.row == number)?;
    let cell = row.total.filter(|cell| cell.ranks > 0)?;
    let value = value(&cell, rank)?;
    // The last column may end behind now.
    let until_now = i128::from(grid.observed_ns) - i128::from(grid.from_ns);
    let span_ns = (f64::from(grid.columns) * grid.width_ns as f64).min(until_now as f64);
    // Of ranks that share a row it may all be this one's.
    let missing_ns = (f64::from(cell.ranks) * span_ns - cell.recorded_ns as f64).max(0.0);
    (missing_ns <= MISSING * span_ns).then_some(Known {
        value: value as f64,
        missing_ns,
        span_ns,
    })
}

/// The value of a rank in a cell that is of some ranks.
fn value(cell: &GridCell, rank: u32) -> Option<u64> {
    match (cell.max_rank == rank, cell.min_rank == rank) {
        (true, _) => Some(cell.max),
        (false, true) => Some(cell.min),
        (false, false) => None,
    }
}

/// In words: `for 48.1 % of the time in which its threads could run they had no processor`. Nothing
/// where there is nothing to say.
pub(super) fn told(of: &OutsideMpi) -> Option<String> {
    let part = |part: Option<f64>, least: f64| {
        let part = part.filter(|part| *part >= least)?;
        Some(share(part, 1.0))
    };
    let mut told = Vec::new();
    if let Some(delayed) = part(of.run_delay_share, DELAYED) {
        told.push(format!(
            "for {delayed} of the time in which its threads could run they had no processor"
        ));
    }
    if let Some(off) = part(of.off_processor_share, OFF) {
        let mut text = format!("for at least {off} of its time outside MPI it was on no processor");
        let moved = moved(of);
        if !moved.is_empty() {
            text.push_str(&format!(" (it {})", moved.join(" and ")));
        }
        told.push(text);
    }
    (!told.is_empty()).then(|| told.join(", and "))
}

/// What it moved that it may have waited for.
fn moved(of: &OutsideMpi) -> Vec<String> {
    let told = |verb: &str, rate: Option<f64>| {
        let rate = rate.filter(|rate| *rate >= BYTES)?;
        Some(format!("{verb} {}/s", bytes(rate as u64)))
    };
    let paging = of.major_faults_per_s.filter(|rate| *rate >= FAULTS);
    let paging = paging.map(|rate| {
        let times = count(rate as u64);
        format!("waited for pages of its memory from a disk {times} times a second")
    });
    let moved = [
        told("wrote", of.written_bytes_per_s),
        told("read", of.read_bytes_per_s),
        paging,
    ];
    moved.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
