//! Compares records as the shim writes them with raw ones of fixed size: what the rank takes to
//! write a call, the place to read it, and how many bytes carry it. Both on one core, of a rank's
//! recorded calls, in turns.

use crate::meter::{Spent, measure};
use crate::streams::{Calls, Packets, Recorded, START, has_room, write};
use anyhow::{Result, ensure};
use invivo_proto::packet::PAYLOAD_BYTES;
use invivo_proto::record::{Call, Decoded, Decoder, Encoder, MAX_PARTS, Part, Words};
use invivo_proto::shm::PACKETS_DEFAULT;
use std::hint::black_box;

/// Batches that are measured, each of some hundred thousand calls.
const BATCHES: usize = 60;
const CALLS_OF_BATCH: usize = 200_000;
/// Words of a raw call: facts, end, duration, ordinal, number of parts; one cache line.
const CALL_WORDS: usize = 8;
/// Words of a raw part: facts, request, when it was posted.
const PART_WORDS: usize = 6;
const PACKET_WORDS: usize = PAYLOAD_BYTES / size_of::<u64>();

/// Measures both, prints a line for each batch and side; fails where raw records give other calls.
pub fn run(recorded: &Recorded) -> Result<()> {
    let (calls, who) = recorded.source(0, 1);
    let count = calls.iter().count();
    let passes = CALLS_OF_BATCH.div_ceil(count);
    let encoded = Packets::new(0, calls, who, 0)?.packets;
    let bytes: usize = encoded.iter().map(|packet| packet.payload.len()).sum();
    let raw = all_raw(calls);
    let raw_bytes: usize = raw
        .iter()
        .map(|packet| size_of_val(packet.as_slice()))
        .sum();
    same_calls(&raw, calls)?;

    // A clone would have no room.
    let mut pool = [(); PACKETS_DEFAULT].map(|()| Vec::with_capacity(PAYLOAD_BYTES));
    let mut raw_pool = [(); PACKETS_DEFAULT].map(|()| Vec::with_capacity(PACKET_WORDS));
    for batch in 0..BATCHES {
        for turn in 0..4 {
            let (stage, bytes, spent) = match (turn + batch) % 4 {
                0 => ("encode", bytes, times(passes, || encode(calls, &mut pool))),
                1 => (
                    "write raw",
                    raw_bytes,
                    times(passes, || write_raw(calls, &mut raw_pool)),
                ),
                2 => (
                    "decode alone",
                    bytes,
                    times(passes, || {
                        encoded.iter().for_each(|packet| decode(&packet.payload));
                    }),
                ),
                _ => (
                    "read raw",
                    raw_bytes,
                    times(passes, || {
                        raw.iter().for_each(|packet| read_raw(packet, keep))
                    }),
                ),
            };
            println!(
                "{{\"locations\": 1, \"stage\": \"{stage}\", \"calls\": {}, \"cpu_ns\": {}, \
                 \"wall_ns\": {}, \"allocations\": 0, \"bytes_per_call\": {:.2}}}",
                count * passes,
                spent.cpu_ns,
                spent.wall_ns,
                bytes as f64 / count as f64
            );
        }
    }
    Ok(())
}

fn times(passes: usize, mut work: impl FnMut()) -> Spent {
    measure(|| (0..passes).for_each(|_| work()))
}

/// One pass over all calls, into packets that are used again as those of a rank are.
fn encode(calls: &Calls, pool: &mut [Vec<u8>]) {
    let mut encoder = Encoder::new(START, 0);
    let mut at = 0;
    pool[at].clear();
    for (call, parts) in calls.iter() {
        if !has_room(&pool[at], parts) {
            at = (at + 1) % pool.len();
            pool[at].clear();
            encoder.restart(encoder.time());
        }
        write(&mut encoder, call, parts, &mut pool[at]);
    }
    black_box(pool);
}

