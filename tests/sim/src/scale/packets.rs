//! Takes a rank's calls the long way: encoded into packets, checked, decoded, and fed to the
//! analyses.

use invivo_analysis::functions::Functions;
use invivo_analysis::matrix::MatrixLeaf;
use invivo_proto::ids::{LocationId, Rank};
use invivo_proto::packet::{HEADER_BYTES, Header, PAYLOAD_BYTES};
use invivo_proto::record::{Call, Decoded, Decoder, Encoder, MAX_CALL_BYTES};

/// The packets of a rank, as they would go over MPI.
pub fn encode(rank: Rank, calls: impl Iterator<Item = Call>) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut encoder = Encoder::new(0, 0);
    let mut payload = Vec::with_capacity(PAYLOAD_BYTES);
    let mut header = first_header(rank);
    for call in calls {
        // As the shim: a record that might not fit begins the next packet.
        if payload.len() + MAX_CALL_BYTES > PAYLOAD_BYTES {
            packets.push(closed(&mut header, &mut payload, encoder.time()));
            encoder.restart(header.first_time);
        }
        let at = payload.len();
        // SAFETY: the vector has the capacity PAYLOAD_BYTES and `at` lies MAX_CALL_BYTES before it;
        // the encoder returns the address behind the bytes that it has written there.
        unsafe {
            let out = payload.as_mut_ptr().add(at);
            let end = encoder.call(out, &call, 0);
            payload.set_len(at + end.offset_from_unsigned(out));
        }
        header.records += 1;
    }

    if !payload.is_empty() {
        packets.push(closed(&mut header, &mut payload, encoder.time()));
    }
    packets
}

fn first_header(rank: Rank) -> Header {
    Header {
        location: LocationId { rank, thread: 0 },
        ..Header::default()
    }
}

/// The packet that is full, and the header of the next one.
fn closed(header: &mut Header, payload: &mut Vec<u8>, time: u64) -> Vec<u8> {
    header.length = payload.len() as u32;
    header.last_time = time;
    let mut head = [0; HEADER_BYTES];
    header.encode(payload, &mut head);
    let packet = [&head, payload.as_slice()].concat();
    payload.clear();
    *header = Header {
        sequence: header.sequence + 1,
        // Each packet counts its times from where the one before ended.
        first_time: time,
        ..first_header(header.location.rank)
    };
    packet
}

/// Feeds packets to the analyses; how many calls they held.
///
/// # Panics
/// When a packet cannot be read: it was written here.
pub fn feed(packets: &[Vec<u8>], functions: &mut Functions, matrix: &mut MatrixLeaf) -> u64 {
    let mut calls = 0;
    for packet in packets {
        let (header, payload) = Header::decode(packet).expect("a packet that was not changed");
        let mut decoder = Decoder::new(header.first_time, header.next_request);
        let mut at = 0;
        while at < payload.len() {
            match decoder.record(payload, &mut at) {
                Ok(Decoded::Call(call, 0)) => {
                    let rank = header.location.rank;
                    functions.record(rank, &call, &[], call.duration, false);
                    matrix.record(rank, &call, &[]);
                    calls += 1;
                }
                other => unreachable!("no record like this was written: {other:?}"),
            }
        }
    }

    calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::world::World;

    #[test]
    fn what_is_fed_is_what_was_called() {
        let world = World::new(1024, 7);
        let calls: Vec<Call> = world.calls_of(Rank(16)).collect();
        // Many times over, so that one packet is not enough.
        let long = (0..50).flat_map(|_| calls.iter()).scan(0, |time, call| {
            *time += call.duration;
            Some(Call {
                end: *time,
                ..*call
            })
        });
        let packets = encode(Rank(16), long);
        assert!(packets.len() > 1);
        let (mut functions, mut matrix) = Default::default();
        let fed = feed(&packets, &mut functions, &mut matrix);
        assert_eq!(fed, 50 * calls.len() as u64);
        let counted: u64 = functions
            .to_partial(0)
            .rows
            .values()
            .map(|row| row.time.count)
            .sum();
        assert_eq!(counted, fed);
    }
}
