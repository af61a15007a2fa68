//! The buffer beside libotf2's writer, on the same streams in the same run, turn by turn; and what
//! removals cost. Prints one JSON object per figure. Arguments: a folder for files, and a stream
//! recorded by xtask/bench/stream.c.

mod history;
mod nesting;
mod otf2;
mod pieces;
mod recorded;
mod stalls;
mod streams;

use anyhow::{Context, Result, ensure};
use invivo_otfx::{Buffer, Contents, Geometry, Head, Sample, Strategy};
use invivo_proto::record::{Call, Part};
use nesting::Nesting;
use otf2::Otf2;
use pieces::Stopwatch;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use streams::Calls;

/// Turns of each pair; of each piece the least time counts, as others use the machine too.
const TURNS: usize = 15;
/// A buffer that holds each stream whole, in bins of the size that 22 MiB have.
const BUFFER_BYTES: usize = 24 << 20;

/// One figure, as `cargo xtask bench` reads it.
pub fn figure(name: &str, value: f64, unit: &str, baseline: f64, about: &str) {
    println!(
        "{{\"name\": \"{name}\", \"value\": {value:.4}, \"unit\": \"{unit}\", \"baseline\": \
         {baseline:.4}, \"about\": \
         \"{about}\"}}"
    );
}

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().context("a folder")?;
    let folder = Path::new(&folder);
    let recorded = arguments.next().context("a recorded stream")?;
    let lammps = Calls::recorded(Path::new(&recorded))?;
    ensure!(
        lammps.len() > 10_000,
        "the recorded stream has {} calls",
        lammps.len()
    );
    let mut otf2 = Otf2::new(folder)?;

    calls(
        "otfx-call",
        "messages, completions and collectives among six peers",
        &Calls::made_up(1 << 19),
        &mut otf2,
    )?;
    calls(
        "otfx-lammps",
        "the stream of rank 0 of LAMMPS' melt on four ranks",
        &lammps,
        &mut otf2,
    )?;
    pairs(&mut otf2)?;
    for counters in [2, 8] {
        samples(counters, &mut otf2)?;
    }
    history::seconds(&lammps);
    stalls::inserts(&lammps);
    stalls::removals(folder)
}

fn buffer() -> Buffer {
    let geometry = Geometry::with_bins(BUFFER_BYTES, 16 << 10);
    Buffer::with_geometry(geometry, Strategy::flight_recorder()).expect("24 MiB are enough")
}

/// Both, turn by turn: the least ns and the bytes, ours and theirs, for each of `count` things, and
/// for each of the `events` that they are to an event tracer.
fn beside(
    name: &str,
    about: &str,
    (count, events): (usize, usize),
    mut ours: impl FnMut(&mut Stopwatch) -> u64,
    mut theirs: impl FnMut(&mut Stopwatch) -> Result<u64>,
) -> Result<()> {
    let (mut watch, mut other_watch) = (Stopwatch::default(), Stopwatch::default());
    let (mut bytes, mut other_bytes) = (0, 0);
    for _ in 0..TURNS {
        watch.turn();
        bytes = ours(&mut watch);
        other_watch.turn();
        other_bytes = theirs(&mut other_watch)?;
    }
    let (ns, other_ns) = (watch.ns(), other_watch.ns());
    for (what, number, each) in [("", count, ""), ("-event", events, "Of it, each event: ")] {
        let number = number as f64;
        let read = format!("{each}{about}. Baseline: libotf2, the same in the same run.");
        figure(
            &format!("{name}{what}-time"),
            ns / number,
            "ns",
            other_ns / number,
            &read,
        );
        let (bytes, other_bytes) = (bytes as f64 / number, other_bytes as f64 / number);
        figure(
            &format!("{name}{what}-bytes"),
            bytes,
            "bytes",
            other_bytes,
            &read,
        );
    }
    Ok(())
}

