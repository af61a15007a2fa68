//! Golden bytes, of two kinds.
//!
//! `golden/v1` to `golden/v4` hold what **outlives a release**: packets, records and
//! definitions are kept, and read by later programs. These bytes are for ever. A difference means
//! that two releases no longer understand each other: raise the version and add a folder beside the
//! others, or take the change back.
//!
//! `golden/control-N` holds **control messages**: the tree's, the gateway's link's, the
//! supervisors' and those from place to place. Only processes of one release exchange them, so
//! until 1.0 their layout may change, but never unawares: raise [`control::VERSION`], remove the
//! folder of the old number, and write that of the new one.
//!
//! `INVIVO_BLESS=1 cargo test -p invivo-proto --test golden` writes files that are not there yet.
//! It never overwrites one.

mod samples;

use invivo_proto::control::{self, link, local, peer, places, tree};
use invivo_proto::definition::Definition;
use invivo_proto::ids::SiteId;
use invivo_proto::packet::{self, Header};
use invivo_proto::record::{Decoded, Decoder};
use samples::messages::{self, file};
use std::collections::BTreeSet;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn lasting() -> PathBuf {
    lasting_of(packet::VERSION)
}

fn lasting_of(version: u16) -> PathBuf {
    root().join(format!("v{version}"))
}

fn of_control() -> PathBuf {
    root().join(format!("control-{}", control::VERSION))
}

fn golden(folder: PathBuf, name: &str) -> Vec<u8> {
    let path = folder.join(format!("{name}.bin"));
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error} (see the head of golden.rs)", path.display()))
}

/// Compares the samples with the files of a folder, and the files with the samples.
fn compare(folder: PathBuf, samples: Vec<samples::Sample>) {
    let mut names = BTreeSet::new();
    for (name, bytes) in samples {
        let path = folder.join(format!("{name}.bin"));
        if std::env::var_os("INVIVO_BLESS").is_some() && !path.exists() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        assert!(
            golden(folder.clone(), &name) == bytes,
            "{name} has other bytes than {} (see the head of golden.rs)",
            path.display()
        );
        assert!(
            names.insert(format!("{name}.bin")),
            "two samples are named {name}"
        );
    }
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "{name} is compared with nothing");
    }
}

#[test]
fn today_writes_what_its_version_wrote() {
    compare(lasting(), samples::lasting());
}

#[test]
fn control_messages_have_the_bytes_of_their_version() {
    compare(of_control(), messages::control());
}

#[test]
fn no_folder_is_left_behind() {
    let mut known = vec![of_control()];
    known.extend((packet::VERSION_MIN..=packet::VERSION).map(lasting_of));
    for entry in std::fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        assert!(
            known.contains(&path),
            "{} is compared with nothing",
            path.display()
        );
    }
}

#[test]
fn the_golden_packet_is_read() {
    let mut records = samples::records();
    reads(&golden(lasting(), "packet"), &records);
    // Regions came with version 4.
    records.truncate(8);
    reads(&golden(lasting_of(3), "packet"), &records);
    // Call sites came with version 3.
    for (_, (decoded, parts)) in &mut records {
        if let Decoded::Call(call, _) = decoded {
            call.facts.site = SiteId::NONE;
        }
        parts
            .iter_mut()
            .for_each(|part| part.facts.site = SiteId::NONE);
    }
    reads(&golden(lasting_of(2), "packet"), &records);
    // Occupants came with version 2.
    let without = &records[..records.len() - 1];
    assert!(matches!(
        records.last(),
        Some((_, (Decoded::Occupant(_), _)))
    ));
    reads(&golden(lasting_of(1), "packet"), without);
}

/// A packet has these records.
fn reads(message: &[u8], records: &[(&str, samples::Record)]) {
    let (header, payload) = Header::decode(message).unwrap();
    let Header { version, .. } = header;
    let expected = samples::header(payload.len());
    assert_eq!(
        header,
        Header {
            version,
            last_time: if version < 4 {
                2900
            } else {
                expected.last_time
            },
            ..expected
        }
    );
    let mut decoder = Decoder::of_version(version, header.first_time, header.next_request);
    let mut at = 0;
    for (name, (decoded, parts)) in records {
        assert_eq!(
            decoder.record(payload, &mut at).unwrap(),
            *decoded,
            "{name}"
        );
        for part in parts {
            assert_eq!(decoder.part(payload, &mut at).unwrap(), *part, "{name}");
        }
        if let Decoded::Open { time, count, .. } = *decoded {
            for region in samples::open(time, count) {
                assert_eq!(decoder.open_region(payload, &mut at).unwrap(), region);
            }
        }
    }
    assert_eq!(at, payload.len());
    assert_eq!(decoder.time(), header.last_time);
    let calls = records
        .iter()
        .filter(|(_, (decoded, _))| matches!(decoded, Decoded::Call(..)))
        .count();
    assert_eq!(header.records as usize, calls);
}

