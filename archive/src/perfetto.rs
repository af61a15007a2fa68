//! Writes an observation as a Perfetto trace, for <https://ui.perfetto.dev>.
//!
//! A process per rank, a track per location, a slice per call with what it communicated and per
//! visit of a region around it, an instant per sample with its call path, an arrow per message, and
//! slices without an end for what was open.
//!
//! Each track is a sequence of its own, as if a process had written it, so that its packets are in
//! the order of time. Calls of a thread do not overlap; where pages of one observation were put to
//! job time a few ns apart, the begin gives way.

mod arguments;
mod order;
pub mod proto;

use crate::flows::{Endpoint, Endpoints};
use crate::observation::{Observation, Sample, Track};
use arguments::{ARGUMENTS, argument, arguments, count, occupant, text};
use order::{Begins, DEPTH_MAX, by_begin};
use prost::Message;
use proto::{
    CLEARED, Data, DebugAnnotation, INSTANT, InternedData, NEEDED, Name, ProcessDescriptor,
    SLICE_BEGIN, SLICE_END, ThreadDescriptor, TracePacket, TrackDescriptor, TrackEvent, Value,
};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

/// By how much what follows each other may overlap in job time.
const ROUNDING_NS: u64 = 100;
/// The field of packets in a file, and that a length follows.
const PACKET_KEY: u8 = 1 << 3 | 2;

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
            paths: HashMap::new(),
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
        for (message, id) in endpoints.messages(of.clock_error_ns).into_iter().zip(1..) {
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
    /// Paths of samples, interned as names are: they are long.
    paths: HashMap<Arc<str>, u64>,
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
        // Where calls are missing there may be samples: they lie in the slice that says so.
        let mut gap_ns = self.gap(of, track)?;
        let mut now_ns = 0;
        // Depth and end of what was entered, the innermost last.
        let mut entered: Vec<(u32, u64)> = Vec::new();
        for (depth, begins) in by_begin(track) {
            let (begin_ns, end_ns) = begins.job_ns();
            let is_behind = |gap_ns: &u64| begin_ns >= *gap_ns;
            let is_sample = matches!(begins, Begins::Sample(_));
            if let Some(until_ns) = gap_ns.take_if(|gap_ns| !is_sample || is_behind(gap_ns)) {
                now_ns = until_ns.max(now_ns);
                self.end(now_ns)?;
            }
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
            if let Begins::Sample(sample) = begins {
                self.sample(now_ns, sample)?;
                continue;
            }
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
                // It has no duration, so nothing lies in it.
                Begins::Sample(_) => {}
                Begins::Open(open) => {
                    let name = open
                        .function
                        .as_deref()
                        .unwrap_or("MPI (recording was off: nobody noted which call)");
                    let facts = occupant(open.occupant).into_iter().collect();
                    self.slice(now_ns, name, facts, Ends::default())?;
                }
            }
        }
        if let Some(until_ns) = gap_ns {
            now_ns = until_ns.max(now_ns);
            self.end(now_ns)?;
        }
        // What is open has no end: Perfetto draws it to the end of the trace.
        while let Some((_, end_ns)) = entered.pop_if(|(_, end_ns)| *end_ns != u64::MAX) {
            now_ns = end_ns.max(now_ns);
            self.end(now_ns)?;
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

    /// Shows where calls are missing at the begin, and leaves open what says so; where they are
    /// there from.
    fn gap(&mut self, of: &Observation, track: &Track) -> io::Result<Option<u64>> {
        let calls = track.calls.first().map(|call| call.begin_ns);
        let visits = track.visits.first().map(|visit| visit.begin_ns);
        let first_ns = calls.into_iter().chain(visits).min();
        let first_ns = first_ns.unwrap_or(of.to_ns);
        let gone_ns = track.gaps.gone_until_ns.unwrap_or(0);
        let why = if track.gaps.left_out > 0 {
            "left out: more calls than were asked for"
        } else if gone_ns > of.from_ns {
            "given up: the buffer was full"
        } else {
            return Ok(None);
        };

        // Within the observation, whatever the clocks of the rank say.
        let until_ns = first_ns.min(of.to_ns).max(of.from_ns);
        let mut facts = vec![text("why", why.to_owned())];
        if track.gaps.left_out > 0 {
            facts.push(count("calls", track.gaps.left_out));
        }

        self.slice(of.from_ns, "(not kept)", facts, Ends::default())?;
        Ok(Some(until_ns))
    }

    fn slice(
        &mut self,
        at_ns: u64,
        name: &str,
        debug_annotations: Vec<DebugAnnotation>,
        arrows: Ends,
    ) -> io::Result<()> {
        let (iid, interned) = self.name(name);
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

    /// The number of a name, and what tells it where it is new: a name is written once per
    /// sequence, with the first event that uses it.
    fn name(&mut self, name: &str) -> (u64, Option<InternedData>) {
        if let Some(iid) = self.names.get(name) {
            return (*iid, None);
        }
        let iid = self.names.len() as u64 + 1;
        self.names.insert(name.to_owned(), iid);
        let told = Name {
            iid: Some(iid),
            name: Some(name.to_owned()),
        };
        let interned = InternedData {
            event_names: vec![told],
            ..InternedData::default()
        };
        (iid, Some(interned))
    }

    /// A sample: an instant with the name of its function.
    fn sample(&mut self, at_ns: u64, of: &Sample) -> io::Result<()> {
        let (iid, mut interned) = self.name(&of.function);
        let next = self.paths.len() as u64 + 1;
        let path = *self.paths.entry(Arc::clone(&of.path)).or_insert(next);
        if path == next {
            let told = Name {
                iid: Some(path),
                name: Some(of.path.as_ref().to_owned()),
            };
            let interned = interned.get_or_insert_default();
            interned.debug_annotation_string_values.push(told);
        }
        let mut facts = vec![argument("path", Value::TextIid(path))];
        facts.extend(occupant(of.occupant));
        let event = TrackEvent {
            debug_annotations: facts,
            r#type: Some(INSTANT),
            name_iid: Some(iid),
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
