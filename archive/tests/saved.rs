//! Saved observations: what is written is read, whatever is damaged is refused with its file, and
//! the bytes of a version stay.
//!
//! `INVIVO_BLESS=1 cargo test -p invivo-archive --test saved` writes golden files that are not
//! there; it never overwrites one. A change of the form raises `format::VERSION` and makes a new
//! folder.

use invivo_archive::saved::bins::{self, BinsReader, FrameFault};
use invivo_archive::saved::calls::SavedCall;
use invivo_archive::saved::format::{
    About, Communicator, Job, Ledger, Location, Loss, Membership, OpenCall, VERSION,
};
use invivo_archive::saved::{SavedError, SavedObservation, What, Writer};
use invivo_archive::{csv, perfetto};
use invivo_otfx::{Attributes, Buffer, Contents, FlightRecorder, Head};
use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::record::{Call, Facts, Part, RecordKind};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Calls of two ranks: each sends to the other and receives by a posted receive.
fn call(n: u64, rank: u32) -> (Call, Vec<Part>) {
    let peer = 1 - rank as i32;
    let facts = |kind, region| Facts {
        kind,
        region: RegionId(region),
        comm: CommLocal::WORLD,
        peer,
        tag: 7,
        bytes_out: if kind == RecordKind::Send { 8 * n } else { 0 },
        bytes_in: if kind == RecordKind::CompletedRecv {
            8 * n
        } else {
            0
        },
        ..Facts::default()
    };
    let (kind, region) = [
        (RecordKind::Send, 1),
        (RecordKind::PostRecv, 4),
        (RecordKind::Plain, 5),
    ][(n % 3) as usize];
    let call = Call {
        facts: facts(kind, region),
        end: 10_000 + 100 * n,
        duration: 40,
        request: n / 3,
        ..Call::default()
    };
    let completed = Part {
        facts: facts(RecordKind::CompletedRecv, 4),
        request: (n / 3).saturating_sub(u64::from(n % 3 == 2 && n < 3)),
        posted: 10_000 + 100 * n.saturating_sub(1),
    };
    let parts = if n % 3 == 2 {
        vec![completed]
    } else {
        Vec::new()
    };
    (call, parts)
}

fn buffer(calls: u64, rank: u32) -> Buffer {
    let mut buffer = Buffer::new(64 << 10, Box::new(FlightRecorder)).expect("large enough");
    for n in 0..calls {
        let (call, parts) = call(n, rank);
        buffer.store_call(&call, &parts, Attributes::default());
    }
    buffer
}

fn location(rank: u32) -> Location {
    let member = |number, id| Membership {
        number,
        id,
        peers: id,
        rank: if number == 0 { rank } else { 0 },
    };
    Location {
        rank,
        host: "node17".into(),
        state: "in MPI".into(),
        // A tick is half a ns, and job time began a second before.
        clock: vec![(0, 1_000_000_000), (2_000_000, 1_001_000_000)],
        clock_error_ns: 30 * u64::from(rank),
        communicators: vec![member(0, (0, 0)), member(1, (rank, u32::MAX))],
        open: (rank == 1).then(|| OpenCall {
            function: "MPI_Recv".into(),
            begin_ns: 1_000_900_000,
            occupant: 0,
        }),
        ledger: Ledger {
            entered: 12,
            open: 1,
            kept: 9,
            reduced: 2,
            ..Ledger::default()
        },
        losses: vec![Loss {
            level: "all else".into(),
            class: "call".into(),
            reason: "made room".into(),
            records: 2,
            first_ns: 1_000_000_100,
            last_ns: 1_000_000_200,
        }],
        gone_until_ns: Some(1_000_000_200),
        pauses: vec![(1_001_000_000, 1_001_500_000)],
        ..Location::default()
    }
}

fn about() -> About {
    About {
        version: VERSION,
        writer: "invivo 0.0.0".into(),
        job: Job {
            id: "node17-4711".into(),
            ranks: 2,
            family: "ompi".into(),
            library: "Open MPI v4.1.4".into(),
            host: "node17".into(),
            command: vec!["./app".into(), "x".into()],
        },
        observed_from_ns: 999_000_000,
        is_all: true,
        from_ns: 1_000_000_000,
        to_ns: 1_002_000_000,
        saved_unix_ns: 1_800_000_000_000_000_000,
        clock_error_ns: 30,
        functions: [
            "",
            "MPI_Send",
            "MPI_Recv",
            "MPI_Isend",
            "MPI_Irecv",
            "MPI_Wait",
        ]
        .map(str::to_owned)
        .into(),
        strategy: "time".into(),
        ..About::default()
    }
}

