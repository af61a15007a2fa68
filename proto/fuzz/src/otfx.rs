//! Fuzz checks of the buffer: a bin from any bytes, and a buffer under any calls.

use invivo_otfx::{
    Attributes, BinReader, Buffer, Contents, Head, Metric, Opaque, Sample, Strategy,
};

/// Far more than what can be read from an input takes again.
const BUFFER_BYTES: usize = 1 << 20;

/// Reads any bytes as a bin. What was read can be stored, and is read back as the same.
pub fn bin(data: &[u8]) {
    let Ok(mut reader) = BinReader::new(data) else {
        assert!(
            data.len() < invivo_otfx::BIN_HEAD_BYTES,
            "a head was refused"
        );
        return;
    };
    let mut read = Vec::new();
    let mut contents = Contents::default();
    while let Ok(true) = reader.next(&mut contents) {
        assert!(read.len() < data.len(), "records without bytes");
        read.push(contents.clone());
    }
    // More parts without their call are no record, and iterations are the buffer's own count.
    read.retain(|contents| !matches!(contents.head, Head::Rest { .. }));
    let mut buffer =
        Buffer::new(BUFFER_BYTES, Strategy::flight_recorder()).expect("a mebibyte is enough");
    for contents in &read {
        buffer.begin_occupant(contents.occupant);
        assert!(store(&mut buffer, contents), "{contents:?} was not kept");
    }
    let mut reader = buffer.read();
    for contents in &mut read {
        contents.iteration = 0;
        assert_eq!(reader.next(), Ok(Some(&*contents)));
    }
    assert_eq!(reader.next(), Ok(None));
}

fn store(buffer: &mut Buffer, contents: &Contents) -> bool {
    let attributes = Attributes {
        depth: contents.depth,
        clipped: contents.clipped,
    };
    let values = &contents.values;
    let stored = match contents.head {
        Head::Call(call) => buffer.store_call(&call, &contents.parts, attributes),
        Head::Region(pass) => buffer.store_region(&pass, attributes),
        Head::Sample {
            time,
            ordinal,
            context,
        } => buffer.store_sample(&Sample {
            time,
            ordinal,
            context,
            values,
        }),
        Head::Metric { time, metric } => buffer.store_metric(&Metric {
            time,
            metric,
            values,
        }),
        Head::Opaque {
            class,
            time,
            ordinal,
        } => buffer.store_opaque(&Opaque {
            class,
            time,
            ordinal,
            bytes: &contents.bytes,
        }),
        Head::Rest { .. } => unreachable!("left out"),
    };
    stored.kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_otfx::Pass;
    use invivo_proto::ids::RegionId;

    /// One bin of every kind of record, cut short and with any one byte changed.
    #[test]
    fn a_bin_and_its_neighbours_do_no_harm() {
        let mut bytes = vec![0; 16];
        // Facts of a region with one value each of everything; then a sample with two values; then
        // something opaque.
        bytes.extend([0xf0, 16, 0x20, 7, 3, 0x11, 5, 9]);
        bytes.extend([0xf0, 17, 0x01, 2, 9, 0x11, 4, 1, 0x21, 8, 0, 1]);
        bytes.extend([0xf3, 0, 2, 0]);
        bytes.extend(100u64.to_le_bytes());
        bytes.extend(3u64.to_le_bytes());
        bytes.extend([1, 2]);
        let mut reader = BinReader::new(&bytes).unwrap();
        let mut contents = Contents::default();
        assert!(reader.next(&mut contents).unwrap());
        let pass = Pass {
            region: RegionId(7),
            end: 14,
            duration: 9,
        };
        assert_eq!((contents.head, contents.depth), (Head::Region(pass), 3));
        assert!(reader.next(&mut contents).unwrap());
        assert_eq!(contents.values, [4, 128]);
        assert!(reader.next(&mut contents).unwrap());
        assert_eq!(contents.bytes, [1, 2]);
        for end in 0..=bytes.len() {
            bin(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                bytes[at] ^= flip;
                bin(&bytes);
                bytes[at] ^= flip;
            }
        }
    }
}
