//! The format of one bin, byte by byte, and its reader. A bin decodes alone:
//!
//! ```text
//! 0   base time, u64        the time that the first record counts from, in ticks
//! 8   next request, u64     the number of the first request posted in this bin, if it follows on
//! 16  records
//!
//! record      [marks] [wide] facts lengths [third] first second [ordinal] [gap] [count]
//!             parts or values
//!   marks     0xf4, iteration               what follows belongs to this iteration (0 at a
//!                                           bin's begin)
//!             0xf5, occupant                what follows is of this thread, of those that had
//!                                           the location one after the other (0 at a bin's
//!                                           begin)
//!   wide      0xf2, byte, byte              the highest bytes of first and second
//!   facts     0x00..0xef                    those that the dictionary holds in this slot
//!             0xf0, kind, mask, region, ..  new ones: of communicator, peer, tag, bytes out,
//!                                           bytes in and depth those whose bit is set in the
//!                                           mask; their slot is their hash, and what was there
//!                                           goes to the neighbour (the slot whose number
//!                                           differs in the lowest bit)
//!   lengths   bits 0-2 bytes of first, 3 first counts to the end, 4-6 bytes of second, 7 third
//!             is there
//!   third     bits 0-5 number of parts (63: it follows as count), 6 gap is there, 7 the event is
//!             clipped
//!   first     from the end of the record before to the begin of this one; or, where it began
//!             earlier, to its end
//!   second    duration; of samples how far their ordinal is from that of the sample before
//!   ordinal   of collectives: how far their instance number is from that of the collective before
//!   gap       how far the posted request's number is from the next one
//!   part      facts, then of a completion: lengths (4 bits each), request from the one completed
//!             before, age of its posting; of a posting: gap
//!   values    in pairs: lengths (4 bits each), and how far each is from the value before
//!
//! more parts  0xf1, count, parts            of the call before, which may lie in the bin before
//! opaque      0xf3, class, length u16, time u64, ordinal u64, content
//! ```
//!
//! Numbers without a stated length are LEB128, signed ones in zigzag; numbers with one, and those
//! with a type, are little-endian without their leading zeros. Kinds up to 15 are those of
//! [`invivo_proto::record::RecordKind`]; 16 is a region, 17 a sample, 18 a metric. Of the latter
//! two the region is the number of values and the communicator the context or metric class.

use crate::contents::{BinError, Contents};
use crate::decode::Cursor;

/// Reads one bin. Any bytes may be given; what is no bin is an error, and after an error nothing
/// follows.
#[derive(Clone, Debug)]
pub struct BinReader<'a> {
    bytes: &'a [u8],
    cursor: Cursor,
}

impl<'a> BinReader<'a> {
    /// Begins with the head.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BinError> {
        let mut cursor = Cursor::new();
        cursor.begin(bytes)?;
        Ok(BinReader { bytes, cursor })
    }

    /// Reads the next record; `false` at the end.
    ///
    /// # Errors
    /// What is wrong and where.
    pub fn next(&mut self, into: &mut Contents) -> Result<bool, BinError> {
        self.cursor.next(self.bytes, into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::BIN_HEAD_BYTES;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            read_all(&bytes);
        }

        /// Mostly well-formed: small tokens and numbers reach deeper than noise does.
        #[test]
        fn nearly_records_never_panic(
            bytes in prop::collection::vec(
                prop_oneof![0u8..20, 0xf0u8..0xf6, Just(0x11), Just(0xff), Just(0x3f)], 16..600),
        ) {
            read_all(&bytes);
        }
    }

    /// Reads as a reader would; bounded by the bytes, as every record takes at least one.
    fn read_all(bytes: &[u8]) {
        let Ok(mut reader) = BinReader::new(bytes) else {
            assert!(bytes.len() < BIN_HEAD_BYTES);
            return;
        };
        let (mut records, mut contents) = (0, Contents::default());
        while let Ok(true) = reader.next(&mut contents) {
            records += 1;
            assert!(records <= bytes.len());
            assert!(contents.head.begin() <= contents.head.end());
        }
        assert!(matches!(reader.next(&mut contents), Ok(false)));
    }

    #[test]
    fn after_an_error_the_bin_is_over() {
        let mut bytes = [0u8; BIN_HEAD_BYTES + 2];
        bytes[BIN_HEAD_BYTES] = 0x99;
        let mut reader = BinReader::new(&bytes).expect("a head");
        let mut contents = Contents::default();
        assert!(reader.next(&mut contents).is_err());
        assert_eq!(reader.next(&mut contents), Ok(false));
    }
}
