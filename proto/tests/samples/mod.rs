//! One example of everything that has bytes, with the name of its file in `golden`: what outlives a
//! release here, messages between processes of one release in `messages`.

#![allow(dead_code, reason = "each test program uses its own part")]

pub mod buffers;
pub mod hang;
pub mod messages;
pub mod metrics;
pub mod peers;
pub mod profile;
pub mod results;
pub mod selection;
pub mod stacks;
pub mod supervisors;

use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::definition::{Definition, Run, Runs};
use invivo_proto::ids::*;
use invivo_proto::packet::{HEADER_BYTES, Header, Losses, VERSION};
use invivo_proto::record::{
    Call, Decoded, Encoder, Facts, MAX_PART_BYTES, OPEN_BYTES_MAX, OpenRegion, Part, REGIONS_END,
    RecordKind,
};

/// Name and bytes.
pub type Sample = (String, Vec<u8>);

/// A record as a reader gets it.
pub type Record = (Decoded, Vec<Part>);

/// Writes records one after the other, as the shim does.
pub fn encode(base_time: u64, next_request: u64, records: &[Record]) -> Vec<u8> {
    let mut encoder = Encoder::new(base_time, next_request);
    let mut bytes = Vec::new();
    for (decoded, parts) in records {
        let mut room = [0; OPEN_BYTES_MAX];
        let start = room.as_mut_ptr();
        // SAFETY: `room` has OPEN_BYTES_MAX bytes, which are more than MAX_CALL_BYTES.
        let end = unsafe {
            match decoded {
                Decoded::Call(call, count) => encoder.call(start, call, *count),
                Decoded::Continuation { parts, .. } => encoder.continuation(start, *parts),
                Decoded::Occupant(occupant) => encoder.occupant(start, *occupant),
                Decoded::Enter { time, region } => encoder.enter(start, *time, *region),
                Decoded::Leave { time } => encoder.leave(start, *time),
                Decoded::Open { time, count } => encoder.open(start, *time, open(*time, *count)),
            }
        };
        bytes.extend_from_slice(&room[..end as usize - start as usize]);
        for part in parts {
            let mut room = [0; MAX_PART_BYTES];
            let start = room.as_mut_ptr();
            // SAFETY: `room` has MAX_PART_BYTES bytes.
            let end = unsafe { encoder.part(start, part) };
            bytes.extend_from_slice(&room[..end as usize - start as usize]);
        }
    }
    bytes
}

/// The regions that a record of then says to be open.
pub fn open(time: u64, count: usize) -> impl ExactSizeIterator<Item = OpenRegion> {
    (0..count).map(move |at| OpenRegion {
        region: RegionId(REGIONS_END + 3 * at as u16),
        begin: time.saturating_sub(1000 - at as u64),
    })
}

/// The time and the request number that the example packet begins with.
pub const BASE_TIME: u64 = 1000;
/// See [`BASE_TIME`].
pub const NEXT_REQUEST: u64 = 7;

fn facts(
    kind: RecordKind,
    region: u16,
    peer: i32,
    tag: i32,
    bytes_out: u64,
    bytes_in: u64,
) -> Facts {
    Facts {
        kind,
        region: RegionId(region),
        comm: CommLocal(0),
        peer,
        tag,
        bytes_out,
        bytes_in,
        site: SiteId::NONE,
    }
}

/// The same, of a call at this site.
fn at(site: u16, facts: Facts) -> Facts {
    Facts {
        site: SiteId(site),
        ..facts
    }
}

fn call(
    facts: Facts,
    end: u64,
    duration: u64,
    ordinal: u64,
    request: u64,
    parts: usize,
) -> Decoded {
    Decoded::Call(
        Call {
            facts,
            end,
            duration,
            ordinal,
            request,
        },
        parts,
    )
}

/// The records of the example packet, by name: each shows one thing.
pub fn records() -> Vec<(&'static str, Record)> {
    let irecv = at(1, facts(RecordKind::PostRecv, 4, 1, 99, 0, 8192));
    let isend = at(2, facts(RecordKind::PostSend, 3, 1, 99, 4096, 0));
    let waitall = at(3, facts(RecordKind::Plain, 6, -1, 0, 0, 0));
    let received = at(1, facts(RecordKind::CompletedRecv, 4, 1, 99, 0, 4096));
    let sent = at(2, facts(RecordKind::CompletedSend, 3, 1, 99, 4096, 0));
    let allreduce = at(300, facts(RecordKind::Collective, 8, -1, 0, 8, 8));
    vec![
        ("1-literal", (call(irecv, 1100, 30, 0, 7, 0), vec![])),
        (
            "2-another-literal",
            (call(isend, 1200, 50, 0, 8, 0), vec![]),
        ),
        (
            "3-parts",
            (
                call(waitall, 1900, 600, 0, 0, 2),
                vec![
                    Part {
                        facts: received,
                        request: 7,
                        posted: 1100,
                    },
                    Part {
                        facts: sent,
                        request: 8,
                        posted: 1200,
                    },
                ],
            ),
        ),
        ("4-dictionary", (call(irecv, 2100, 25, 0, 9, 0), vec![])),
        (
            "5-collective",
            (call(allreduce, 2500, 300, 41, 0, 0), vec![]),
        ),
        (
            "6-next-collective",
            (call(allreduce, 2900, 300, 42, 0, 0), vec![]),
        ),
        (
            "7-continuation",
            (
                Decoded::Continuation {
                    end: 2900,
                    parts: 1,
                },
                vec![Part {
                    facts: received,
                    request: 9,
                    posted: 2100,
                }],
            ),
        ),
        ("8-occupant", (Decoded::Occupant(300), vec![])),
        (
            "9-open",
            (
                Decoded::Open {
                    time: 3000,
                    count: 2,
                },
                vec![],
            ),
        ),
        (
            "10-enter",
            (
                Decoded::Enter {
                    time: 3000,
                    region: RegionId(REGIONS_END + 1),
                },
                vec![],
            ),
        ),
        ("11-leave", (Decoded::Leave { time: 3200 }, vec![])),
    ]
}