#[test]
fn golden_definitions_are_read() {
    for (name, definition) in samples::definitions(&samples::runs()) {
        // Outside and those of call sites came with version 3, those of regions with 4.
        let since = match definition {
            Definition::Region { .. } => 4,
            Definition::Outside { .. } | Definition::Module { .. } | Definition::Site { .. } => 3,
            _ => packet::VERSION_MIN,
        };
        for version in since..=packet::VERSION {
            let bytes = golden(lasting_of(version), &format!("definition-{name}"));
            assert_eq!(Definition::decode(&bytes).unwrap(), definition);
        }
    }
}

/// Every golden file of one kind is read as the message that it was written from.
macro_rules! read_back {
    ($kind:literal, $type:ty, $samples:expr) => {
        for sample in $samples {
            let name = file($kind, &sample);
            let bytes = golden(of_control(), &name);
            assert_eq!(control::decode::<$type>(&bytes).unwrap(), sample, "{name}");
        }
    };
}

#[test]
fn golden_control_messages_are_read() {
    read_back!("down", tree::Down, messages::downs());
    read_back!("up", tree::Up, messages::ups());
    read_back!("peer", peer::Endpoints, samples::peers::peers());
    read_back!("places", places::Places, samples::peers::places());
    read_back!(
        "from-supervisor",
        local::FromSupervisor,
        messages::from_supervisors()
    );
    read_back!(
        "to-supervisor",
        local::ToSupervisor,
        messages::to_supervisors()
    );
    read_back!("request", link::Request, messages::requests());
    read_back!("response", link::Response, messages::responses());
    read_back!("at-end", link::AtEnd, messages::at_ends());
}

/// Numbers of the samples of one type; a variant that joins an enum must be sampled: the match no
/// longer compiles, and the numbers no longer fit.
fn complete<T>(samples: &[T], number: impl Fn(&T) -> usize, variants: usize) {
    let numbers: BTreeSet<usize> = samples.iter().map(number).collect();
    assert_eq!(
        numbers,
        (0..variants).collect(),
        "of {}",
        std::any::type_name::<T>()
    );
}

#[test]
fn every_variant_from_parent_to_child_has_a_sample() {
    use tree::{Down, Query, Verb};
    let number = |message: &Down| match message {
        Down::Job(_) => 0,
        Down::Command(command) => match command.verb {
            Verb::Pause { .. } => 1,
            Verb::Resume => 2,
            Verb::Hold { .. } => 3,
            Verb::Reset { .. } => 4,
            Verb::Record { .. } => 5,
            Verb::Window { .. } => 6,
            Verb::Shutdown => 7,
            Verb::Strategy { .. } => 17,
            Verb::Analyses { .. } => 23,
            Verb::Sampling { .. } => 31,
            Verb::Select { .. } => 33,
            Verb::Metrics(_) => 35,
        },
        Down::Query { query, .. } => match query {
            Query::Functions { .. } => 8,
            Query::Matrix { .. } => 9,
            Query::Status => 10,
            Query::Messages { .. } => 11,
            Query::Buffers => 18,
            Query::Records { .. } => 19,
            Query::Timeline { .. } => 20,
            Query::Hang { .. } => 21,
            Query::Stacks { .. } => 22,
            Query::Analyses => 24,
            Query::Grid(_) => 26,
            Query::Sites { .. } => 27,
            Query::Save(_) => 28,
            Query::WaitStates { .. } => 29,
            Query::Profile { .. } => 30,
            Query::Regions { .. } => 32,
            Query::Selection => 34,
            Query::Metrics => 36,
        },
        Down::Heartbeat => 12,
        Down::Time { .. } => 13,
        Down::Groups(_) => 14,
        Down::Release => 15,
        Down::Shutdown => 16,
        Down::Analyses(_) => 25,
    };
    complete(&messages::downs(), number, 37);
}

#[test]
fn every_variant_from_child_to_parent_has_a_sample() {
    use tree::{Partial, Up};
    let number = |message: &Up| match message {
        Up::Hello { .. } => 0,
        Up::Ack { .. } => 1,
        Up::Partial { partial, .. } => match partial {
            Partial::Functions(_) => 2,
            Partial::Matrix(_) => 3,
            Partial::Status(_) => 4,
            Partial::Messages(_) => 5,
            Partial::Buffers(_) => 11,
            Partial::Records(_) => 12,
            Partial::Timeline(_) => 13,
            Partial::Hang(_) => 14,
            Partial::Stacks(_) => 15,
            Partial::Analyses(_) => 16,
            Partial::Grid(_) => 18,
            Partial::Sites(_) => 19,
            Partial::Saved(_) => 20,
            Partial::WaitStates(_) => 21,
            Partial::Profile(_) => 22,
            Partial::Regions(_) => 23,
            Partial::Selection(_) => 24,
            Partial::Metrics(_) => 25,
        },
        Up::Groups(_) => 6,
        Up::WantGroups(_) => 7,
        Up::WhatTime { .. } => 8,
        Up::RankEnded(_) => 9,
        Up::Drained => 10,
        Up::RankFaulted(_) => 17,
    };
    complete(&messages::ups(), number, 26);
}

