//! Golden bytes: what version 1 writes, for ever. A difference means that processes of two releases no longer
//! understand each other: raise the version and add a folder beside `v1`, or take the change back.
//!
//! `INVIVO_BLESS=1 cargo test -p invivo-proto --test golden` writes files that are not there yet. It never
//! overwrites one.

mod samples;

use invivo_proto::control::{self, link, local, tree};
use invivo_proto::definition::Definition;
use invivo_proto::packet::Header;
use invivo_proto::record::{Decoded, Decoder};
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

fn golden(name: &str) -> Vec<u8> {
    let path = folder().join(format!("{name}.bin"));
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error} (see the head of golden.rs)", path.display()))
}

#[test]
fn today_writes_what_version_1_wrote() {
    for (name, bytes) in samples::all() {
        let path = folder().join(format!("{name}.bin"));
        if std::env::var_os("INVIVO_BLESS").is_some() && !path.exists() {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        assert_eq!(golden(&name), bytes, "{name} has other bytes than version 1");
    }
}

#[test]
fn no_file_is_without_its_sample() {
    let names: Vec<String> = samples::all()
        .into_iter()
        .map(|(name, _)| format!("{name}.bin"))
        .collect();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "{name} is compared with nothing");
    }
}

#[test]
fn the_golden_packet_is_read() {
    let message = golden("packet");
    let (header, payload) = Header::decode(&message).unwrap();
    assert_eq!(header, samples::header(payload.len()));
    let mut decoder = Decoder::new(header.first_time, header.next_request);
    let mut at = 0;
    for (name, (decoded, parts)) in samples::records() {
        assert_eq!(decoder.record(payload, &mut at).unwrap(), decoded, "{name}");
        for part in parts {
            assert_eq!(decoder.part(payload, &mut at).unwrap(), part, "{name}");
        }
    }
    assert_eq!(at, payload.len());
    assert_eq!(decoder.time(), header.last_time);
    let calls = samples::records()
        .iter()
        .filter(|(_, (decoded, _))| matches!(decoded, Decoded::Call(..)))
        .count();
    assert_eq!(header.records as usize, calls);
}

#[test]
fn golden_definitions_are_read() {
    for (name, definition) in samples::definitions(&samples::runs()) {
        assert_eq!(
            Definition::decode(&golden(&format!("definition-{name}"))).unwrap(),
            definition
        );
    }
}

/// Every golden file of one kind is read as the message that it was written from.
macro_rules! read_back {
    ($kind:literal, $type:ty, $samples:expr) => {
        let all: Vec<$type> = $samples;
        let files = samples::all()
            .into_iter()
            .filter(|(name, _)| name.strip_prefix($kind).is_some_and(|rest| rest.starts_with('-')));
        let mut read = 0;
        for ((name, _), sample) in files.zip(all.iter()) {
            assert_eq!(
                &control::decode::<$type>(&golden(&name)).unwrap(),
                sample,
                "{name}"
            );
            read += 1;
        }
        assert_eq!(read, all.len());
    };
}

#[test]
fn golden_control_messages_are_read() {
    read_back!("down", tree::Down, samples::downs());
    read_back!("up", tree::Up, samples::ups());
    read_back!(
        "from-supervisor",
        local::FromSupervisor,
        samples::from_supervisors()
    );
    read_back!("to-supervisor", local::ToSupervisor, samples::to_supervisors());
    read_back!("request", link::Request, samples::requests());
    read_back!("response", link::Response, samples::responses());
    assert_eq!(
        control::decode::<link::Final>(&golden("final")).unwrap(),
        samples::last_words()
    );
}

/// A variant that joins an enum must be sampled: these matches no longer compile, and the counts no longer fit.
#[test]
fn every_variant_has_a_sample() {
    use tree::{Down, Partial, Query, Up, Verb};
    let down = |message: &Down| match message {
        Down::Job(_) => 0,
        Down::Command(command) => match command.verb {
            Verb::Pause { .. } => 1,
            Verb::Resume => 2,
        },
        Down::Query { query, .. } => match query {
            Query::Functions { .. } => 3,
            Query::Matrix => 4,
            Query::Status => 5,
        },
        Down::Heartbeat => 6,
        Down::Release => 7,
        Down::Shutdown => 8,
    };
    assert_eq!(
        samples::downs().iter().map(down).collect::<Vec<_>>(),
        (0..9).collect::<Vec<_>>()
    );
    let up = |message: &Up| match message {
        Up::Hello { .. } => 0,
        Up::Ack { .. } => 1,
        Up::Partial {
            partial: Partial::Functions(_),
            ..
        } => 2,
        Up::Partial {
            partial: Partial::Matrix(_),
            ..
        } => 3,
        Up::Partial {
            partial: Partial::Status(_),
            ..
        } => 4,
        Up::Groups(_) => 5,
        Up::RankEnded(_) => 6,
        Up::Drained => 7,
    };
    assert_eq!(
        samples::ups().iter().map(up).collect::<Vec<_>>(),
        (0..8).collect::<Vec<_>>()
    );
}
