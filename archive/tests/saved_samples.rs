//! Samples in saved observations: beside calls and visits, in order of time, in every form.

use invivo_archive::saved::calls::SavedCall;
use invivo_archive::saved::format::{
    About, Context, Counters, FrameKind, Job, Location, Region, VERSION,
};
use invivo_archive::saved::samples::SavedSample;
use invivo_archive::saved::{SavedError, SavedObservation, What, Writer};
use invivo_archive::{csv, otf2, perfetto};
use invivo_otfx::{Attributes, Buffer, FlightRecorder, Head, Pass, Sample};
use invivo_proto::ids::RegionId;
use invivo_proto::record::{Call, Facts};
use perfetto::proto::{Data, INSTANT, SLICE_BEGIN, SLICE_END, Trace, Value};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const STEPS: u64 = 2_000;
/// Where ticks begin.
const BEGIN: u64 = 10_000;
/// Ticks of a step: a visit with a call in it.
const STEP: u64 = 1_000;
/// The end of all steps.
const END: u64 = BEGIN + STEP * STEPS;
/// What a sample stands for on a processor.
const UNIT_NS: u64 = 3_984_064;
const STEP_REGION: RegionId = RegionId(4097);

/// A sample of a rank: when it was taken and in which context. Two in each step, one of them in the
/// call; a third where the call ends.
fn sample(n: u64, rank: u32) -> (u64, u32) {
    let step = BEGIN + STEP * (n / 3);
    match n % 3 {
        0 => (step + 150, 3 + rank),
        1 => (step + 500, 4 + rank),
        // Nobody knows where.
        _ => (step + 600, 0),
    }
}

fn buffer(rank: u32) -> Buffer {
    let mut buffer = Buffer::new(64 << 20, Box::new(FlightRecorder)).expect("large enough");
    for step in 0..STEPS {
        let begin = BEGIN + STEP * step;
        let store = |buffer: &mut Buffer, n| {
            let (time, context) = sample(n, rank);
            buffer.store_sample(&Sample {
                time,
                ordinal: n + 1,
                context,
                values: &[],
            });
        };
        store(&mut buffer, 3 * step);
        store(&mut buffer, 3 * step + 1);
        let call = Call {
            facts: Facts {
                region: RegionId(1),
                ..Facts::default()
            },
            end: begin + 600,
            duration: 400,
            ..Call::default()
        };
        let depth = Attributes {
            depth: 1,
            ..Attributes::default()
        };
        buffer.store_call(&call, &[], depth);
        store(&mut buffer, 3 * step + 2);
        let pass = Pass {
            region: STEP_REGION,
            end: begin + 900,
            duration: 800,
        };
        buffer.store_region(&pass, Attributes::default());
    }
    buffer
}

/// The ranks do the same, and number it otherwise.
fn contexts(rank: u32) -> Vec<Context> {
    let of = |number, parent, kind, module: &str, name: &str| Context {
        number,
        parent,
        kind,
        module: module.to_owned(),
        name: name.to_owned(),
    };
    let function = FrameKind::Function;
    let mut all = vec![
        of(4 + rank, 3 + rank, function, "libmpi.so.40", "PMPI_Send"),
        of(1 + rank, 0, function, "app", "main"),
        of(3 + rank, 1 + rank, function, "app", "work<a, b>(int; int)"),
    ];
    if rank == 1 {
        all.push(of(1, 0, FrameKind::Lost, "", ""));
    }
    all
}

fn location(rank: u32) -> Location {
    let counted = |stored| {
        Some(Counters {
            stored,
            kept: stored,
            ..Counters::default()
        })
    };
    Location {
        rank,
        // A tick is half a ns, and job time began a second before.
        clock: vec![(0, 1_000_000_000), (2_000_000, 1_001_000_000)],
        regions: vec![Region {
            number: STEP_REGION.0,
            name: "step".into(),
            ..Region::default()
        }],
        visits: counted(STEPS),
        contexts: contexts(rank),
        paces: vec![(0, 7), (1_000_100_000, UNIT_NS), (1_000_900_000, 0)],
        samples: counted(3 * STEPS),
        ..Location::default()
    }
}

fn job_ns(ticks: u64) -> u64 {
    1_000_000_000 + ticks / 2
}