#[test]
fn every_variant_of_the_link_has_a_sample() {
    use link::{Answer, Ask, Request, Response};
    use tree::Order;
    let number = |request: &Request| match &request.ask {
        Ask::Job => 0,
        Ask::Query(_) => 1,
        Ask::Command { order, .. } => match order {
            Order::Pause { .. } => 2,
            Order::Resume => 3,
            Order::Hold { .. } => 4,
            Order::Reset => 5,
            Order::Record { .. } => 6,
            Order::Window { .. } => 7,
            Order::Shutdown => 8,
            Order::Strategy { .. } => 9,
            Order::Analyses { .. } => 10,
            Order::Sampling { .. } => 11,
            Order::Select(_) => 12,
            Order::Metrics(_) => 13,
            Order::Overhead { .. } => 14,
        },
    };
    complete(&messages::requests(), number, 15);
    let number = |response: &Response| match &response.answer {
        Answer::Job(_) => 0,
        Answer::Functions(..) => 1,
        Answer::Matrix(..) => 2,
        Answer::Status(..) => 3,
        Answer::Command(_) => 4,
        Answer::Messages(..) => 5,
        Answer::Refused(_) => 6,
        Answer::Buffers(..) => 7,
        Answer::Records(..) => 8,
        Answer::Timeline(..) => 9,
        Answer::Hang(..) => 10,
        Answer::Stacks(..) => 11,
        Answer::Analyses(..) => 12,
        Answer::Grid(..) => 13,
        Answer::Sites(..) => 14,
        Answer::Saved(..) => 15,
        Answer::WaitStates(..) => 16,
        Answer::Profile(..) => 17,
        Answer::Regions(..) => 18,
        Answer::Selection(..) => 19,
        Answer::Metrics(..) => 20,
    };
    complete(&messages::responses(), number, 21);
    let number = |message: &link::AtEnd| match message {
        link::AtEnd::Page(_) => 0,
        link::AtEnd::Result(_) => 1,
        link::AtEnd::Early(_) => 2,
        link::AtEnd::Analyses(_) => 3,
        link::AtEnd::Faults(_) => 4,
        link::AtEnd::Save => 5,
    };
    complete(&messages::at_ends(), number, 6);
}

#[test]
fn every_variant_of_the_supervisors_has_a_sample() {
    use local::{FromSupervisor, Outcome, ToSupervisor};
    let number = |message: &FromSupervisor| match message {
        FromSupervisor::Attach { .. } => 0,
        FromSupervisor::Acted { outcome, .. } => match outcome {
            Outcome::Stopped => 1,
            Outcome::HeldInMpi => 2,
            Outcome::Partly { .. } => 3,
            Outcome::Running => 4,
            Outcome::Gone => 5,
        },
        FromSupervisor::Ended(_) => 6,
        FromSupervisor::Inspected { .. } => 7,
        FromSupervisor::Unwound { .. } => 8,
        FromSupervisor::Named { .. } => 9,
        FromSupervisor::Faulted(_) => 10,
        FromSupervisor::Sampling { .. } => 11,
        FromSupervisor::Profiled { .. } => 12,
        FromSupervisor::Contexts { .. } => 13,
        FromSupervisor::Samples { .. } => 14,
        FromSupervisor::Measuring { .. } => 15,
        FromSupervisor::Measured(_) => 16,
        FromSupervisor::Spent { .. } => 17,
        FromSupervisor::MetricsTried { .. } => 18,
    };
    complete(&messages::from_supervisors(), number, 19);
    let number = |message: &ToSupervisor| match message {
        ToSupervisor::Stop { .. } => 0,
        ToSupervisor::Continue { .. } => 1,
        ToSupervisor::Leave => 2,
        ToSupervisor::Inspect { .. } => 3,
        ToSupervisor::Unwind { .. } => 4,
        ToSupervisor::Name { .. } => 5,
        ToSupervisor::Sample { .. } => 6,
        ToSupervisor::Profile { .. } => 7,
        ToSupervisor::Measure { .. } => 8,
        ToSupervisor::TryMetrics { .. } => 9,
    };
    complete(&messages::to_supervisors(), number, 10);
}
