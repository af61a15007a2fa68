//! The checks of the fuzz targets, as plain functions of bytes.
//!
//! Each takes anything and panics only where a decoder broke its promise. The targets beside this
//! crate hand them to libFuzzer; the crate's own tests run them on the golden bytes.

pub mod events;
pub mod otfx;

use invivo_proto::control;
use invivo_proto::control::selection::{Fits, Known, Selection};
use invivo_proto::definition::Definition;
use invivo_proto::packet::{HEADER_BYTES, Header, PAYLOAD_BYTES, VERSION};
use invivo_proto::record::{
    Call, Decoded, Decoder, Encoder, MAX_PART_BYTES, OPEN_BYTES_MAX, OpenRegion, Part,
};
use invivo_proto::shm::{self, Region};

/// A received message. The checksum keeps the fuzzer out, so the same bytes are also tried as
/// header fields under a right checksum.
pub fn packet(data: &[u8]) {
    if let Ok((header, payload)) = Header::decode(data) {
        let mut again = [0; HEADER_BYTES];
        header.encode(payload, &mut again);
        // Older versions are read and not written.
        let is_todays = data[4..6] == VERSION.to_le_bytes();
        assert!(
            !is_todays || again == data[..HEADER_BYTES],
            "an accepted header is not what its fields encode to"
        );
        records_of(payload, header.first_time, header.next_request);
        // The same as a packet of an older version: whatever it is, it is read to its end.
        read_all(
            &mut Decoder::of_version(1, header.first_time, header.next_request),
            payload,
        );
    }
    let Some((fields, payload)) = data.split_first_chunk::<64>() else {
        return;
    };
    let number =
        |at: usize| u64::from_le_bytes(fields[at..at + 8].try_into().expect("eight bytes"));
    let header = Header {
        version: VERSION,
        location: invivo_proto::ids::LocationId {
            rank: invivo_proto::ids::Rank(number(0) as u32),
            thread: number(4) as u16,
        },
        sequence: number(8),
        length: payload.len() as u32,
        records: number(12) as u32,
        first_time: number(16),
        last_time: number(24),
        next_request: number(32),
        epoch: number(40) as u32,
        losses: invivo_proto::packet::Losses {
            entered: number(48),
            dropped: [number(56), number(0), number(8)],
        },
    };
    let mut message = vec![0; HEADER_BYTES];
    message.extend_from_slice(payload);
    header.encode(
        payload,
        (&mut message[..HEADER_BYTES])
            .try_into()
            .expect("a header's length"),
    );
    let honest = header.last_time >= header.first_time && payload.len() <= PAYLOAD_BYTES;
    match Header::decode(&message) {
        Ok((read, rest)) => {
            assert!(honest, "a header with impossible fields was accepted");
            assert_eq!((read, rest), (header, payload));
            records_of(payload, header.first_time, header.next_request);
        }
        Err(error) => assert!(!honest, "an honest packet was refused: {error}"),
    }
}

/// The payload of a packet whose first sixteen bytes say base time and first request.
pub fn records(data: &[u8]) {
    let Some((head, payload)) = data.split_first_chunk::<16>() else {
        return;
    };
    let (time, request) = head.split_at(8);
    records_of(
        payload,
        u64::from_le_bytes(time.try_into().expect("eight bytes")),
        u64::from_le_bytes(request.try_into().expect("eight bytes")),
    );
}

/// One record with its parts, and the regions that it says to be open.
type Read = (Decoded, Vec<Part>, Vec<OpenRegion>);

/// Reads until the end or the first error. Every record must move forward.
fn read_all(decoder: &mut Decoder, payload: &[u8]) -> Vec<Read> {
    let (mut at, mut all) = (0, Vec::new());
    'records: while at < payload.len() {
        let before = at;
        let Ok(decoded) = decoder.record(payload, &mut at) else {
            break;
        };
        assert!(
            at > before && at <= payload.len(),
            "a record that ends before it begins"
        );
        let mut parts = Vec::new();
        for _ in 0..decoded.parts() {
            let Ok(part) = decoder.part(payload, &mut at) else {
                break 'records;
            };
            parts.push(part);
        }
        let mut open = Vec::new();
        if let Decoded::Open { count, .. } = decoded {
            for _ in 0..count {
                let Ok(region) = decoder.open_region(payload, &mut at) else {
                    break 'records;
                };
                open.push(region);
            }
        }
        all.push((decoded, parts, open));
    }
    all
}

