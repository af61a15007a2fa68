//! Benches what regions, samples and metrics cost, each beside the rivals of the same run: begins
//! and ends, recorded and not, beside two time stamps and libotf2's writer; a sample by the depth
//! of calls beside `perf record`; a reading of metrics beside `perf stat`.
//!
//! All run in turn, so that a busy moment of the machine meets all of them, and what a tool adds is
//! computed within one turn.
//!
//! ```text
//! regions <- otf2, ask, ratio          a program with probes, run by run
//! samples, metrics <- worker, perf     one that works when it is told to, in two running jobs
//! samples <- sampler                   the process that samples it
//! ```

mod ask;
mod metrics;
mod otf2;
mod perf;
mod ratio;
mod regions;
mod sampler;
mod samples;
mod worker;

use super::effort::Effort;
use super::machine::Beside;
use super::mpi::{OPEN_MPI, Report, behind_run_with};
use super::results::{folder, write_table};
use anyhow::Result;
use serde_json::Value;
use worker::Worker;

/// Turns in a short and in a full bench, of regions, and of the rest, whose turns take longer.
const TURNS: (usize, usize) = (5, 15);
const LONG_TURNS: (usize, usize) = (3, 9);

/// Measures, prints and writes one table.
pub fn run(effort: &Effort) -> Result<()> {
    let beside = Beside::begin();
    let mut rows = Vec::new();
    if effort.wants("regions") {
        rows.extend(regions::rows(effort.turns(TURNS))?);
    }
    if effort.wants("samples") || effort.wants("metrics") {
        rows.extend(of_one_program(effort)?);
    }
    let about = "Regions: ns of a pair of probes (a begin and an end), or of a call, and how many \
        more than in the run of the same turn with empty hooks: medians over turns of the medians \
        of a run's loops. Two ranks, of which one works. two stamps: a preloaded library that \
        keeps a time stamp at each; libotf2's writer: one that writes a time stamp and an event \
        at each, to an archive in memory, regions counted by otf2-print; not selected: \
        --selection 'exclude *; exclude MPI_*'; recorded: the usual configuration, all visits and \
        calls counted by the job; and measured: with --metrics usual as well, all counts read. \
        Samples (part): ns that one takes the program: what a batch of work takes longer than in \
        the round before without samples, of each round the batch that a tenth are shorter than \
        (sample_median_ns: the median; sample_thread_ns: the same of the thread's clock); \
        beside_ns: what the sampler, or perf until its end, takes of a processor for each. One \
        rank, a core to spare; the event is the kernel's cpu-clock for both, and both must have \
        as many samples as the program's time makes expect. Metrics (part): CPU time of one \
        reading, as the job counts it, or of one interval of perf stat by the kernel's account, \
        every 100 ms, in us.";
    write_table("probe", about, effort, &beside, &rows)
}

/// Samples and metrics of one program, which runs twice, and works in one of the two at a time.
fn of_one_program(effort: &Effort) -> Result<Vec<Value>> {
    let turns = effort.turns(LONG_TURNS);
    let frames = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"];
    let program = OPEN_MPI.compile("samples.c", "samples", &frames)?;
    let mut line = OPEN_MPI.launch(1);
    line.arg(&program);
    let report = folder().join("probe-report.json");
    let mut observed = behind_run_with(&[], &line, &report);
    let (name, id) = ask::job();
    observed.env(name, id);
    let (mut bare, mut observed) = (Worker::start(line)?, Worker::start(observed)?);
    let mut rows = Vec::new();
    if effort.wants("samples") {
        rows.extend(samples::rows(turns, &mut bare, &mut observed)?);
    }
    if effort.wants("metrics") {
        rows.extend(metrics::rows(turns, &mut bare, &mut observed)?);
    }
    bare.end()?;
    observed.end()?;
    Report::read(&report)?.balances(1)?;
    Ok(rows)
}
