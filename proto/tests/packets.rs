//! Packets: what is written is read; what is short, changed, oversized or newer is refused with a
//! reason.

mod samples;

use invivo_proto::ids::{LocationId, Rank};
use invivo_proto::packet::{
    HEADER_BYTES, Header, Losses, PAYLOAD_BYTES, PacketError, VERSION, VERSION_MIN,
};
use proptest::prelude::*;

fn message(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut head = [0; HEADER_BYTES];
    header.encode(payload, &mut head);
    [&head[..], payload].concat()
}

/// Headers that a shim can write; the length is the payload's.
fn headers() -> impl Strategy<Value = Header> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<[u64; 3]>());
    (any::<(u32, u16, u32, u32)>(), any::<(u64, u64)>(), numbers).prop_map(
        |(
            (rank, thread, records, epoch),
            (one, other),
            (sequence, next_request, entered, dropped),
        )| Header {
            version: VERSION,
            location: LocationId {
                rank: Rank(rank),
                thread,
            },
            sequence,
            length: 0,
            records,
            first_time: one.min(other),
            last_time: one.max(other),
            next_request,
            epoch,
            losses: Losses { entered, dropped },
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        header in headers(),
        payload in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let bytes = message(&header, &payload);
        let expected = Header { length: payload.len() as u32, ..header };
        prop_assert_eq!(Header::decode(&bytes), Ok((expected, &payload[..])));
    }

    #[test]
    fn one_changed_bit_is_noticed(
        header in headers(),
        payload in prop::collection::vec(any::<u8>(), 0..300),
        at: prop::sample::Index,
        bit in 0..8u32,
    ) {
        let mut bytes = message(&header, &payload);
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        prop_assert!(Header::decode(&bytes).is_err(), "bit {} of byte {}", bit, at);
    }

    #[test]
    fn anything_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        // Nobody hits the magic number and a checksum by chance.
        prop_assert!(Header::decode(&bytes).is_err());
    }
}

#[test]
fn every_shortened_packet_is_refused() {
    let bytes = samples::packet();
    for end in 0..bytes.len() {
        let error = Header::decode(&bytes[..end]).unwrap_err();
        let expected = if end < HEADER_BYTES {
            PacketError::Short { bytes: end }
        } else {
            PacketError::Length {
                said: bytes.len() - HEADER_BYTES,
                bytes: end - HEADER_BYTES,
            }
        };
        assert_eq!(error, expected);
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(matches!(
        Header::decode(&longer),
        Err(PacketError::Length { .. })
    ));
}

#[test]
fn every_changed_byte_is_refused_with_its_reason() {
    let bytes = samples::packet();
    for at in 0..bytes.len() {
        for flip in 1..=255u8 {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            let error = Header::decode(&changed).unwrap_err();
            let right = match at {
                0..4 => matches!(error, PacketError::Magic(_)),
                // Older versions are read.
                4 if (VERSION_MIN..VERSION).contains(&u16::from(bytes[4] ^ flip)) => {
                    matches!(error, PacketError::Checksum { .. })
                }
                4..6 => matches!(error, PacketError::Version(_)),
                6..8 => matches!(error, PacketError::Field { offset: 6, .. }),
                28..32 => matches!(
                    error,
                    PacketError::Length { .. } | PacketError::Field { offset: 28, .. }
                ),
                _ => matches!(error, PacketError::Checksum { .. }),
            };
            assert!(right, "byte {at}: {error}");
        }
    }
}

#[test]
fn a_newer_version_is_named() {
    let mut bytes = samples::packet();
    bytes[4..6].copy_from_slice(&(VERSION + 1).to_le_bytes());
    let error = Header::decode(&bytes).unwrap_err();
    assert_eq!(error, PacketError::Version(VERSION + 1));
    let told = error.to_string();
    assert!(
        told.contains("version 5") && told.contains("offset 4") && told.contains("update"),
        "{told}"
    );
}

#[test]
fn the_longest_packet_is_read_and_a_longer_one_refused() {
    let payload = vec![7; PAYLOAD_BYTES + 1];
    let header = samples::header(0);
    let longest = message(&header, &payload[..PAYLOAD_BYTES]);
    assert_eq!(Header::decode(&longest).unwrap().1.len(), PAYLOAD_BYTES);
    let error = Header::decode(&message(&header, &payload)).unwrap_err();
    assert!(
        matches!(error, PacketError::Field { offset: 28, .. }),
        "{error}"
    );
}

/// Fields under a right checksum: a broken shim, not a broken wire.
#[test]
fn impossible_fields_are_refused_though_the_checksum_is_right() {
    let header = Header {
        first_time: 2,
        last_time: 1,
        ..samples::header(0)
    };
    let error = Header::decode(&message(&header, &[])).unwrap_err();
    assert!(
        matches!(error, PacketError::Field { offset: 40, .. }),
        "{error}"
    );
}

/// What a user reads names the place and what was expected there.
#[test]
fn errors_say_what_and_where() {
    let cases = [
        (PacketError::Short { bytes: 3 }, "3 bytes"),
        (PacketError::Magic(1), "offset 0"),
        (PacketError::Version(9), "offset 4"),
        (
            PacketError::Field {
                offset: 12,
                why: "reason",
            },
            "offset 12: reason",
        ),
        (PacketError::Length { said: 1, bytes: 2 }, "offset 28"),
        (PacketError::Checksum { said: 1, found: 2 }, "offset 88"),
    ];
    for (error, words) in cases {
        assert!(error.to_string().contains(words), "{error}");
    }
}
