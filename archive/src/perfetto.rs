//! Writes an observation as a Perfetto trace, for <https://ui.perfetto.dev>.
//!
//! A process per rank, a track per location, a slice per call with what it communicated and per
//! visit of a region around it, an arrow per message, and slices without an end for what was open.
//!
//! Each track is a sequence of its own, as if a process had written it, so that its packets are in
//! the order of time. Calls of a thread do not overlap; where pages of one observation were put to
//! job time a few ns apart, the begin gives way.

mod order;
pub mod proto;

use crate::flows::{Endpoint, Endpoints};
use crate::observation::{Call, CallKind, Facts, Observation, Track};
use order::{Begins, DEPTH_MAX, by_begin};
use prost::Message;
use proto::{
    CLEARED, Data, DebugAnnotation, INSTANT, InternedData, NEEDED, Name, ProcessDescriptor,
    SLICE_BEGIN, SLICE_END, ThreadDescriptor, TracePacket, TrackDescriptor, TrackEvent, Value,
};
use std::collections::HashMap;
use std::io::{self, Write};

/// Parts of a call that are shown one by one; of more the number is.
const PARTS_SHOWN: usize = 16;
/// By how much what follows each other may overlap in job time.
const ROUNDING_NS: u64 = 100;
/// The field of packets in a file, and that a length follows.
const PACKET_KEY: u8 = 1 << 3 | 2;

/// Names of arguments; their numbers are their places, from 1.
const ARGUMENTS: [&str; 15] = [
    "peer",
    "root",
    "tag",
    "bytes sent",
    "bytes received",
    "communicator",
    "peer in the communicator",
    "collective",
    "request",
    "clipped",
    "part",
    "parts",
    "why",
    "calls",
    "occupant",
];

/// Writes a trace.
///
/// # Errors
/// When it cannot be written.
pub fn write(of: &Observation, endpoints: &Endpoints, to: &mut impl Write) -> io::Result<()> {
    let arrows = Arrows::new(of, endpoints);
    for (number, track) in of.tracks.iter().enumerate() {
        let mut pen = Pen {
            to,
            sequence: number as u32 + 1,
            uuid: thread_uuid(of, track),
            // Interned names belong to one sequence: each track begins with none.
            names: HashMap::new(),
            bytes: Vec::new(),
        };
        pen.begin(of, track)?;
        pen.events(of, track, &arrows)?;
    }
    Ok(())
}

/// Arrows by the calls at their ends.
#[derive(Default)]
struct Arrows {
    by_call: HashMap<((u32, u32), usize), Ends>,
}

/// The arrows of one call, by their numbers.
#[derive(Clone, Default)]
struct Ends {
    begin: Vec<u64>,
    end: Vec<u64>,
}

impl Arrows {
    fn new(of: &Observation, endpoints: &Endpoints) -> Arrows {
        let mut arrows = Arrows::default();
        for (message, id) in endpoints.messages(of).into_iter().zip(1..) {
            let (send, receive) = (message.send, message.receive);
            let key = |endpoint: Endpoint| (endpoint.location, endpoint.call);
            arrows.by_call.entry(key(send)).or_default().begin.push(id);
            arrows.by_call.entry(key(receive)).or_default().end.push(id);
        }
        arrows
    }

    fn of(&self, location: (u32, u32), call: usize) -> Ends {
        self.by_call
            .get(&(location, call))
            .cloned()
            .unwrap_or_default()
    }
}

/// Numbers of tracks: processes first.
fn process_uuid(track: &Track) -> u64 {
    u64::from(track.rank) + 1
}

fn thread_uuid(of: &Observation, track: &Track) -> u64 {
    let ranks = u64::from(of.ranks.max(track.rank + 1));
    // Behind all processes: thread t of all ranks, then thread t + 1 of all ranks.
    process_uuid(track) + ranks * (u64::from(track.thread) + 1)
}

/// The number of a rank's process: 0 is none.
fn pid(track: &Track) -> i32 {
    // Process 0 stands for none, so the numbers begin at 1.
    i32::try_from(track.rank).unwrap_or(i32::MAX - 1) + 1
}