fn calls(name: &str, about: &str, calls: &Calls, otf2: &mut Otf2) -> Result<()> {
    let mut buffer = buffer();
    let store = |buffer: &mut Buffer, watch: &mut Stopwatch| {
        buffer.reset();
        pieces::calls(calls, watch, |piece| {
            for (call, parts) in piece.iter() {
                buffer.store(black_box(call), parts);
            }
        });
        buffer.fill().bytes_used
    };
    let about = format!("One MPI call with what it completed: {about}");
    beside(
        name,
        &about,
        (calls.len(), calls.events()),
        |watch| store(&mut buffer, watch),
        |watch| otf2.calls(calls, watch),
    )?;
    check(&buffer, calls)?;
    eprintln!(
        "{name}: {} calls are read back as they went in",
        calls.len()
    );

    let (mut ns, mut watch) = (f64::MAX, Stopwatch::default());
    for _ in 0..TURNS {
        watch.turn();
        store(&mut buffer, &mut watch);
        let begun = Instant::now();
        let mut reader = buffer.read();
        while let Some(record) = reader.next()? {
            black_box(record);
        }
        ns = ns.min(begun.elapsed().as_nanos() as f64);
    }
    let count = calls.len() as f64;
    let read = "Reading a call with its parts from the buffer. Baseline: storing it.";
    figure(
        &format!("{name}-read"),
        ns / count,
        "ns",
        watch.ns() / count,
        read,
    );
    Ok(())
}

/// What is read back is what went in, all of it.
fn check(buffer: &Buffer, calls: &Calls) -> Result<()> {
    let mut reader = buffer.read();
    let mut end = 0;
    for (call, parts) in calls.iter() {
        let read = reader.next()?.context("records are missing")?;
        end = call.end.max(end);
        let call = Call { end, ..*call };
        let parts = parts.iter().map(|part| Part {
            posted: part.posted.min(end),
            ..*part
        });
        ensure!(
            read.head == Head::Call(call) && read.parts.iter().copied().eq(parts),
            "{call:?} was read as {read:?}"
        );
    }
    ensure!(reader.next()?.is_none(), "more is read than went in");
    Ok(())
}

fn pairs(otf2: &mut Otf2) -> Result<()> {
    let steps = streams::steps(1 << 19);
    let mut buffer = buffer();
    let store = |buffer: &mut Buffer, watch: &mut Stopwatch| {
        buffer.reset();
        let mut nesting = Nesting::default();
        pieces::steps(&steps, watch, |piece| {
            for step in black_box(piece) {
                if step.enters {
                    nesting.enter(step.region, step.time);
                } else if let Some((pass, attributes)) = nesting.leave(step.region, step.time) {
                    buffer.store_region(&pass, attributes);
                }
            }
        });
        buffer.fill().bytes_used
    };
    let about = "One enter and its leave, fused here, of forty nested functions";
    beside(
        "otfx-pair",
        about,
        (steps.len() / 2, steps.len()),
        |watch| store(&mut buffer, watch),
        |watch| otf2.steps(&steps, watch),
    )?;
    let passes = streams::passes(&steps);
    let mut reader = buffer.read();
    for (pass, attributes) in passes {
        let expected = Contents {
            head: Head::Region(pass),
            depth: attributes.depth,
            ..Contents::default()
        };
        ensure!(
            reader.next()? == Some(&expected),
            "a region is not what went in"
        );
    }
    ensure!(
        reader.next()?.is_none(),
        "more regions are read than went in"
    );
    eprintln!(
        "otfx-pair: {} regions are read back as they went in",
        steps.len() / 2
    );
    Ok(())
}

fn samples(counters: usize, otf2: &mut Otf2) -> Result<()> {
    let samples = streams::samples(100_000, counters);
    let mut buffer = buffer();
    let store = |buffer: &mut Buffer, watch: &mut Stopwatch| {
        buffer.reset();
        let mut ordinal = 0;
        pieces::samples(&samples, watch, |piece| {
            for one in piece {
                ordinal += 1;
                buffer.store_sample(black_box(&sample(ordinal, one)));
            }
        });
        buffer.fill().bytes_used
    };
    let about = format!("One sample with {counters} counters that grow by up to a million");
    let name = format!("otfx-sample-{counters}");
    beside(
        &name,
        &about,
        // The sample, and its counters.
        (samples.len(), 2 * samples.len()),
        |watch| store(&mut buffer, watch),
        |watch| otf2.samples(&samples, watch),
    )?;
    let mut reader = buffer.read();
    for (ordinal, one) in (1..).zip(&samples) {
        let expected = sample(ordinal, one);
        let read = reader.next()?.context("samples are missing")?;
        let head = Head::Sample {
            time: expected.time,
            ordinal: expected.ordinal,
            context: expected.context,
        };
        ensure!(
            read.head == head && read.values == expected.values,
            "a sample is not what went in"
        );
    }
    ensure!(
        reader.next()?.is_none(),
        "more samples are read than went in"
    );
    eprintln!(
        "{name}: {} samples are read back as they went in",
        samples.len()
    );
    Ok(())
}

fn sample(ordinal: u64, (time, values): &(u64, Vec<u64>)) -> Sample<'_> {
    Sample {
        time: *time,
        ordinal,
        context: 7,
        values,
    }
}
