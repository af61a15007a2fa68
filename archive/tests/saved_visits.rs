//! Visits of regions in saved observations: in the order of their begins, in every form.

use invivo_archive::csv;
use invivo_archive::saved::format::{About, Counters, Job, Location, OpenRegion, Region, VERSION};
use invivo_archive::saved::{SavedObservation, Writer};
use invivo_otfx::{Attributes, Buffer, FlightRecorder, Head, Pass};
use invivo_proto::ids::RegionId;
use invivo_proto::record::Call;
use std::path::Path;

/// One rank that went through regions: a step of so many visits, again and again in `main`, which
/// it has not left; a call lies in each visit.
fn save_visits(dir: &Path, steps: u64, visits: u64) {
    let [of_step, of_visit] = [4097, 4098].map(RegionId);
    let mut buffer = Buffer::new(32 << 20, Box::new(FlightRecorder)).expect("large enough");
    let mut now = 1_000;
    let pass = |region, begin, end| Pass {
        region,
        end,
        duration: end - begin,
    };
    let depth = |depth| Attributes {
        depth,
        ..Attributes::default()
    };
    for _ in 0..steps {
        let step = now;
        for _ in 0..visits {
            let call = Call {
                end: now + 30,
                duration: 10,
                ..Call::default()
            };
            buffer.store_call(&call, &[], depth(3));
            buffer.store_region(&pass(of_visit, now, now + 40), depth(2));
            now += 40;
        }
        buffer.store_region(&pass(of_step, step, now), depth(1));
        now += 5;
    }
    let region = |number, name: &str| Region {
        number,
        name: name.to_owned(),
        line: "solver.c:212".to_owned(),
        is_function: true,
    };
    let mut writer = Writer::new(dir).expect("a new directory");
    let stored = steps * (visits + 1);
    let about_location = Location {
        open_regions: vec![OpenRegion {
            number: 4096,
            begin_ticks: 900,
            begin_ns: 1_000_000_450,
            occupant: 0,
        }],
        regions: vec![
            region(4097, "step"),
            region(4096, "main"),
            region(4098, "a, b"),
        ],
        visits: Some(Counters {
            stored,
            kept: stored,
            ..Counters::default()
        }),
        // A tick is half a ns, and job time began a second before.
        clock: vec![(0, 1_000_000_000), (2_000_000, 1_001_000_000)],
        ..Location::default()
    };
    writer.begin(about_location).expect("written");
    let mut view = buffer.freeze().expect("no view is out");
    let mut content = Vec::new();
    while let Some(chain) = view.next_bin(&mut buffer, &mut content) {
        writer.bin(chain, &content).expect("written");
        content.clear();
    }
    buffer.thaw(view);
    writer.end(false).expect("written");
    let about = About {
        version: VERSION,
        job: Job {
            ranks: 1,
            ..Job::default()
        },
        to_ns: 2_000_000_000,
        functions: vec![String::new()],
        ..About::default()
    };
    writer.finish(about).expect("written");
}

/// However much lies in a region, what began first comes first; what was not left is there as well.
#[test]
fn visits_come_in_the_order_of_their_begins() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("obs");
    let (steps, visits) = (5, 6_000);
    save_visits(&dir, steps, visits);
    let of = SavedObservation::open(&dir).expect("whole");
    let mut calls = of
        .calls(&of.locations()[0])
        .expect("whole")
        .by_begin()
        .expect("whole");
    let mut begun = Vec::new();
    while let Some(one) = calls.next_call().expect("whole") {
        let name = match &one.contents.head {
            Head::Region(pass) => of.region_name(0, pass.region.0),
            _ => "call".to_owned(),
        };
        begun.push((one.contents.head.begin(), name));
    }
    assert_eq!(calls.late(), 0);
    assert!(begun.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    assert_eq!(begun.len() as u64, 1 + steps * (1 + 2 * visits));
    let first: Vec<&str> = begun[..4].iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(first, ["main", "step", "a, b", "call"]);

    // The other forms have them as well.
    let mut table = Vec::new();
    let written = csv::write(&of, &mut table).expect("written");
    let expected = csv::Written {
        calls: steps * visits,
        visits: steps * (visits + 1),
    };
    assert_eq!(written, expected);
    let table = String::from_utf8(table).expect("text");
    let quoted = table
        .lines()
        .filter(|line| line.contains(",\"a, b\",,region,"));
    assert_eq!(quoted.count() as u64, steps * visits);
    let (view, _) = of.view().expect("whole");
    assert_eq!(
        (view.calls(), view.visits()),
        (expected.calls, expected.visits)
    );
    assert_eq!(view.tracks[0].open_regions.len(), 1);
}