/// Writes one sequence.
struct Pen<'a, W> {
    to: &'a mut W,
    sequence: u32,
    uuid: u64,
    names: HashMap<String, u64>,
    bytes: Vec<u8>,
}

impl<W: Write> Pen<'_, W> {
    /// The track and the names of arguments.
    fn begin(&mut self, of: &Observation, track: &Track) -> io::Result<()> {
        // One descriptor per process: the thread that initialised MPI writes it.
        if track.thread == 0 {
            let dead = of.death(track.rank).map_or("", |_| " (died)");
            let process = ProcessDescriptor {
                pid: Some(pid(track)),
                process_name: Some(format!("rank {}{dead}", track.rank)),
            };
            self.packet(
                None,
                Data::TrackDescriptor(TrackDescriptor {
                    uuid: Some(process_uuid(track)),
                    process: Some(process),
                    ..TrackDescriptor::default()
                }),
                None,
            )?;
        }

        let ranks = i64::from(of.ranks.max(track.rank + 1));
        let tid = i64::from(pid(track)) + ranks * i64::from(track.thread);
        let thread = ThreadDescriptor {
            pid: Some(pid(track)),
            tid: Some(i32::try_from(tid).unwrap_or(i32::MAX)),
            thread_name: Some(format!("thread {}", track.thread)),
        };

        let names = (1..).zip(ARGUMENTS).map(|(iid, name)| Name {
            iid: Some(iid),
            name: Some(name.to_owned()),
        });
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(self.sequence),
            // The first packet of a sequence states that no interned names exist before it.
            sequence_flags: Some(CLEARED),
            interned_data: Some(InternedData {
                debug_annotation_names: names.collect(),
                ..InternedData::default()
            }),
            data: Some(Data::TrackDescriptor(TrackDescriptor {
                uuid: Some(self.uuid),
                parent_uuid: Some(process_uuid(track)),
                thread: Some(thread),
                ..TrackDescriptor::default()
            })),
            ..TracePacket::default()
        };

        self.put(&packet)
    }

    fn events(&mut self, of: &Observation, track: &Track, arrows: &Arrows) -> io::Result<()> {
        let mut now_ns = self.gap(of, track)?;
        // Depth and end of what was entered, the innermost last.
        let mut entered: Vec<(u32, u64)> = Vec::new();
        for (depth, begins) in by_begin(track) {
            let (begin_ns, end_ns) = begins.job_ns();
            // Slices of a track must nest; rounding to job time may make neighbours overlap by some
            // ns: what is no deeper has ended then.
            let has_ended = |(outer, end_ns): &mut (u32, u64)| {
                let is_beside = depth <= *outer && depth < DEPTH_MAX;
                let overlap_ns = end_ns.saturating_sub(begin_ns);
                overlap_ns == 0 || (is_beside && overlap_ns <= ROUNDING_NS)
            };
            while let Some((_, end_ns)) = entered.pop_if(has_ended) {
                now_ns = end_ns.max(now_ns);
                self.end(now_ns)?;
            }
            now_ns = begin_ns.max(now_ns);
            let outer_ns = entered.last().map_or(u64::MAX, |(_, end_ns)| *end_ns);
            entered.push((depth, end_ns.max(now_ns).min(outer_ns)));
            match begins {
                Begins::Call(number, call) => {
                    let arrows = arrows.of((track.rank, track.thread), number);
                    let name = call.function.as_deref().unwrap_or("(the rest of a call)");
                    self.slice(now_ns, name, arguments(call), arrows)?;
                }
                Begins::Visit(visit) => {
                    let facts = visit
                        .is_clipped
                        .then(|| argument("clipped", Value::Bool(true)));
                    let facts = facts.into_iter().collect();
                    self.slice(now_ns, &visit.region, facts, Ends::default())?;
                }
                Begins::Open(open) => {
                    let name = open.function.as_deref().unwrap_or_default();
                    let facts = occupant(open.occupant).into_iter().collect();
                    self.slice(now_ns, name, facts, Ends::default())?;
                }
            }
        }
        // What is open has no end: Perfetto draws it to the end of the trace.
        while let Some((_, end_ns)) = entered.pop_if(|(_, end_ns)| *end_ns != u64::MAX) {
            now_ns = end_ns.max(now_ns);
            self.end(now_ns)?;
        }

        if let Some(open) = &track.open {
            now_ns = open.begin_ns.max(now_ns);
            let name = open
                .function
                .as_deref()
                .unwrap_or("MPI (recording was off: nobody noted which call)");
            let facts = occupant(open.occupant).into_iter().collect();
            self.slice(now_ns, name, facts, Ends::default())?;
        }

        if let Some(death) = of.death(track.rank).filter(|_| track.thread == 0) {
            let event = TrackEvent {
                r#type: Some(INSTANT),
                name: Some(format!("rank {} {}", track.rank, death.how)),
                ..TrackEvent::default()
            };
            self.event(now_ns, event, None)?;
        }

        Ok(())
    }

    /// Shows where calls are missing at the begin; where they are there from.
    fn gap(&mut self, of: &Observation, track: &Track) -> io::Result<u64> {
        let calls = track.calls.first().map(|call| call.begin_ns);
        let visits = track.visits.first().map(|visit| visit.begin_ns);
        let first_ns = calls.into_iter().chain(visits).min().unwrap_or(of.to_ns);
        let gone_ns = track.gaps.gone_until_ns.unwrap_or(0);
        let why = if track.gaps.left_out > 0 {
            "left out: more calls than were asked for"
        } else if gone_ns > of.from_ns {
            "given up: the buffer was full"
        } else {
            return Ok(0);
        };

        // Within the observation, whatever the clocks of the rank say.
        let until_ns = first_ns.min(of.to_ns).max(of.from_ns);
        let mut facts = vec![text("why", why.to_owned())];
        if track.gaps.left_out > 0 {
            facts.push(count("calls", track.gaps.left_out));
        }

        self.slice(of.from_ns, "(not kept)", facts, Ends::default())?;
        self.end(until_ns)?;
        Ok(until_ns)
    }

    fn slice(
        &mut self,
        at_ns: u64,
        name: &str,
        debug_annotations: Vec<DebugAnnotation>,
        arrows: Ends,
    ) -> io::Result<()> {
        // A name is written once per sequence, with the first event that uses it.
        let (iid, is_new) = match self.names.get(name) {
            Some(iid) => (*iid, false),
            None => {
                let iid = self.names.len() as u64 + 1;
                self.names.insert(name.to_owned(), iid);
                (iid, true)
            }
        };

        let interned = is_new.then(|| InternedData {
            event_names: vec![Name {
                iid: Some(iid),
                name: Some(name.to_owned()),
            }],
            ..InternedData::default()
        });
        let event = TrackEvent {
            debug_annotations,
            r#type: Some(SLICE_BEGIN),
            name_iid: Some(iid),
            flow_ids: arrows.begin,
            terminating_flow_ids: arrows.end,
            ..TrackEvent::default()
        };

        self.event(at_ns, event, interned)
    }

    fn end(&mut self, at_ns: u64) -> io::Result<()> {
        let event = TrackEvent {
            r#type: Some(SLICE_END),
            ..TrackEvent::default()
        };
        self.event(at_ns, event, None)
    }

    fn event(
        &mut self,
        at_ns: u64,
        event: TrackEvent,
        interned: Option<InternedData>,
    ) -> io::Result<()> {
        let event = TrackEvent {
            track_uuid: Some(self.uuid),
            ..event
        };
        self.packet(Some(at_ns), Data::TrackEvent(event), interned)
    }

    fn packet(
        &mut self,
        timestamp: Option<u64>,
        data: Data,
        interned_data: Option<InternedData>,
    ) -> io::Result<()> {
        self.put(&TracePacket {
            timestamp,
            trusted_packet_sequence_id: Some(self.sequence),
            sequence_flags: matches!(data, Data::TrackEvent(_)).then_some(NEEDED),
            interned_data,
            data: Some(data),
        })
    }

    fn put(&mut self, packet: &TracePacket) -> io::Result<()> {
        // One buffer for all packets: a trace has millions of them.
        self.bytes.clear();
        self.bytes.push(PACKET_KEY);
        // Writing to memory does not fail.
        packet
            .encode_length_delimited(&mut self.bytes)
            .map_err(io::Error::other)?;
        self.to.write_all(&self.bytes)
    }
}