/// What was read must be what its own encoding reads as.
fn records_of(payload: &[u8], base_time: u64, next_request: u64) {
    let all = read_all(&mut Decoder::new(base_time, next_request), payload);
    let mut encoder = Encoder::new(base_time, next_request);
    let mut bytes = Vec::new();
    for (decoded, parts, open) in &all {
        let mut room = [0u8; OPEN_BYTES_MAX];
        let start = room.as_mut_ptr();
        // SAFETY: `room` has OPEN_BYTES_MAX bytes, more than MAX_CALL_BYTES, which is all that
        // these ask for.
        let end = unsafe {
            match decoded {
                Decoded::Call(call, count) => encoder.call(start, call, *count),
                Decoded::Continuation { parts, .. } => encoder.continuation(start, *parts),
                Decoded::Occupant(occupant) => encoder.occupant(start, *occupant),
                Decoded::Enter { time, region } => encoder.enter(start, *time, *region),
                Decoded::Leave { time } => encoder.leave(start, *time),
                Decoded::Open { time, .. } => encoder.open(start, *time, open.iter().copied()),
            }
        };
        bytes.extend_from_slice(&room[..end as usize - start as usize]);
        for part in parts {
            let mut room = [0u8; MAX_PART_BYTES];
            let start = room.as_mut_ptr();
            // SAFETY: `room` has MAX_PART_BYTES bytes.
            let end = unsafe { encoder.part(start, part) };
            bytes.extend_from_slice(&room[..end as usize - start as usize]);
        }
    }
    // Times before the epoch saturate, so that only what lies behind it comes back exactly.
    let again = read_all(&mut Decoder::new(base_time, next_request), &bytes);
    assert_eq!(again, all);
    assert!(all.iter().all(
        |(decoded, ..)| !matches!(decoded, Decoded::Call(Call { end, .. }, _) if *end < base_time)
    ));
}

/// An entry of the definition ring.
pub fn definition(data: &[u8]) {
    let Ok(definition) = Definition::decode(data) else {
        return;
    };
    let mut room = vec![0; data.len() + 64];
    let length = definition
        .encode(&mut room)
        .expect("a definition takes no more room than it was read from");
    assert_eq!(
        Definition::decode(&room[..length]).as_ref(),
        Ok(&definition)
    );
}

/// One type of control message: what is accepted has one encoding, and that reads back to it. A
/// macro, because a function would have to name the traits of the crate behind `control`.
macro_rules! message {
    ($type:ty, $data:expr) => {
        if let Ok(message) = control::decode::<$type>($data) {
            let bytes = control::encode(&message).expect("what was decoded can be encoded");
            let again = control::decode::<$type>(&bytes).expect("what was encoded can be decoded");
            // Bytes are compared because a mean may be no number, which equals nothing.
            assert_eq!(control::encode(&again).expect("as above"), bytes);
        }
    };
}

/// The tree's messages.
pub fn tree(data: &[u8]) {
    message!(control::tree::Down, data);
    message!(control::tree::Up, data);
}

/// The supervisors' messages.
pub fn local(data: &[u8]) {
    message!(control::local::FromSupervisor, data);
    message!(control::local::ToSupervisor, data);
}

/// The gateway's messages, and the last words to the root's supervisor.
pub fn link(data: &[u8]) {
    message!(control::link::Request, data);
    message!(control::link::Response, data);
    message!(control::link::AtEnd, data);
}

/// What places tell each other.
pub fn peer(data: &[u8]) {
    message!(control::peer::Endpoints, data);
    message!(control::places::Places, data);
}

/// Rules of a selection as users write them, one after the other or in a filter file of Score-P,
/// and what one of them fits. A rule is what its own text reads as.
pub fn rules(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    // The beginning is also compared with the rest, as a name would be.
    let (pattern, name) = text.split_once('\n').unwrap_or((text, text));
    if let Ok(rule) = pattern.parse::<Fits>() {
        assert_eq!(rule.to_string().parse().as_ref(), Ok(&rule));
        rule.fit(&Known {
            name,
            source: name,
            module: name,
            ..Known::default()
        });
    }
    let Ok(selection) = text.parse::<Selection>() else {
        return;
    };
    assert_eq!(selection.clone().checked().as_ref(), Ok(&selection));
    for rule in &selection.rules {
        let known = Known {
            name: text,
            ..Known::default()
        };
        rule.fits.fit(&known);
    }
}

