//! The timeline of a job's last seconds, read back, and the last calls that ranks noted themselves.

use invivo_archive::perfetto::proto::{Data, SLICE_BEGIN, SLICE_END, Trace, Value};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A call, by its name and the number that the program gave it: a message's tag, or which
/// collective it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub name: String,
    pub number: Option<u64>,
}

/// The last calls of a rank in a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastCalls {
    /// The last call that returned.
    pub done: Option<Step>,
    /// The call that has not returned.
    pub open: Option<String>,
    /// Calls that returned.
    pub calls: u64,
    /// The greatest number that a call of each function has.
    pub newest: BTreeMap<String, u64>,
}

/// The last calls of the first thread of each rank, in the timeline at this path.
pub fn read(path: &Path) -> BTreeMap<u32, LastCalls> {
    let trace = decode(path);
    let mut ranks = BTreeMap::new();

    let mut tracks: BTreeMap<u64, u32> = BTreeMap::new();
    let mut names: BTreeMap<(u32, u64), String> = BTreeMap::new();
    let mut arguments: BTreeMap<(u32, u64), String> = BTreeMap::new();
    let mut open: BTreeMap<u32, Step> = BTreeMap::new();
    // In the order of the file: names are interned before events use them.
    for packet in trace.packet {
        let sequence = packet.trusted_packet_sequence_id.unwrap_or_default();
        // Events name their strings by numbers, which are unique only within a sequence of packets.
        let interned = packet.interned_data.unwrap_or_default();
        for (into, from) in [
            (&mut names, interned.event_names),
            (&mut arguments, interned.debug_annotation_names),
        ] {
            for name in from {
                into.insert(
                    (sequence, name.iid.unwrap_or_default()),
                    name.name.unwrap_or_default(),
                );
            }
        }

        match packet.data {
            Some(Data::TrackDescriptor(track)) => {
                // The first thread of a process has its number; other threads are left out.
                let first = track.thread.filter(|thread| thread.pid == thread.tid);
                if let Some(pid) = first.and_then(|thread| thread.pid) {
                    // Rank r has the process number r + 1 in the file.
                    tracks.insert(track.uuid.unwrap_or_default(), pid as u32 - 1);
                    ranks.insert(pid as u32 - 1, LastCalls::default());
                }
            }
            Some(Data::TrackEvent(event)) => {
                let Some(&rank) = tracks.get(&event.track_uuid.unwrap_or_default()) else {
                    continue;
                };
                match event.r#type {
                    Some(SLICE_BEGIN) => {
                        let name = &names[&(sequence, event.name_iid.unwrap_or_default())];
                        let number = event.debug_annotations.into_iter().find_map(|argument| {
                            let known =
                                &arguments[&(sequence, argument.name_iid.unwrap_or_default())];
                            match argument.value {
                                Some(Value::Int(tag)) if known == "tag" => u64::try_from(tag).ok(),
                                Some(Value::Uint(number)) if known == "collective" => Some(number),
                                _ => None,
                            }
                        });
                        let name = name.clone();
                        open.insert(rank, Step { name, number });
                    }
                    Some(SLICE_END) => {
                        // Calls do not overlap in a thread: an end belongs to the open one.
                        let last = ranks.entry(rank).or_default();
                        last.done = open.remove(&rank);
                        if let Some((step, number)) = last
                            .done
                            .as_ref()
                            .and_then(|step| Some((step, step.number?)))
                        {
                            let newest = last.newest.entry(step.name.clone()).or_default();
                            *newest = number.max(*newest);
                        }
                        last.calls += 1;
                    }
                    _ => {}
                }
            }
            None => {}
        }
    }

    // What has begun and not ended.
    for (rank, step) in open {
        ranks.entry(rank).or_default().open = Some(step.name);
    }
    ranks
}

/// Slices that have ended, by rank, their name and that of the slice around them.
pub fn nested(path: &Path) -> BTreeMap<(u64, String, String), u64> {
    let trace = decode(path);
    let mut names: BTreeMap<(u32, u64), String> = BTreeMap::new();
    let mut inside: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for packet in trace.packet {
        let sequence = packet.trusted_packet_sequence_id.unwrap_or_default();
        for name in packet.interned_data.unwrap_or_default().event_names {
            let key = (sequence, name.iid.unwrap_or_default());
            names.insert(key, name.name.unwrap_or_default());
        }
        let Some(Data::TrackEvent(event)) = packet.data else {
            continue;
        };
        // Ranks of one thread each: their tracks come in order behind those of processes.
        let track = event.track_uuid.unwrap_or_default();
        let at = packet.timestamp.unwrap_or_default();
        assert!(at >= last.insert(track, at).unwrap_or(0), "back in time");
        let inside = inside.entry(track).or_default();
        match event.r#type {
            Some(SLICE_BEGIN) => {
                inside.push(names[&(sequence, event.name_iid.unwrap_or_default())].clone());
            }
            Some(SLICE_END) => {
                let name = inside.pop().expect("an end of something");
                let around = inside.last().cloned().unwrap_or_default();
                *all.entry((track, name, around)).or_default() += 1;
            }
            _ => {}
        }
    }
    all
}

/// The number of arrows (sends to receives) of which both ends are in the timeline.
pub fn arrows(path: &Path) -> usize {
    let trace = decode(path);
    let (mut begins, mut ends) = (BTreeSet::new(), BTreeSet::new());
    for packet in trace.packet {
        if let Some(Data::TrackEvent(event)) = packet.data {
            // An arrow has the same number at both of its ends.
            begins.extend(event.flow_ids);
            ends.extend(event.terminating_flow_ids);
        }
    }
    begins.intersection(&ends).count()
}

/// What a rank of `tests/apps/ends` noted itself: the last call that returned, and the open one.
pub fn own_notes(logs: &Path, rank: u32) -> (Step, Option<String>) {
    let path = logs.join(format!("{rank}.calls"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));

    let step = |text: &str| {
        let (name, number) = text.trim().split_once(' ').expect("a name and a number");
        Step {
            name: name.to_owned(),
            number: number.trim().parse().ok(),
        }
    };
    // Two notes of 64 bytes, written in place: the file is whole whenever the rank dies.
    let (done, open) = text.split_at_checked(64).expect("two notes");
    let open = step(open).name;
    (step(done), (open != "none").then_some(open))
}

fn decode(path: &Path) -> Trace {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Trace::decode(&bytes[..]).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