/// What a call communicated.
fn arguments(call: &Call) -> Vec<DebugAnnotation> {
    let mut all = of_facts(&call.facts);
    if matches!(
        call.facts.kind,
        CallKind::Collective | CallKind::PostCollective
    ) {
        // The same number on all ranks of a communicator: it joins the slices of one collective.
        all.push(count("collective", call.ordinal));
    }

    if matches!(
        call.facts.kind,
        CallKind::PostSend | CallKind::PostReceive | CallKind::PostCollective
    ) {
        // Completions name it, so a wait can be followed back to its post.
        all.push(count("request", call.request));
    }

    if call.is_clipped {
        all.push(argument("clipped", Value::Bool(true)));
    }
    all.extend(occupant(call.occupant));
    for part in call.parts.iter().take(PARTS_SHOWN) {
        all.push(text("part", described(&part.function, &part.facts)));
    }

    if call.parts.len() > PARTS_SHOWN {
        all.push(count("parts", call.parts.len() as u64));
    }
    all
}

/// Which of the track's threads it was; nothing of the first, which is the only one of most.
fn occupant(occupant: u32) -> Option<DebugAnnotation> {
    (occupant != 0).then(|| count("occupant", occupant.into()))
}

fn of_facts(facts: &Facts) -> Vec<DebugAnnotation> {
    let mut all = Vec::new();
    let is_collective = matches!(
        facts.kind,
        CallKind::Collective | CallKind::PostCollective | CallKind::CollectiveDone
    );
    // Tags mean something for point-to-point operations only.
    let has_tag = !is_collective && !matches!(facts.kind, CallKind::Plain | CallKind::Ended);
    let who = if is_collective { "root" } else { "peer" };
    match facts.rank {
        Some(rank) => all.push(count(who, rank.into())),
        // The rank of the job is unknown while the group has not been reported.
        None if facts.peer >= 0 && (has_tag || is_collective) => {
            all.push(argument(
                "peer in the communicator",
                Value::Int(facts.peer.into()),
            ));
        }
        None => {}
    }

    if has_tag {
        all.push(argument("tag", Value::Int(facts.tag.into())));
    }
    for (name, bytes) in [
        ("bytes sent", facts.bytes_out),
        ("bytes received", facts.bytes_in),
    ] {
        if bytes > 0 {
            all.push(count(name, bytes));
        }
    }

    if let Some(comm) = facts.comm {
        all.push(text("communicator", communicator(comm)));
    }
    all
}

