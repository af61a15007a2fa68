//! The calls of a recorded run on four ranks, and the packets of as many ranks as are wanted: each
//! four of them do what the four did, among themselves. The only unsafe code of the bench, beside
//! the allocator's.

use crate::recorded::{Line, lines};
use anyhow::{Context, Result, ensure};
use invivo_proto::ids::{LocationId, Rank, RegionId, SiteId};
use invivo_proto::mpi::{ANY_TAG, FUNCTIONS, peer};
use invivo_proto::packet::{Header, Losses, PAYLOAD_BYTES};
use invivo_proto::record::{
    Call, Encoder, Facts, MAX_CALL_BYTES, MAX_PART_BYTES, MAX_PARTS, Part, RecordKind,
};
use std::ops::Range;
use std::path::Path;

/// Ranks of the recorded run.
pub const RANKS: usize = 4;
/// When the earliest call begins, in ticks.
pub const START: u64 = 1 << 40;
/// Functions as xtask/bench/stream.c numbers them, from 1.
const REGIONS: [&str; 14] = [
    "MPI_Send",
    "MPI_Recv",
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Waitany",
    "MPI_Sendrecv",
    "MPI_Allreduce",
    "MPI_Bcast",
    "MPI_Barrier",
    "MPI_Reduce",
    "MPI_Scan",
    "MPI_Allgather",
];

/// What one rank called.
#[derive(Default)]
pub struct Calls {
    calls: Vec<(Call, Range<usize>)>,
    parts: Vec<Part>,
}

impl Calls {
    /// Each call with its parts.
    pub fn iter(&self) -> impl Iterator<Item = (&Call, &[Part])> {
        let calls = self.calls.iter();
        calls.map(|(call, parts)| (call, &self.parts[parts.clone()]))
    }
}

/// A recorded run.
pub struct Recorded {
    /// By rank.
    pub ranks: Vec<Calls>,
    /// From the first call to the last, in ticks.
    pub period: u64,
}

impl Recorded {
    /// Reads `FILES.0` and so on.
    pub fn read(files: &Path) -> Result<Recorded> {
        let numbers = REGIONS.map(number_of);
        let mut ranks = Vec::new();
        for rank in 0..RANKS {
            let file = files.with_extension(rank.to_string());
            let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
            ranks.push(read(&bytes, &numbers)?);
        }
        let all = || ranks.iter().flat_map(|rank: &Calls| rank.calls.iter());
        let first = all().map(|(call, _)| call.end - call.duration).min();
        let last = all().map(|(call, _)| call.end).max();
        let (first, last) = first.zip(last).context("no calls were recorded")?;
        for rank in &mut ranks {
            ensure!(
                rank.calls.len() > 10_000,
                "a rank has {} calls only",
                rank.calls.len()
            );
            rank.calls
                .iter_mut()
                .for_each(|(call, _)| call.end = call.end - first + START);
            let posted = rank.parts.iter_mut().filter(|part| part.posted != 0);
            posted.for_each(|part| part.posted = part.posted - first + START);
        }
        Ok(Recorded {
            ranks,
            period: last - first + 1_000_000,
        })
    }

    /// The rank that stands for a location, and the peer that stands for another one on it. A
    /// location that is alone has nobody but itself to talk to.
    pub fn source(&self, location: u32, locations: u32) -> (&Calls, impl Fn(i32) -> i32 + use<>) {
        let first = location / RANKS as u32 * RANKS as u32;
        let alone = locations < RANKS as u32;
        let who = move |peer: i32| match peer {
            negative @ ..0 => negative,
            _ if alone => location as i32,
            peer => first as i32 + peer,
        };
        (&self.ranks[location as usize % RANKS], who)
    }
}

fn number_of(name: &str) -> RegionId {
    let at = FUNCTIONS.iter().position(|function| function.name == name);
    RegionId(at.map_or(0, |at| at as u16))
}

fn read(bytes: &[u8], numbers: &[RegionId]) -> Result<Calls> {
    let mut read = Calls::default();
    // Open MPI's own numbers for peers that are no ranks, and for any tag, become Invivo's.
    let our = |facts: Facts| -> Result<Facts> {
        let number = usize::from(facts.region.0).checked_sub(1);
        let region = number.and_then(|at| numbers.get(at)).copied();
        let region = region.context("an unknown function was recorded")?;
        let of_message = has_peer(facts.kind);
        let named = match facts.peer {
            -1 if of_message => peer::ANY,
            -2 if of_message => peer::NULL,
            other => other,
        };
        let tag = if of_message && facts.tag == -1 {
            ANY_TAG
        } else {
            facts.tag
        };
        // The recording has none: some places for each function, told apart by the tag.
        let site = SiteId(1 + region.0 % 64 * 4 + (tag & 3) as u16);
        Ok(Facts {
            region,
            peer: named,
            tag,
            site,
            ..facts
        })
    };
    for line in lines(bytes) {
        match line {
            Line::Call(mut call) => {
                call.facts = our(call.facts)?;
                read.calls.push((call, read.parts.len()..read.parts.len()));
            }
            Line::Part(mut part) => {
                part.facts = our(part.facts)?;
                read.parts.push(part);
                let (_, parts) = read.calls.last_mut().context("a part before its call")?;
                parts.end = read.parts.len();
            }
        }
    }
    Ok(read)
}