/// Memory with room for two packets, aligned as a mapping is.
#[repr(C, align(4096))]
struct Memory([u8; shm::region_bytes(2)]);

/// A rank's memory as somebody hostile might hand it over: the first two bytes choose how much of
/// it is said to be mapped, the rest stands at its beginning.
pub fn region(data: &[u8]) {
    let Some((length, content)) = data.split_first_chunk::<2>() else {
        return;
    };
    // SAFETY: Memory is bytes, for which zero is a value; boxed zeroed so that it never lies on the
    // stack.
    let mut memory = unsafe { Box::<Memory>::new_zeroed().assume_init() };
    let copied = content.len().min(memory.0.len());
    memory.0[..copied].copy_from_slice(&content[..copied]);
    // Lengths around the interesting limit: nothing, the page alone, one slot, two slots.
    let bytes =
        (usize::from(u16::from_le_bytes(*length)) * memory.0.len()).div_ceil(usize::from(u16::MAX));
    // SAFETY: at most `memory.0.len()` bytes, aligned to 4096, owned and unshared while the region
    // is used.
    let Ok(region) = (unsafe { Region::attach(memory.0.as_mut_ptr(), bytes) }) else {
        return;
    };
    assert!(
        shm::region_bytes(region.packets()) <= bytes,
        "accepted with more packets than there is memory"
    );
    for index in 0..region.packets() {
        let slot = region.slot(index).expect("a slot of the pool");
        let end = std::ptr::from_ref(slot).addr() + shm::SLOT_BYTES;
        assert!(
            end <= memory.0.as_ptr().addr() + bytes,
            "slot {index} leaves the memory"
        );
    }
    assert!(region.slot(region.packets()).is_none());
}

/// Fails on a word that blind chance does not find in minutes, and that a fuzzer which watches
/// comparisons finds in a second: a run that does not fail here is not looking.
pub fn canary(data: &[u8]) {
    let Some((head, rest)) = data.split_first_chunk::<8>() else {
        return;
    };
    let found = u64::from_le_bytes(*head) == shm::MAGIC && rest.len() > 2;
    assert!(!found, "the canary is dead, the fuzzer works");
}

#[cfg(test)]
mod tests {
    /// Every target takes every golden byte sequence, whole, cut short and with any one byte
    /// changed.
    #[test]
    fn golden_bytes_and_their_neighbours_do_no_harm() {
        let mut files = 0;
        let folder = |name| format!("{}/../tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
        let control = format!("control-{}", invivo_proto::control::VERSION);
        let all = ["v1", &control].map(|name| std::fs::read_dir(folder(name)).unwrap());
        for entry in all.into_iter().flatten() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            files += 1;
            let targets = [
                super::packet,
                super::records,
                super::definition,
                super::tree,
                super::local,
                super::link,
                super::peer,
                super::rules,
            ];
            for target in targets {
                for end in 0..=bytes.len() {
                    target(&bytes[..end]);
                }
                let mut changed = bytes.clone();
                for at in 0..bytes.len() {
                    for flip in [0x01, 0x80, 0xff] {
                        changed[at] ^= flip;
                        target(&changed);
                        changed[at] ^= flip;
                    }
                }
            }
        }
        assert!(files > 50, "the golden bytes are missing");
    }

    /// What fuzzing begins with, without the fuzzer: a decoder that fails on one of these is found
    /// wherever tests run.
    #[test]
    fn kept_inputs_do_no_harm() {
        type Target = fn(&[u8]);
        let targets: [(&str, Target); 11] = [
            ("packet", super::packet),
            ("records", super::records),
            ("definition", super::definition),
            ("tree", super::tree),
            ("local", super::local),
            ("link", super::link),
            ("peer", super::peer),
            ("region", super::region),
            ("bin", super::otfx::bin),
            ("events", super::events::events),
            ("rules", super::rules),
        ];
        for (name, target) in targets {
            let folder = format!("{}/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
            let inputs: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
            assert!(!inputs.is_empty(), "{name} begins with nothing");
            for input in inputs {
                target(&std::fs::read(input.unwrap().path()).unwrap());
            }
        }
    }

    #[test]
    #[should_panic(expected = "the canary is dead")]
    fn the_canary_can_fail() {
        super::canary(b"INVIVOSH and more");
    }
}