/// A communicator as a rank numbers it.
fn communicator(comm: u32) -> String {
    match comm {
        0 => "MPI_COMM_WORLD".to_owned(),
        1 => "MPI_COMM_SELF".to_owned(),
        other => format!("communicator {other} of this rank"),
    }
}

/// A part of a call in a line.
fn described(function: &str, facts: &Facts) -> String {
    let who = match (facts.rank, facts.peer) {
        (Some(rank), _) => Some(format!("{rank}")),
        (None, peer) if peer >= 0 => Some(format!("{peer} of the communicator")),
        _ => None,
    };

    let (verb, bytes) = match facts.kind {
        CallKind::Send | CallKind::PostSend | CallKind::Sent => (" to ", facts.bytes_out),
        _ => (" from ", facts.bytes_in),
    };

    match (facts.kind, who) {
        (
            CallKind::Send
            | CallKind::PostSend
            | CallKind::Sent
            | CallKind::Receive
            | CallKind::PostReceive
            | CallKind::Received,
            Some(who),
        ) => format!("{function}{verb}{who}, tag {}, {bytes} B", facts.tag),
        _ => function.to_owned(),
    }
}

fn count(name: &str, value: u64) -> DebugAnnotation {
    argument(name, Value::Uint(value))
}

fn text(name: &str, value: String) -> DebugAnnotation {
    argument(name, Value::Text(value))
}

fn argument(name: &str, value: Value) -> DebugAnnotation {
    let at = ARGUMENTS.iter().position(|known| *known == name);
    DebugAnnotation {
        name_iid: at.map(|at| at as u64 + 1),
        value: Some(value),
    }
}
