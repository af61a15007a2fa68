//! Runs the benches of `cargo xtask bench` and lists them by name.
//!
//! Each figure is measured beside a baseline in the same run, and goes to target/bench/NAME.json
//! with name, value, unit, baseline, ratio (value / baseline) and a paragraph on what was measured.
//! Where there are many of a kind they go to a table, with the machine, and how busy others kept
//! it.

mod apps;
mod bytes;
mod effort;
mod eztrace;
mod idle;
mod latency;
pub mod machine;
mod mpi;
mod otfx;
mod overhead;
mod page;
mod pairs;
mod place;
mod probe;
mod processes;
mod profile;
mod programs;
mod rates;
mod results;
mod shim;
mod startup;
mod statistics;
mod steer;
mod stream;
mod svg;
mod tree;

use anyhow::Result;
pub use effort::Effort;
use results::folder;

/// A bench.
struct Bench {
    name: &'static str,
    /// What it measures, for the command line.
    about: &'static str,
    run: fn(&Effort) -> Result<()>,
}

const fn bench(name: &'static str, about: &'static str, run: fn(&Effort) -> Result<()>) -> Bench {
    Bench { name, about, run }
}

/// All benches, in the order in which they run.
const BENCHES: [Bench; 16] = [
    bench(
        "shim",
        "what tools add to cheap MPI calls, beside EZTrace",
        shim::run,
    ),
    bench(
        "probe",
        "what regions, samples and readings of metrics cost, beside libotf2 and perf",
        probe::run,
    ),
    bench("steer", "how long commands take", |_| steer::run()),
    bench("bytes", "bytes of a recorded call", bytes::run),
    bench("otfx", "the event buffer, beside libotf2", |_| otfx::run()),
    bench("otfx-scenario", "what full buffers keep", |_| {
        otfx::scenario()
    }),
    bench(
        "place",
        "a tool place alone, fed with recorded calls",
        place::run,
    ),
    bench(
        "rates",
        "programs of ten seconds by their rate of calls, full cores and a spare one, both MPIs",
        rates::run,
    ),
    bench(
        "latency",
        "messages and sums between two ranks: latency and bandwidth, both MPIs",
        latency::run,
    ),
    bench(
        "profile",
        "where the CPU time of the tool processes goes in a job (needs perf)",
        profile::run,
    ),
    bench(
        "idle",
        "what tool processes take while ranks are quiet",
        idle::run,
    ),
    bench(
        "apps",
        "programs with other patterns, on Open MPI",
        apps::run,
    ),
    bench(
        "overhead",
        "what a cap on the overhead keeps of it: tiny functions, and hpcc in a full run",
        overhead::run,
    ),
    bench("startup", "start and end of a job", startup::run),
    bench("tree", "questions to trees of several shapes", tree::run),
    // The last: it shows what the others measured.
    bench(
        "page",
        "the manual's page, of what the others measured",
        |_| page::write(),
    ),
];

/// The names of all benches, with what each measures.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    BENCHES.iter().map(|bench| (bench.name, bench.about))
}

/// Whether a bench, or one of all, runs jobs under Invivo. Those of buffers and of the place
/// measure libraries.
pub fn needs_tree(name: Option<&str>) -> bool {
    !name.is_some_and(|name| name.starts_with("otfx") || ["place", "page"].contains(&name))
}

/// Runs one bench, or all.
pub fn run(name: Option<&str>, effort: &Effort) -> Result<()> {
    std::fs::create_dir_all(folder())?;
    for bench in &BENCHES {
        if name.is_none_or(|name| name == bench.name) {
            (bench.run)(effort)?;
        }
    }
    Ok(())
}