/// An observation of so many calls of each of two ranks.
fn save(dir: &Path, calls: u64) {
    let mut writer = Writer::new(dir).expect("a new directory");
    writer
        .communicator(&Communicator {
            id: (1, 3),
            pieces: vec![(0, vec![(1, -1, 2)])],
        })
        .expect("written");
    for rank in 0..2 {
        let mut buffer = buffer(calls, rank);
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
    writer.finish(about()).expect("written");
}

fn saved(calls: u64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("obs");
    save(&dir, calls);
    (folder, dir)
}

fn calls(of: &SavedObservation, rank: usize) -> Result<Vec<SavedCall>, SavedError> {
    let mut calls = of.calls(&of.locations()[rank])?;
    let mut all = Vec::new();
    while let Some(call) = calls.next_call()? {
        all.push(call);
    }
    Ok(all)
}

/// Reads all of it.
fn read(dir: &Path) -> Result<usize, SavedError> {
    let of = SavedObservation::open(dir)?;
    let mut all = 0;
    for rank in 0..of.locations().len() {
        all += calls(&of, rank)?.len();
    }
    Ok(all)
}

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("below it").to_owned();
                files.insert(name, std::fs::read(&path).expect("readable"));
            }
        }
    }
    files
}

#[test]
fn what_was_saved_is_read() {
    let (_folder, dir) = saved(200);
    let of = SavedObservation::open(&dir).expect("whole");
    assert_eq!((of.about().locations, of.about().communicators), (2, 1));
    let first = &of.locations()[1];
    assert_eq!(first.open, location(1).open);
    assert_eq!(
        (first.ledger, first.losses.clone()),
        (location(1).ledger, location(1).losses)
    );
    let group = of.group((1, 3)).expect("known");
    assert_eq!(group.members(9).collect::<Vec<_>>(), [1, 0]);
    for rank in 0..2 {
        let found = calls(&of, rank).expect("whole");
        let mut buffer = buffer(200, rank as u32);
        let mut expected = Vec::new();
        let mut view = buffer.freeze().expect("no view is out");
        while let Some(record) = view.next(&mut buffer).expect("written so") {
            expected.push(record.clone());
        }
        buffer.thaw(view);
        let read: Vec<Contents> = found.iter().map(|call| call.contents.clone()).collect();
        assert_eq!(read, expected);
        for call in &found {
            let job_ns = |ticks: u64| 1_000_000_000 + ticks / 2;
            let head = &call.contents.head;
            assert_eq!(call.job_ns, job_ns(head.begin())..job_ns(head.end()));
        }
    }
}

/// Calls outside of the interval are in bins, and not in the observation.
#[test]
fn the_interval_cuts_what_bins_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("obs");
    let mut writer = Writer::new(&dir).expect("new");
    let mut buffer = buffer(100, 0);
    let mut view = buffer.freeze().expect("no view is out");
    writer.begin(location(0)).expect("written");
    let mut content = Vec::new();
    while let Some(chain) = view.next_bin(&mut buffer, &mut content) {
        writer.bin(chain, &content).expect("written");
        content.clear();
    }
    buffer.thaw(view);
    writer.end(false).expect("written");
    // Call n ends at tick 10000 + 100 n.
    let at = |n: u64| 1_000_000_000 + (10_000 + 100 * n) / 2;
    let about = About {
        from_ns: at(20),
        to_ns: at(30) - 20,
        ..about()
    };
    writer.finish(about).expect("written");
    let of = SavedObservation::open(&dir).expect("whole");
    let ends = calls(&of, 0).expect("whole");
    let ends: Vec<u64> = ends.iter().map(|call| call.job_ns.end).collect();
    assert_eq!(ends, (20..30).map(at).collect::<Vec<u64>>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever byte of whatever file is another, it is noticed, and the file is named.
    #[test]
    fn damage_is_refused_with_its_file(
        pick in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        change in 1u8..=255,
        cut: bool,
    ) {
        let (_folder, dir) = saved(60);
        let whole = read(&dir).expect("whole");
        prop_assert_eq!(whole, 120);
        let files = files(&dir);
        let (name, bytes) = files.iter().nth(pick.index(files.len())).expect("one of them");
        let mut bytes = bytes.clone();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= change;
        }
        std::fs::write(dir.join(name), bytes).expect("written");
        let error = read(&dir).expect_err("it is damaged");
        prop_assert_eq!(error.file, dir.join(name));
    }

    /// Any bytes at all: an error with a place in them, or bins that are within them.
    #[test]
    fn arbitrary_bytes_are_no_file_of_events(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        with_head: bool,
    ) {
        let mut file = if with_head { bins::head(3, 1).to_vec() } else { Vec::new() };
        file.extend_from_slice(&bytes);
        let length = file.len() as u64;
        let refused = match BinsReader::new(&file[..]) {
            Err(error) => error,
            Ok((mut reader, _)) => {
                let mut content = Vec::new();
                loop {
                    match reader.next(&mut content) {
                        Ok(Some(bin)) => prop_assert!(bin.offset + u64::from(bin.bytes) <= length),
                        Ok(None) => return Ok(()),
                        Err(error) => break error,
                    }
                }
            }
        };
        prop_assert!(refused.offset <= length);
    }
}

