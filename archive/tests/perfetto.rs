//! A trace of a job that is known by construction, decoded again: every track, slice, argument and
//! arrow is there.

use invivo_archive::flows::{Channel, Endpoint, Endpoints};
use invivo_archive::observation::{Call, CallKind, Death, Facts, Observation, Open, Part};
use invivo_archive::perfetto;
use invivo_archive::perfetto::proto::{
    Data, INSTANT, SLICE_BEGIN, SLICE_END, Trace, TrackEvent, Value,
};
use prost::Message;
use std::collections::BTreeMap;

fn call(function: &str, begin_ns: u64, end_ns: u64, facts: Facts) -> Call {
    Call {
        function: Some(function.into()),
        begin_ns,
        end_ns,
        facts,
        ordinal: 4,
        request: 0,
        is_clipped: false,
        occupant: 0,
        depth: 0,
        parts: Vec::new(),
    }
}

fn message(kind: CallKind, rank: u32, bytes: u64) -> Facts {
    let is_send = kind == CallKind::Send;
    Facts {
        kind,
        comm: Some(0),
        peer: rank as i32,
        rank: Some(rank),
        tag: 7,
        bytes_out: if is_send { bytes } else { 0 },
        bytes_in: if is_send { 0 } else { bytes },
    }
}

/// Rank 0 sends to rank 1, which receives it in a wait, and then sends again for ever; rank 1 dies.
fn job() -> (Observation, Endpoints) {
    let mut of = Observation {
        job: "j".into(),
        ranks: 2,
        from_ns: 100,
        to_ns: 2_000,
        deaths: vec![Death {
            rank: 1,
            how: "was killed by signal 9 (SIGKILL)".into(),
        }],
        ..Observation::default()
    };
    let sender = of.track(0, 0);
    sender.calls = vec![
        call("MPI_Send", 200, 300, message(CallKind::Send, 1, 64)),
        // Put to job time 5 ns too early, on another page.
        call(
            "MPI_Barrier",
            295,
            400,
            Facts {
                kind: CallKind::Collective,
                comm: Some(0),
                ..Facts::default()
            },
        ),
    ];
    sender.open = Some(Open {
        function: Some("MPI_Send".into()),
        begin_ns: 500,
        occupant: 0,
    });
    let receiver = of.track(1, 0);
    let mut wait = call("MPI_Wait", 250, 350, Facts::default());
    wait.parts = vec![Part {
        function: "MPI_Irecv".into(),
        facts: message(CallKind::Received, 0, 64),
        request: 3,
        posted_ticks: 210,
    }];
    receiver.calls = vec![wait];
    receiver.gaps.gone_until_ns = Some(150);
    of.track(1, 2).calls = vec![call("MPI_Iprobe", 600, 700, Facts::default())];
    let mut endpoints = Endpoints::default();
    let channel = Channel {
        destination: 1,
        comm: (0, 0),
        source: 0,
        tag: 7,
    };
    endpoints.send(
        channel,
        Endpoint {
            location: (0, 0),
            call: 0,
            posted_ticks: 200,
            begin_ns: of.tracks[0].calls[0].begin_ns,
            end_ns: of.tracks[0].calls[0].end_ns,
        },
    );
    endpoints.receive(
        channel,
        Endpoint {
            location: (1, 0),
            call: 0,
            posted_ticks: 210,
            begin_ns: of.tracks[1].calls[0].begin_ns,
            end_ns: of.tracks[1].calls[0].end_ns,
        },
    );
    (of, endpoints)
}

/// An event as the test writes it: track, time, what, name.
type Event = (u64, u64, i32, String);

struct Read {
    processes: Vec<String>,
    threads: BTreeMap<u64, (i32, i32, String)>,
    events: Vec<Event>,
    arguments: BTreeMap<String, Vec<(String, Value)>>,
    begins: Vec<(u64, String)>,
    ends: Vec<(u64, String)>,
}