/// An observation of two ranks between two ticks.
fn save(dir: &Path, between: (u64, u64), location: impl Fn(u32) -> Location) {
    let mut writer = Writer::new(dir).expect("a new directory");
    for rank in 0..2 {
        let mut buffer = buffer(rank);
        let mut view = buffer.freeze().expect("no view is out");
        writer.begin(location(rank)).expect("written");
        let mut content = Vec::new();
        while let Some(chain) = view.next_bin(&mut buffer, &mut content) {
            writer.bin(chain, &content).expect("written");
            content.clear();
        }
        buffer.thaw(view);
        writer.end(false).expect("written");
    }
    let about = About {
        version: VERSION,
        job: Job {
            ranks: 2,
            ..Job::default()
        },
        from_ns: job_ns(between.0),
        to_ns: job_ns(between.1),
        functions: vec![String::new(), "MPI_Send".to_owned()],
        ..About::default()
    };
    writer.finish(about).expect("written");
}

fn samples(of: &SavedObservation, rank: usize) -> Vec<SavedSample> {
    let mut samples = of.samples(&of.locations()[rank]).expect("whole");
    std::iter::from_fn(|| samples.next_sample().expect("whole")).collect()
}

fn calls(of: &SavedObservation, rank: usize) -> Vec<SavedCall> {
    let mut calls = of.calls(&of.locations()[rank]).expect("whole");
    std::iter::from_fn(|| calls.next_call().expect("whole")).collect()
}

/// What was stored is read, also of an interval, and calls are read without samples.
#[test]
fn samples_are_read_as_they_were_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, between) in [(0, END), (BEGIN + 501, BEGIN + 70 * STEP + 500)]
        .into_iter()
        .enumerate()
    {
        let dir = folder.path().join(number.to_string());
        save(&dir, between, location);
        let of = SavedObservation::open(&dir).expect("whole");
        let inside = job_ns(between.0)..job_ns(between.1);
        for rank in 0..2 {
            let expected = (0..3 * STEPS).map(|n| {
                let (time, context) = sample(n, rank);
                SavedSample {
                    at_ns: job_ns(time),
                    at_ticks: time,
                    ordinal: n + 1,
                    context,
                    ..SavedSample::default()
                }
            });
            let expected: Vec<SavedSample> =
                expected.filter(|of| inside.contains(&of.at_ns)).collect();
            assert_eq!(samples(&of, rank as usize), expected);
            let calls = calls(&of, rank as usize);
            let is_call = |head: &Head| matches!(head, Head::Call(_) | Head::Region(_));
            assert!(calls.iter().all(|call| is_call(&call.contents.head)));
            let mut records = of.records(&of.locations()[rank as usize]).expect("whole");
            let records: Vec<SavedCall> =
                std::iter::from_fn(|| records.next_record().expect("whole")).collect();
            assert!(records.is_sorted_by_key(|record| record.job_ns.end));
            assert_eq!(records.len(), calls.len() + expected.len());
            let mut sorted = contexts(rank);
            sorted.sort_by_key(|of| of.number);
            assert_eq!(of.contexts(rank), sorted);
        }
    }
}

#[test]
fn hostile_contexts_are_refused_with_their_rank() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("obs");
    save(&dir, (0, END), |rank| {
        let mut location = location(rank);
        if rank == 1 {
            // Its caller's caller is itself.
            location.contexts[1].parent = location.contexts[0].number;
        }
        location
    });
    let error: SavedError = SavedObservation::open(&dir).expect_err("hostile");
    assert!(matches!(error.what, What::Malformed { .. }), "{error}");
    let said = "rank 1: calling context 2 has the caller 5, whose number is not lower";
    assert!(error.to_string().ends_with(said), "{error}");
    assert_eq!(error.file, dir.join("locations.jsonl"));
}

/// Each sample has a line, with its function and its callers.
#[test]
fn the_table_has_each_sample_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("obs");
    save(&dir, (0, END), location);
    let of = SavedObservation::open(&dir).expect("whole");
    let mut table = Vec::new();
    let written = csv::write_samples(&of, &mut table).expect("written");
    assert_eq!(written, 2 * 3 * STEPS);
    let table = String::from_utf8(table).expect("text");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len() as u64, 1 + written);
    let first = [
        "rank,thread,occupant,time_ns,ordinal,function,path",
        "0,0,0,1000005075,1,\"work<a, b>(int; int)\",\"main;work<a, b>(int: int)\"",
        "0,0,0,1000005250,2,PMPI_Send,\"main;work<a, b>(int: int);PMPI_Send\"",
        "0,0,0,1000005300,3,(not known),(not known)",
    ];
    assert_eq!(lines[..4], first);
    let different: BTreeSet<&&str> = lines.iter().collect();
    assert_eq!(different.len(), lines.len());
    // The table of calls has none of them.
    let mut table = Vec::new();
    let written = csv::write(&of, &mut table).expect("written");
    let expected = csv::Written {
        calls: 2 * STEPS,
        visits: 2 * STEPS,
    };
    assert_eq!(written, expected);
}