/// Damage in a bin is told with the byte of its frame.
#[test]
fn damage_in_a_bin_is_told_with_its_place() {
    let (_folder, dir) = saved(200);
    let path = dir.join("events/1.0.bins");
    let mut bytes = std::fs::read(&path).expect("readable");
    let at = bins::HEAD_BYTES + bins::FRAME_BYTES + 20;
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let error = read(&dir).expect_err("it is damaged");
    let What::Frame(frame) = &error.what else {
        panic!("{error}");
    };
    assert_eq!(frame.offset, bins::HEAD_BYTES as u64);
    assert!(matches!(frame.what, FrameFault::Checksum), "{error}");
}

#[test]
fn what_exists_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, is_dir) in [("file", false), ("dir", true)] {
        let path = folder.path().join(name);
        if is_dir {
            std::fs::create_dir(&path).expect("made");
        } else {
            std::fs::write(&path, "mine").expect("made");
        }
        let error = Writer::new(&path).expect_err("it is there");
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
        // A slash behind it makes no difference.
        let slashed = PathBuf::from(format!("{}/", path.display()));
        assert!(Writer::new(&slashed).is_err());
    }
    // Made by somebody else in the meantime.
    let late = folder.path().join("late");
    let writer = Writer::new(&late).expect("new");
    std::fs::create_dir(&late).expect("made");
    let error = writer.finish(about()).expect_err("it is there");
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["dir", "file", "late"]);
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = Writer::new(&folder.path().join("obs")).expect("new");
    writer.begin(location(0)).expect("written");
    drop(writer);
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        0
    );
}

#[test]
fn another_directory_or_version_is_refused() {
    let (folder, dir) = saved(3);
    let error = SavedObservation::open(folder.path()).expect_err("no observation");
    assert!(matches!(error.what, What::NoObservation), "{error}");
    let newer = folder.path().join("newer");
    let about = About {
        version: VERSION + 1,
        ..about()
    };
    Writer::new(&newer)
        .expect("new")
        .finish(about)
        .expect("written");
    let error = SavedObservation::open(&newer).expect_err("newer");
    assert!(
        matches!(error.what, What::Version(version) if version == VERSION + 1),
        "{error}"
    );
    assert!(SavedObservation::open(&dir).is_ok());
}

/// The views that other forms are made of.
#[test]
fn calls_have_their_names_and_messages() {
    let (_folder, dir) = saved(30);
    let of = SavedObservation::open(&dir).expect("whole");
    let (observation, endpoints) = of.view().expect("whole");
    assert_eq!(observation.calls(), 60);
    let sent = &observation.tracks[0].calls[3];
    assert_eq!(sent.function.as_deref(), Some("MPI_Send"));
    assert_eq!((sent.facts.rank, sent.facts.bytes_out), (Some(1), 24));
    let mut trace = Vec::new();
    perfetto::write(&observation, &endpoints, &mut trace).expect("written");
    assert!(!trace.is_empty());

    let mut table = Vec::new();
    assert_eq!(
        csv::write(&of, &mut table).expect("written"),
        csv::Written {
            calls: 60,
            visits: 0
        }
    );
    let table = String::from_utf8(table).expect("text");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 1 + 60 + 20, "a line for each call and part");
    assert_eq!(
        lines[1],
        "0,0,0,1000004980,1000005000,MPI_Send,,send,0,1,1,7,0,0,,,0"
    );
    assert!(
        lines[4].starts_with("0,0,0,1000005080,1000005100,MPI_Irecv,MPI_Wait,received,0,1,1,7,")
    );
    let commas = lines[0].matches(',').count();
    assert!(lines.iter().all(|line| line.matches(',').count() == commas));
    assert!(matches!(
        calls(&of, 0).expect("whole")[0].contents.head,
        Head::Call(_)
    ));
}

#[test]
fn today_writes_what_its_version_wrote() {
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/saved-{VERSION}"));
    if std::env::var_os("INVIVO_BLESS").is_some() && !golden.exists() {
        std::fs::create_dir_all(golden.parent().expect("a folder")).expect("made");
        save(&golden, 12);
    }
    let (_folder, dir) = saved(12);
    assert_eq!(files(&dir), files(&golden));
    assert_eq!(read(&golden).expect("whole"), 24);
}