fn read(bytes: &[u8]) -> Read {
    let trace = Trace::decode(bytes).expect("a trace");
    let mut read = Read {
        processes: Vec::new(),
        threads: BTreeMap::new(),
        events: Vec::new(),
        arguments: BTreeMap::new(),
        begins: Vec::new(),
        ends: Vec::new(),
    };
    let mut names: BTreeMap<(u32, u64), String> = BTreeMap::new();
    let mut arguments: BTreeMap<(u32, u64), String> = BTreeMap::new();
    for packet in trace.packet {
        let sequence = packet.trusted_packet_sequence_id.expect("a sequence");
        let told = packet.interned_data.unwrap_or_default();
        for (into, from) in [
            (&mut names, told.event_names),
            (&mut arguments, told.debug_annotation_names),
        ] {
            for name in from {
                let key = (sequence, name.iid.expect("a number"));
                into.insert(key, name.name.expect("a name"));
            }
        }
        match packet.data.expect("data") {
            Data::TrackDescriptor(track) => {
                let uuid = track.uuid.expect("a number");
                if let Some(process) = track.process {
                    read.processes.push(process.process_name.expect("a name"));
                }
                if let Some(thread) = track.thread {
                    let (pid, tid) = (
                        thread.pid.expect("a process"),
                        thread.tid.expect("a number"),
                    );
                    read.threads
                        .insert(uuid, (pid, tid, thread.thread_name.expect("a name")));
                }
            }
            Data::TrackEvent(event) => {
                let TrackEvent {
                    debug_annotations,
                    r#type,
                    name_iid,
                    track_uuid,
                    name,
                    flow_ids,
                    terminating_flow_ids,
                } = event;
                let interned = name_iid.map(|iid| names[&(sequence, iid)].clone());
                let name = name.or(interned).unwrap_or_default();
                let at = (
                    track_uuid.expect("a track"),
                    packet.timestamp.expect("a time"),
                );
                read.events
                    .push((at.0, at.1, r#type.expect("a type"), name.clone()));
                read.begins
                    .extend(flow_ids.into_iter().map(|id| (id, name.clone())));
                read.ends.extend(
                    terminating_flow_ids
                        .into_iter()
                        .map(|id| (id, name.clone())),
                );
                let told = debug_annotations.into_iter().map(|one| {
                    let name = arguments[&(sequence, one.name_iid.expect("a name"))].clone();
                    (name, one.value.expect("a value"))
                });
                read.arguments.entry(name).or_default().extend(told);
            }
        }
    }
    read
}

#[test]
fn everything_is_there_again() {
    let (of, endpoints) = job();
    let mut bytes = Vec::new();
    perfetto::write(&of, &endpoints, &mut bytes).expect("memory");
    let read = read(&bytes);
    assert_eq!(read.processes, ["rank 0", "rank 1 (died)"]);
    let threads: Vec<_> = read
        .threads
        .iter()
        .map(|(uuid, thread)| (*uuid, thread.0, thread.1))
        .collect();
    // The first thread has its process' number, and numbers of tracks are not given twice.
    assert_eq!(threads, [(3, 1, 1), (4, 2, 2), (8, 2, 6)]);
    let (begin, end) = (SLICE_BEGIN, SLICE_END);
    let expected = [
        (3, 200, begin, "MPI_Send"),
        (3, 300, end, ""),
        (3, 300, begin, "MPI_Barrier"),
        (3, 400, end, ""),
        (3, 500, begin, "MPI_Send"),
        (4, 100, begin, "(not kept)"),
        (4, 250, end, ""),
        (4, 250, begin, "MPI_Wait"),
        (4, 350, end, ""),
        (4, 350, INSTANT, "rank 1 was killed by signal 9 (SIGKILL)"),
        (8, 600, begin, "MPI_Iprobe"),
        (8, 700, end, ""),
    ];
    let found: Vec<_> = read
        .events
        .iter()
        .map(|(t, at, what, name)| (*t, *at, *what, name.as_str()))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(read.begins, [(1, "MPI_Send".to_owned())]);
    assert_eq!(read.ends, [(1, "MPI_Wait".to_owned())]);
}

#[test]
fn slices_say_what_was_communicated() {
    let (of, endpoints) = job();
    let mut bytes = Vec::new();
    perfetto::write(&of, &endpoints, &mut bytes).expect("memory");
    let arguments = read(&bytes).arguments;
    let pairs = |name: &str| arguments[name].clone();
    assert_eq!(
        pairs("MPI_Send"),
        [
            ("peer".to_owned(), Value::Uint(1)),
            ("tag".to_owned(), Value::Int(7)),
            ("bytes sent".to_owned(), Value::Uint(64)),
            (
                "communicator".to_owned(),
                Value::Text("MPI_COMM_WORLD".into())
            ),
        ]
    );
    assert!(pairs("MPI_Barrier").contains(&("collective".to_owned(), Value::Uint(4))));
    assert!(pairs("MPI_Wait").contains(&(
        "part".to_owned(),
        Value::Text("MPI_Irecv from 0, tag 7, 64 B".into())
    )));
    assert_eq!(
        pairs("(not kept)"),
        [(
            "why".to_owned(),
            Value::Text("given up: the buffer was full".into())
        )]
    );
}
