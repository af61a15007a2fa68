//! Reads the full record of a run, which the tap of the tree with test hooks wrote.

use invivo_proto::packet::{HEADER_BYTES, Header};
use invivo_proto::record::{Call, Decoded, Decoder, Part};
use std::io::Read;
use std::path::Path;

/// Decodes all records that the place took of a rank, in order: each call with its parts.
pub fn all(tap: &Path, rank: u32, mut each: impl FnMut(&Call, &[Part])) {
    let path = tap.join(format!("rank-{rank}.thread-0.packets"));
    let mut file = std::io::BufReader::with_capacity(
        1 << 20,
        std::fs::File::open(&path).expect("the tap's file"),
    );
    let mut sequence = 0;
    let mut message = vec![0; HEADER_BYTES];
    let mut beside = Vec::new();
    loop {
        message.truncate(HEADER_BYTES);
        if file.read_exact(&mut message).is_err() {
            return;
        }

        // The length of the payload, as in `proto/wire.md`.
        let length = u32::from_le_bytes(message[28..32].try_into().expect("four bytes")) as usize;
        message.resize(HEADER_BYTES + length, 0);
        file.read_exact(&mut message[HEADER_BYTES..])
            .expect("a whole packet");

        let (header, payload) = Header::decode(&message).expect("a packet");
        // The tap must have every packet, in order: a gap would make the comparison worthless.
        assert_eq!((header.location.rank.0, header.sequence), (rank, sequence));
        sequence += 1;

        let mut decoder = Decoder::new(header.first_time, header.next_request);
        let mut at = 0;
        while at < payload.len() {
            let decoded = decoder.record(payload, &mut at).expect("a record");
            beside.clear();
            for _ in 0..decoded.parts() {
                beside.push(decoder.part(payload, &mut at).expect("a part"));
            }
            // Parts of a continuation belong to the call before; they are not compared.
            if let Decoded::Call(call, _) = decoded {
                each(&call, &beside);
            }
        }
    }
}
