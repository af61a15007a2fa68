//! One bin, byte by byte. A bin decodes alone:
//!
//! ```text
//! 0   base time, u64   the time that the first record's delta counts from, in ticks
//! 8   next request, u64   the number of the first request posted in this bin
//! 16  records, as in a packet's payload: see `invivo_proto::record`
//! ```
//!
//! A bin may begin with a continuation: more parts of a call that begins in the bin before. Its time is the
//! base time.

use invivo_proto::record::{Decoded, Decoder, Part, RecordError};

/// Bytes before the first record.
pub const BIN_HEAD_BYTES: usize = 16;

/// Why bytes are no bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinError {
    /// Fewer bytes than the head has.
    Short {
        /// Bytes there are.
        bytes: usize,
    },
    /// A record is malformed; the offset counts from the bin's first byte.
    Record(RecordError),
}

impl core::fmt::Display for BinError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            BinError::Short { bytes } => {
                write!(f, "bin of {bytes} bytes, its head alone has {BIN_HEAD_BYTES}")
            }
            BinError::Record(error) => write!(f, "in a bin: {error}"),
        }
    }
}

impl core::error::Error for BinError {}

/// Writes the head of an empty bin.
pub(crate) fn begin(bin: &mut [u8], base_time: u64, next_request: u64) {
    bin[..8].copy_from_slice(&base_time.to_le_bytes());
    bin[8..BIN_HEAD_BYTES].copy_from_slice(&next_request.to_le_bytes());
}

/// Reads one bin. Any bytes may be given; what is no bin is an error, and after an error nothing follows.
#[derive(Clone, Debug)]
pub struct BinReader<'a> {
    bytes: &'a [u8],
    at: usize,
    decoder: Decoder,
}

impl<'a> BinReader<'a> {
    /// Begins with the head.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BinError> {
        let Some((head, _)) = bytes.split_first_chunk::<BIN_HEAD_BYTES>() else {
            return Err(BinError::Short { bytes: bytes.len() });
        };
        let number = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(eight)
        };
        Ok(BinReader {
            bytes,
            at: BIN_HEAD_BYTES,
            decoder: Decoder::new(number(0), number(8)),
        })
    }

    /// The next record's head, or `None` at the end. Its parts must be read before the next record.
    ///
    /// # Errors
    /// What is wrong and where.
    pub fn record(&mut self) -> Result<Option<Decoded>, BinError> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let read = self.decoder.record(self.bytes, &mut self.at);
        self.checked(read).map(Some)
    }

    /// The next announced part.
    ///
    /// # Errors
    /// What is wrong and where.
    pub fn part(&mut self) -> Result<Part, BinError> {
        let read = self.decoder.part(self.bytes, &mut self.at);
        self.checked(read)
    }

    fn checked<T>(&mut self, read: Result<T, RecordError>) -> Result<T, BinError> {
        read.map_err(|error| {
            self.at = self.bytes.len();
            BinError::Record(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            read_all(&bytes);
        }

        /// Mostly well-formed: small tokens and numbers reach deeper than noise does.
        #[test]
        fn nearly_records_never_panic(
            bytes in prop::collection::vec(prop_oneof![0u8..12, 64u8..67, Just(0xc0), Just(0x80), Just(0xff)], 16..600),
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
        let mut records = 0;
        while let Ok(Some(decoded)) = reader.record() {
            records += 1;
            assert!(records <= bytes.len());
            let (Decoded::Call(_, parts) | Decoded::Continuation { parts, .. }) = decoded;
            for _ in 0..parts {
                if reader.part().is_err() {
                    break;
                }
            }
        }
        assert!(matches!(reader.record(), Ok(None) | Err(_)));
    }

    #[test]
    fn after_an_error_the_bin_is_over() {
        let mut bytes = [0u8; BIN_HEAD_BYTES + 2];
        bytes[BIN_HEAD_BYTES] = 99;
        let mut reader = BinReader::new(&bytes).expect("a head");
        assert!(reader.record().is_err());
        assert_eq!(reader.record(), Ok(None));
    }
}
