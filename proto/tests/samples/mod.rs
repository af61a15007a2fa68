//! One example of everything that has bytes, with the name of its file in `golden/v1`.

#![allow(dead_code, reason = "each test program uses its own part")]

use invivo_proto::control::link::{Answer, Ask, Final, Job, Request, Response};
use invivo_proto::control::local::{FromSupervisor, Outcome, ToSupervisor};
use invivo_proto::control::results::*;
use invivo_proto::control::tree::*;
use invivo_proto::control::{self};
use invivo_proto::definition::{Definition, Run, Runs};
use invivo_proto::ids::*;
use invivo_proto::packet::{HEADER_BYTES, Header, Losses};
use invivo_proto::record::{Call, Decoded, Encoder, Facts, Kind, MAX_CALL_BYTES, MAX_PART_BYTES, Part};

/// Name and bytes.
pub type Sample = (String, Vec<u8>);

/// A record as a reader gets it.
pub type Record = (Decoded, Vec<Part>);

/// Writes records one after the other, as the shim does.
pub fn encode(base_time: u64, next_request: u64, records: &[Record]) -> Vec<u8> {
    let mut encoder = Encoder::new(base_time, next_request);
    let mut bytes = Vec::new();
    for (decoded, parts) in records {
        let mut room = [0; MAX_CALL_BYTES];
        let start = room.as_mut_ptr();
        // SAFETY: `room` has MAX_CALL_BYTES bytes.
        let end = unsafe {
            match decoded {
                Decoded::Call(call, count) => encoder.call(start, call, *count),
                Decoded::Continuation { parts, .. } => encoder.continuation(start, *parts),
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

/// The time and the request number that the example packet begins with.
pub const BASE_TIME: u64 = 1000;
/// See [`BASE_TIME`].
pub const NEXT_REQUEST: u64 = 7;

fn facts(kind: Kind, region: u16, peer: i32, tag: i32, bytes_out: u64, bytes_in: u64) -> Facts {
    Facts {
        kind,
        region: RegionId(region),
        comm: CommLocal(0),
        peer,
        tag,
        bytes_out,
        bytes_in,
    }
}

fn call(facts: Facts, end: u64, duration: u64, ordinal: u64, request: u64, parts: usize) -> Decoded {
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
    let irecv = facts(Kind::PostRecv, 4, 1, 99, 0, 8192);
    let isend = facts(Kind::PostSend, 3, 1, 99, 4096, 0);
    let waitall = facts(Kind::Plain, 6, -1, 0, 0, 0);
    let received = facts(Kind::CompletedRecv, 4, 1, 99, 0, 4096);
    let sent = facts(Kind::CompletedSend, 3, 1, 99, 4096, 0);
    let allreduce = facts(Kind::Collective, 8, -1, 0, 8, 8);
    vec![
        ("1-literal", (call(irecv, 1100, 30, 0, 7, 0), vec![])),
        ("2-another-literal", (call(isend, 1200, 50, 0, 8, 0), vec![])),
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
        ("5-collective", (call(allreduce, 2500, 300, 41, 0, 0), vec![])),
        (
            "6-next-collective",
            (call(allreduce, 2900, 300, 42, 0, 0), vec![]),
        ),
        (
            "7-continuation",
            (
                Decoded::Continuation { end: 2900, parts: 1 },
                vec![Part {
                    facts: received,
                    request: 9,
                    posted: 2100,
                }],
            ),
        ),
    ]
}

/// The header of the example packet.
pub fn header(length: usize) -> Header {
    Header {
        location: LocationId {
            rank: Rank(5),
            thread: 2,
        },
        sequence: 3,
        length: length as u32,
        records: 6,
        first_time: BASE_TIME,
        last_time: 2900,
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
    ]
}

fn moments() -> Moments {
    Moments {
        count: 3,
        sum_ns: 600,
        mean_ns: 200.0,
        m2: 20000.0,
        min_ns: 100,
        max_ns: 300,
        max_rank: Rank(1),
    }
}

fn functions() -> FunctionTable {
    let stats = FunctionStats {
        time: moments(),
        bytes_out: 4096,
        bytes_in: 0,
    };
    FunctionTable {
        rows: [
            ((None, RegionId(1)), stats),
            ((Some(Rank(1)), RegionId(1)), stats),
        ]
        .into(),
    }
}

fn traffic() -> Traffic {
    Traffic {
        messages: 2,
        bytes: 8192,
    }
}

fn coverage() -> Coverage {
    Coverage {
        ranks: 4,
        ranks_reporting: 3,
        members_missing: 1,
        lag_ns: 250_000_000,
        ledger: Ledger {
            entered: 100,
            open: 1,
            in_flight: 2,
            kept: 80,
            reduced: 10,
            dropped: [3, 2, 1],
            dropped_by_place: 1,
            reset: 0,
        },
        overhead_ns: 1_000_000,
        tool_cpu_ns: 2_000_000,
        packets_mpi: 5,
        packets_shm: 6,
        payload_bytes: 70_000,
        packets_refused: 1,
        buffer_bytes: 1 << 24,
    }
}

fn status() -> JobStatus {
    JobStatus {
        states: [0, 1, 2, 0, 1],
        named: vec![RankStatus {
            rank: Rank(2),
            state: RankState::InMpi,
            region: RegionId(2),
            since_ns: 5_000_000,
            entered: 12,
            mpi_ns: 900,
        }],
        pause: Some(PauseStatus {
            command: CommandId(9),
            lease_left_ns: 1_000_000_000,
        }),
        observed_ns: 60_000_000_000,
        notes: vec!["place 4 refused a packet".into()],
    }
}

fn acks() -> Acks {
    Acks {
        targets: 4,
        done: 3,
        held_in_mpi: 1,
        partly: 1,
        slowest: Some((Rank(3), 3_100_000)),
        failures: vec![(Rank(0), "no answer".into())],
        missing: vec![WorldRank(5)],
    }
}

fn ended() -> RankEnded {
    RankEnded {
        rank: Rank(2),
        how: Ended::Signal(11),
        inside: Some(RegionId(2)),
    }
}

fn group() -> Group {
    Group {
        pieces: [(
            0,
            vec![Run {
                first: Rank(0),
                stride: 1,
                count: 4,
            }],
        )]
        .into(),
    }
}

/// Every message from parent to child.
pub fn downs() -> Vec<Down> {
    vec![
        Down::Job(JobInfo {
            id: "node-17".into(),
            buffer_bytes: 1 << 24,
            budget_bytes: 1 << 30,
        }),
        Down::Command(Command {
            id: CommandId(9),
            verb: Verb::Pause {
                lease_ns: 600_000_000_000,
            },
        }),
        Down::Command(Command {
            id: CommandId(10),
            verb: Verb::Resume,
        }),
        Down::Query {
            wave: WaveId(1),
            query: Query::Functions { per_rank: true },
        },
        Down::Query {
            wave: WaveId(2),
            query: Query::Matrix,
        },
        Down::Query {
            wave: WaveId(3),
            query: Query::Status,
        },
        Down::Heartbeat,
        Down::Release,
        Down::Shutdown,
    ]
}

/// Every message from child to parent.
pub fn ups() -> Vec<Up> {
    let world = CommKey::Group(CommId::WORLD);
    let unknown = CommKey::Unknown(Rank(1), CommLocal(5));
    let matrix = MatrixPartial {
        sent: [
            ((Rank(0), world, 1), traffic()),
            ((Rank(1), unknown, 0), traffic()),
        ]
        .into(),
        received: [((Rank(1), world, 0), traffic())].into(),
    };
    vec![
        Up::Hello { ranks: 4 },
        Up::Ack {
            command: CommandId(9),
            acks: acks(),
        },
        Up::Partial {
            wave: WaveId(1),
            partial: Partial::Functions(functions()),
            coverage: coverage(),
            missing: vec![WorldRank(6)],
        },
        Up::Partial {
            wave: WaveId(2),
            partial: Partial::Matrix(matrix),
            coverage: coverage(),
            missing: vec![WorldRank(6)],
        },
        Up::Partial {
            wave: WaveId(3),
            partial: Partial::Status(status()),
            coverage: coverage(),
            missing: vec![WorldRank(6)],
        },
        Up::Groups([(CommId::WORLD, group())].into()),
        Up::RankEnded(ended()),
        Up::Drained,
    ]
}

/// Every message from a supervisor.
pub fn from_supervisors() -> Vec<FromSupervisor> {
    let acted = |outcome| FromSupervisor::Acted {
        generation: 7,
        outcome,
    };
    vec![
        FromSupervisor::Attach {
            rank: Rank(2),
            pid: 4711,
        },
        acted(Outcome::Stopped),
        acted(Outcome::HeldInMpi),
        acted(Outcome::Partly { running: 3 }),
        acted(Outcome::Running),
        acted(Outcome::Gone),
        FromSupervisor::Ended(Ended::Code(1)),
    ]
}

/// Every message to a supervisor.
pub fn to_supervisors() -> Vec<ToSupervisor> {
    vec![
        ToSupervisor::Stop { generation: 7 },
        ToSupervisor::Continue { generation: 7 },
        ToSupervisor::Leave,
    ]
}

/// Every request of the gateway.
pub fn requests() -> Vec<Request> {
    let command = Command {
        id: CommandId(9),
        verb: Verb::Resume,
    };
    [Ask::Job, Ask::Query(Query::Status), Ask::Command(command)]
        .map(|ask| Request { id: 1, ask })
        .into()
}

fn job() -> Job {
    Job {
        id: "node-17".into(),
        ranks: 4,
        places: 1,
        nodes: 1,
        family: "ompi".into(),
        library: "Open MPI v4.1.4".into(),
    }
}

fn matrix() -> Matrix {
    Matrix {
        sent: [((Rank(0), Rank(1)), traffic())].into(),
        received: [((Rank(0), Rank(1)), traffic())].into(),
        unresolved: Traffic {
            messages: 1,
            bytes: 8,
        },
    }
}

/// Every answer to the gateway.
pub fn responses() -> Vec<Response> {
    [
        Answer::Job(job()),
        Answer::Functions(functions(), coverage()),
        Answer::Matrix(matrix(), coverage()),
        Answer::Status(status(), coverage()),
        Answer::Command(acks()),
        Answer::Refused("no such rank".into()),
    ]
    .map(|answer| Response { id: 1, answer })
    .into()
}

/// What the root leaves behind.
pub fn last_words() -> Final {
    Final {
        job: job(),
        functions: functions(),
        matrix: matrix(),
        status: status(),
        coverage: coverage(),
        ended: vec![ended()],
    }
}

/// Names a message by its variants, the fields left out.
fn named(kind: &str, index: usize, message: &dyn std::fmt::Debug) -> String {
    let text = format!("{message:?}");
    let word = text
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default()
        .to_lowercase();
    format!("{kind}-{index:02}-{word}")
}

fn messages<T: std::fmt::Debug>(kind: &str, all: &[T], encode: impl Fn(&T) -> Vec<u8>) -> Vec<Sample> {
    all.iter()
        .enumerate()
        .map(|(index, one)| (named(kind, index, one), encode(one)))
        .collect()
}

/// Everything, as files.
pub fn all() -> Vec<Sample> {
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
    samples.extend(messages("down", &downs(), |m| {
        control::encode(m).expect("encodable")
    }));
    samples.extend(messages("up", &ups(), |m| control::encode(m).expect("encodable")));
    samples.extend(messages("from-supervisor", &from_supervisors(), |m| {
        control::encode(m).expect("encodable")
    }));
    samples.extend(messages("to-supervisor", &to_supervisors(), |m| {
        control::encode(m).expect("encodable")
    }));
    samples.extend(messages("request", &requests(), |m| {
        control::encode(m).expect("encodable")
    }));
    samples.extend(messages("response", &responses(), |m| {
        control::encode(m).expect("encodable")
    }));
    samples.push((
        "final".to_owned(),
        control::encode(&last_words()).expect("encodable"),
    ));
    samples
}