/// The header of the example packet.
pub fn header(length: usize) -> Header {
    Header {
        version: VERSION,
        location: LocationId {
            rank: Rank(5),
            thread: 2,
        },
        sequence: 3,
        length: length as u32,
        records: 6,
        first_time: BASE_TIME,
        last_time: 3200,
        next_request: NEXT_REQUEST,
        epoch: 1,
        losses: Losses {
            entered: 106,
            dropped: [4, 2, 1],
        },
    }
}

/// The whole example packet.
pub fn packet() -> Vec<u8> {
    let records: Vec<Record> = records().into_iter().map(|(_, record)| record).collect();
    let payload = encode(BASE_TIME, NEXT_REQUEST, &records);
    let mut head = [0; HEADER_BYTES];
    header(payload.len()).encode(&payload, &mut head);
    [&head[..], &payload].concat()
}

/// Encoded runs: even ranks upward, then one falling run.
pub fn runs() -> Vec<u8> {
    let mut room = [0; 64];
    let mut at = 0;
    for run in [
        Run {
            first: Rank(0),
            stride: 2,
            count: 512,
        },
        Run {
            first: Rank(1023),
            stride: -2,
            count: 3,
        },
    ] {
        Runs::encode(run, &mut room, &mut at).expect("there is room");
    }
    room[..at].to_vec()
}

/// Definitions, by name.
pub fn definitions<'a>(runs: &'a [u8]) -> Vec<(&'static str, Definition<'a>)> {
    let id = CommId {
        leader: Rank(300),
        counter: 2,
    };
    let remote = CommId {
        leader: Rank(4),
        counter: 1,
    };
    vec![
        (
            "communicator",
            Definition::Communicator {
                local: CommLocal(3),
                id,
                rank: 1,
                size: 4,
                remote: None,
            },
        ),
        (
            "intercommunicator",
            Definition::Communicator {
                local: CommLocal(4),
                id,
                rank: 1,
                size: 4,
                remote: Some(remote),
            },
        ),
        (
            "group",
            Definition::Group {
                id,
                start: 0,
                runs: Runs(runs),
            },
        ),
        (
            "name",
            Definition::Name {
                id,
                name: b"halo exchange",
            },
        ),
        (
            "outside",
            Definition::Outside {
                local: CommLocal(5),
            },
        ),
        (
            "module",
            Definition::Module {
                number: 2,
                build_id: &[0xb1, 0x1d, 0x1d],
                path: b"/opt/app/bin/solver",
            },
        ),
        (
            "site",
            Definition::Site {
                site: SiteId(300),
                module: 2,
                offset: 0x1b3c,
            },
        ),
        (
            "region",
            Definition::Region {
                region: RegionId(REGIONS_END + 1),
                module: 2,
                offset: 0x1b30,
                name: b"",
            },
        ),
        (
            "marked-region",
            Definition::Region {
                region: RegionId(REGIONS_END),
                module: 0,
                offset: 0,
                name: b"solve",
            },
        ),
    ]
}

/// What later releases read, as files.
pub fn lasting() -> Vec<Sample> {
    let mut samples = vec![("packet".to_owned(), packet())];
    let mut shown: Vec<Record> = Vec::new();
    let mut before = 0;
    for (name, record) in records() {
        shown.push(record);
        let bytes = encode(BASE_TIME, NEXT_REQUEST, &shown);
        samples.push((format!("record-{name}"), bytes[before..].to_vec()));
        before = bytes.len();
    }
    // As the fuzz target for records takes them: base time and request number first.
    let seed = [
        &BASE_TIME.to_le_bytes()[..],
        &NEXT_REQUEST.to_le_bytes(),
        &packet()[HEADER_BYTES..],
    ]
    .concat();
    samples.push(("seed-records".to_owned(), seed));
    for (name, definition) in definitions(&runs()) {
        let mut room = [0; 256];
        let length = definition.encode(&mut room).expect("there is room");
        samples.push((format!("definition-{name}"), room[..length].to_vec()));
    }
    samples
}

/// Everything, as files.
pub fn all() -> Vec<Sample> {
    [lasting(), messages::control()].concat()
}

/// Where a process runs.
pub fn whereabouts() -> Whereabouts {
    Whereabouts {
        system: 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef,
        time_space: 4_026_531_834,
        pid_space: 4_026_531_836,
        pid: 4711,
    }
}