/// The same in raw records.
fn write_raw(calls: &Calls, pool: &mut [Vec<u64>]) {
    let mut at = 0;
    pool[at].clear();
    for (call, parts) in calls.iter() {
        if pool[at].len() + CALL_WORDS + parts.len() * PART_WORDS > PACKET_WORDS {
            at = (at + 1) % pool.len();
            pool[at].clear();
        }
        push(call, parts, &mut pool[at]);
    }
    black_box(pool);
}

fn push(call: &Call, parts: &[Part], packet: &mut Vec<u64>) {
    let facts = Words::from(&call.facts);
    packet.extend_from_slice(&[
        facts.head,
        facts.message,
        facts.bytes_out,
        facts.bytes_in,
        call.end,
        call.duration,
        call.ordinal,
        parts.len() as u64,
    ]);
    for part in parts {
        let facts = Words::from(&part.facts);
        packet.extend_from_slice(&[
            facts.head,
            facts.message,
            facts.bytes_out,
            facts.bytes_in,
            part.request,
            part.posted,
        ]);
    }
}

fn all_raw(calls: &Calls) -> Vec<Vec<u64>> {
    let mut packets = vec![Vec::new()];
    for (call, parts) in calls.iter() {
        let full = packets.last().is_none_or(|packet: &Vec<u64>| {
            packet.len() + CALL_WORDS + parts.len() * PART_WORDS > PACKET_WORDS
        });
        if full {
            packets.push(Vec::new());
        }
        if let Some(packet) = packets.last_mut() {
            push(call, parts, packet);
        }
    }
    packets
}

fn keep(call: Call, parts: &[Part]) {
    black_box((&call, parts));
}

/// Reads a packet of records as the place does; of malformed ones, what comes before the fault.
fn decode(payload: &[u8]) {
    let mut decoder = Decoder::new(START, 0);
    let mut room = vec![Part::default(); MAX_PARTS];
    let mut at = 0;
    while at < payload.len() {
        let Ok(Decoded::Call((), count)) = decoder.read(payload, &mut at) else {
            return;
        };
        let parts = &mut room[..count];
        for part in &mut *parts {
            if decoder.read_part(payload, &mut at, part).is_err() {
                return;
            }
        }
        black_box((decoder.call(), &*parts));
    }
}

/// Reads a packet of raw records; of malformed ones, what comes before the fault.
fn read_raw(packet: &[u64], mut each: impl FnMut(Call, &[Part])) {
    let mut parts = Vec::new();
    let mut rest = packet;
    while let Some((call, behind)) = rest.split_first_chunk::<CALL_WORDS>() {
        let [
            head,
            message,
            bytes_out,
            bytes_in,
            end,
            duration,
            ordinal,
            count,
        ] = *call;
        let Some(facts) = (Words {
            head,
            message,
            bytes_out,
            bytes_in,
        })
        .facts() else {
            return;
        };
        rest = behind;
        parts.clear();
        for _ in 0..count {
            let Some((part, behind)) = rest.split_first_chunk::<PART_WORDS>() else {
                return;
            };
            let [head, message, bytes_out, bytes_in, request, posted] = *part;
            let Some(facts) = (Words {
                head,
                message,
                bytes_out,
                bytes_in,
            })
            .facts() else {
                return;
            };
            rest = behind;
            parts.push(Part {
                facts,
                request,
                posted,
            });
        }
        let request = 0;
        each(
            Call {
                facts,
                end,
                duration,
                ordinal,
                request,
            },
            &parts,
        );
    }
}

/// Fails where raw records give other calls than were recorded.
fn same_calls(packets: &[Vec<u64>], calls: &Calls) -> Result<()> {
    let mut expected = calls.iter();
    let mut same = true;
    for packet in packets {
        read_raw(packet, |call, parts| {
            let wanted = expected.next();
            let wanted = wanted.map(|(call, parts)| {
                (
                    Call {
                        request: 0,
                        ..*call
                    },
                    parts,
                )
            });
            same &= wanted == Some((call, parts));
        });
    }
    ensure!(
        same && expected.next().is_none(),
        "raw records give other calls"
    );
    Ok(())
}