/// Whether the peer of these facts is a rank that is spoken to.
pub fn has_peer(kind: RecordKind) -> bool {
    !matches!(
        kind,
        RecordKind::Plain
            | RecordKind::Collective
            | RecordKind::PostCollective
            | RecordKind::CompletedCollective
            | RecordKind::CompletedNothing
    )
}

/// A packet that was not sent yet.
pub struct Packet {
    pub header: Header,
    pub payload: Vec<u8>,
}

/// All packets of one location in one turn.
pub struct Packets {
    pub packets: Vec<Packet>,
    /// Calls in them.
    pub calls: u64,
    /// Requests that they post.
    pub requests: u64,
}

impl Packets {
    /// Encodes what `rank` calls, everything `later` ticks later.
    pub fn new(rank: u32, calls: &Calls, who: impl Fn(i32) -> i32, later: u64) -> Result<Packets> {
        let mut encoder = Encoder::new(START + later, 0);
        let mut made = Packets {
            packets: Vec::new(),
            calls: 0,
            requests: 0,
        };
        let location = LocationId {
            rank: Rank(rank),
            thread: 0,
        };
        let begin = |encoder: &Encoder, sequence: usize| Header {
            location,
            sequence: sequence as u64,
            first_time: encoder.time(),
            next_request: encoder.next_request(),
            ..Header::default()
        };
        let mut header = begin(&encoder, 0);
        let mut payload = Vec::with_capacity(PAYLOAD_BYTES);
        let mut moved = Vec::with_capacity(MAX_PARTS);
        for (call, parts) in calls.iter() {
            ensure!(parts.len() <= MAX_PARTS, "a call has {} parts", parts.len());
            if !has_room(&payload, parts) {
                made.close(header, &mut payload, &encoder);
                encoder.restart(encoder.time());
                header = begin(&encoder, made.packets.len());
            }
            let mut call = *call;
            call.end += later;
            if has_peer(call.facts.kind) {
                call.facts.peer = who(call.facts.peer);
            }
            moved.clear();
            moved.extend(parts.iter().map(|part| {
                let mut part = *part;
                part.posted += if part.posted == 0 { 0 } else { later };
                if has_peer(part.facts.kind) {
                    part.facts.peer = who(part.facts.peer);
                }
                part
            }));
            write(&mut encoder, &call, &moved, &mut payload);
            header.records += 1;
            made.calls += 1;
        }
        made.close(header, &mut payload, &encoder);
        made.requests = encoder.next_request();
        Ok(made)
    }

    fn close(&mut self, header: Header, payload: &mut Vec<u8>, encoder: &Encoder) {
        let header = Header {
            length: payload.len() as u32,
            last_time: encoder.time(),
            losses: Losses {
                entered: self.calls,
                ..Losses::default()
            },
            ..header
        };
        let payload = std::mem::replace(payload, Vec::with_capacity(PAYLOAD_BYTES));
        self.packets.push(Packet { header, payload });
    }
}

/// Whether a call with these parts fits into a packet's payload for certain.
pub fn has_room(payload: &[u8], parts: &[Part]) -> bool {
    payload.len() + MAX_CALL_BYTES + parts.len() * MAX_PART_BYTES <= PAYLOAD_BYTES
}

/// Appends a call with its parts; there must be room in `out` for the longest that they can be.
pub fn write(encoder: &mut Encoder, call: &Call, parts: &[Part], out: &mut Vec<u8>) {
    let room = out.capacity() - out.len();
    assert!(room >= MAX_CALL_BYTES + parts.len() * MAX_PART_BYTES);
    let at = out.len();
    // SAFETY: there is room for one call and for all its parts, as asserted; the encoder returns
    // the address behind the bytes that it has written.
    unsafe {
        let start = out.as_mut_ptr().add(at);
        let behind = encoder.call(start, call, parts.len());
        let end = parts.iter().fold(behind, |to, part| encoder.part(to, part));
        out.set_len(at + end.offset_from_unsigned(start));
    }
}