/// Instants lie in the slices around them, and no event before the one before it.
#[test]
fn a_trace_has_each_sample_in_its_slice() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("obs");
    save(&dir, (0, END), location);
    let of = SavedObservation::open(&dir).expect("whole");
    let (view, endpoints) = of.view().expect("whole");
    assert_eq!((view.samples(), view.calls()), (6 * STEPS, 2 * STEPS));
    let mut bytes = Vec::new();
    perfetto::write(&view, &endpoints, &mut bytes).expect("memory");
    let trace = Trace::decode(&bytes[..]).expect("a trace");
    let (mut names, mut paths) = (BTreeMap::new(), BTreeMap::new());
    let mut found: BTreeMap<(u32, String, String, usize), u64> = BTreeMap::new();
    // Of each sequence the last time, and how many slices are open.
    let mut last: BTreeMap<u32, (u64, usize)> = BTreeMap::new();
    for packet in trace.packet {
        let sequence = packet.trusted_packet_sequence_id.expect("a sequence");
        let told = packet.interned_data.unwrap_or_default();
        for name in told.event_names {
            names.insert((sequence, name.iid), name.name.expect("a name"));
        }
        for path in told.debug_annotation_string_values {
            paths.insert((sequence, path.iid), path.name.expect("a path"));
        }
        let Some(Data::TrackEvent(event)) = packet.data else {
            continue;
        };
        let (last_ns, open) = last.entry(sequence).or_default();
        let at_ns = packet.timestamp.expect("a time");
        assert!(at_ns >= *last_ns);
        *last_ns = at_ns;
        match event.r#type.expect("a type") {
            SLICE_BEGIN => *open += 1,
            SLICE_END => *open -= 1,
            kind => {
                assert_eq!(kind, INSTANT);
                let Some(Value::TextIid(path)) = event.debug_annotations[0].value else {
                    panic!("a sample has a path");
                };
                let name = names[&(sequence, event.name_iid)].clone();
                let path = paths[&(sequence, Some(path))].clone();
                *found.entry((sequence, name, path, *open)).or_default() += 1;
            }
        }
    }
    let mut expected = BTreeMap::new();
    for sequence in 1..=2 {
        let mut one = |name: &str, path: &str, depth| {
            expected.insert((sequence, name.to_owned(), path.to_owned(), depth), STEPS);
        };
        one("work<a, b>(int; int)", "main;work<a, b>(int: int)", 1);
        one("PMPI_Send", "main;work<a, b>(int: int);PMPI_Send", 2);
        one("(not known)", "(not known)", 1);
    }
    assert_eq!(found, expected);
}

/// Where libotf2 and its printer are, they read what was written.
#[test]
fn an_archive_has_each_sample_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let (dir, out) = (folder.path().join("obs"), folder.path().join("otf2"));
    save(&dir, (0, END), location);
    let of = SavedObservation::open(&dir).expect("whole");
    let exported = match otf2::export(&of, &out, otf2::Communication::All, |_, _| {}) {
        Ok(exported) => exported,
        // Machines that build need not have it.
        Err(otf2::ExportError::Otf2(otf2::Otf2Error::Missing(_))) => return,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(
        (exported.samples, exported.moved, exported.events),
        (6 * STEPS, 0, 14 * STEPS)
    );
    let anchor = out.join("traces.otf2");
    let print = |arguments: &[&str]| {
        let mut printer = Command::new("otf2-print");
        let printed = printer.args(arguments).arg(&anchor).output().ok()?;
        assert!(printed.status.success() && printed.stderr.is_empty());
        Some(String::from_utf8(printed.stdout).expect("text"))
    };
    let Some(events) = print(&[]) else {
        return;
    };
    let sampled = events
        .lines()
        .filter(|line| line.starts_with("CALLING_CONTEXT_SAMPLE"));
    assert_eq!(sampled.count() as u64, 6 * STEPS);
    let definitions = print(&["-G"]).expect("it is there");
    let contexts = definitions
        .lines()
        .filter(|line| line.starts_with("CALLING_CONTEXT "));
    let mut generators = definitions
        .lines()
        .filter(|line| line.starts_with("INTERRUPT_GENERATOR "));
    let generator = generators.next().expect("one");
    assert!(generator.contains(&UNIT_NS.to_string()), "{generator}");
    // Those of both ranks are the same: main, work, MPI_Send and the one that is not known.
    assert_eq!(contexts.count(), 4);
}
