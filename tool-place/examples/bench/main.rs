//! A tool place fed with what a recorded program called, by packets as they come over MPI: how long
//! it takes for each call, with one location and with many, and which share of it decoding, storing
//! and each analysis have; and what records of fixed size would take. Prints one JSON object per
//! measurement; fails where an answer is not what the recording says. Arguments: the files that
//! xtask/bench/stream.c wrote on four ranks, without the rank's number (`target/bench/melt`), how
//! many locations, unless all numbers of them are meant, and one stage, unless all are.

mod allocations;
mod answers;
mod feed;
mod meter;
mod parts;
mod raw;
#[path = "../../../otfx/examples/bench/recorded.rs"]
mod recorded;
mod streams;
mod whole;

use answers::Expected;
use anyhow::{Context, Result, ensure};
use feed::Feed;
use invivo_proto::control::analyses::AnalysisSet;
use std::path::Path;
use streams::Recorded;

/// Memory for the records of one location: 256 MiB of 64, far beyond any cache, and full before
/// measuring begins.
const BUFFER_BYTES: u64 = 4 << 20;
/// Locations, as many ranks, of one place.
const LOCATIONS: [u32; 4] = [1, 8, 64, 256];
/// With so many its parts are measured alone, too, and places with fewer analyses.
const WITH_PARTS: u32 = 64;
/// Packets between two looks at the clock: some hundred thousand calls.
const BATCH_MIN: usize = 16;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let files = arguments.next().context("where the recorded calls are")?;
    let recorded = Recorded::read(Path::new(&files))?;
    let only: Option<u32> = arguments.next().map(|only| only.parse()).transpose()?;
    let stage = arguments.next();
    let wanted = LOCATIONS
        .into_iter()
        .filter(|all| only.is_none_or(|only| only == *all));
    for locations in wanted {
        run(&recorded, locations, turns(locations), stage.as_deref())?;
    }
    match stage {
        Some(_) => Ok(()),
        None => raw::run(&recorded),
    }
}

/// How often the recorded run is played: when the second half begins, which is measured, buffers
/// are full.
fn turns(locations: u32) -> u64 {
    u64::from(512 / locations).clamp(6, 30)
}

/// Something that takes packets.
trait Stage {
    /// Its name in what is printed.
    fn name(&self) -> &'static str;
    /// Takes packets in.
    fn feed(&mut self, messages: &[feed::Message]);
    /// Fails where it does not know what it should.
    fn check(&mut self, expected: &Expected) -> Result<()>;
}

fn run(recorded: &Recorded, locations: u32, turns: u64, only: Option<&str>) -> Result<()> {
    let mut feed = Feed::new(recorded, locations, turns)?;
    let expected = Expected::of(recorded, locations, turns);
    let whole = |name, on| whole::Whole::new(name, on, locations, BUFFER_BYTES);
    let mut stages: Vec<Box<dyn Stage>> = vec![Box::new(whole("place", AnalysisSet::ALL)?)];
    if locations == WITH_PARTS {
        stages.push(Box::new(whole("default", AnalysisSet::DEFAULT)?));
        stages.push(Box::new(whole("none", AnalysisSet::NONE)?));
        stages.extend(parts::all(locations, BUFFER_BYTES)?);
    }
    stages.retain(|stage| only.is_none_or(|only| only == stage.name()));
    ensure!(
        !stages.is_empty(),
        "no such stage with {locations} locations"
    );
    let mut messages = Vec::new();
    let mut half_bytes = None;
    for batch in 0.. {
        if !feed.next_batch(BATCH_MIN.max(locations as usize), &mut messages) {
            break;
        }
        let calls: u64 = messages.iter().map(|message| message.calls).sum();
        // The first half makes everything as large as it becomes.
        let steady = feed.is_past_half();
        if steady {
            half_bytes.get_or_insert_with(meter::resident_bytes);
        }
        for at in 0..stages.len() {
            let next = (at + batch) % stages.len();
            let stage = &mut stages[next];
            let before = allocations::made();
            let spent = meter::measure(|| stage.feed(&messages));
            let made = allocations::made() - before;
            if steady {
                println!(
                    "{{\"locations\": {locations}, \"stage\": \"{}\", \"calls\": {calls}, \
                     \"cpu_ns\": {}, \"wall_ns\": {}, \
                     \"allocations\": {made}}}",
                    stage.name(),
                    spent.cpu_ns,
                    spent.wall_ns
                );
            }
        }
    }
    println!(
        "{{\"locations\": {locations}, \"stage\": \"memory\", \"half_bytes\": {}, \
         \"end_bytes\": {}, \"buffer_bytes\": {}, \
         \"calls\": {}, \"payload_bytes\": {}}}",
        half_bytes.unwrap_or_default(),
        meter::resident_bytes(),
        u64::from(locations) * BUFFER_BYTES,
        expected.calls,
        feed.payload_bytes()
    );
    stages.iter_mut().try_for_each(|stage| {
        let name = stage.name();
        stage
            .check(&expected)
            .with_context(|| format!("{locations} locations, {name}"))
    })
}
