//! Frames on a byte stream: four bytes of length, little-endian, then a message; bounded on the way
//! in.
//!
//! The same bytes as `LengthDelimitedCodec` of tokio-util with little-endian lengths of four bytes.

use alloc::vec::Vec;
use core::fmt;

/// Bytes of the length.
pub const LENGTH_BYTES: usize = 4;

/// A frame longer than this connection may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// What its length says.
    pub said: usize,
    /// What is allowed.
    pub bytes_max: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "frame of {} bytes, at most {} allowed",
            self.said, self.bytes_max
        )
    }
}

/// Puts a length before a message.
pub fn frame(message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(LENGTH_BYTES + message.len());
    bytes.extend_from_slice(&(message.len() as u32).to_le_bytes());
    bytes.extend_from_slice(message);
    bytes
}

/// Cuts a stream into messages.
#[derive(Debug)]
pub struct Unframe {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl Unframe {
    /// Of messages up to `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Unframe {
        Unframe {
            bytes: Vec::new(),
            bytes_max,
        }
    }

    /// Takes what came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes of a message that is not whole yet.
    pub fn pending(&self) -> usize {
        self.bytes.len()
    }

    /// The next whole message.
    ///
    /// # Errors
    /// When its length is beyond the bound. The stream cannot be read on then.
    pub fn message(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let Some((length, rest)) = self.bytes.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let said = u32::from_le_bytes(*length) as usize;
        // Refused by its length alone, before memory is spent on it.
        if said > self.bytes_max {
            return Err(TooLong {
                said,
                bytes_max: self.bytes_max,
            });
        }

        // The rest of the message has not come yet.
        let Some(message) = rest.get(..said) else {
            return Ok(None);
        };
        let message = message.to_vec();
        self.bytes.drain(..LENGTH_BYTES + said);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_come_out_however_the_stream_is_cut(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..10),
            cuts in prop::collection::vec(1usize..40, 1..20),
        ) {
            let stream: Vec<u8> = messages.iter().flat_map(|message| frame(message)).collect();
            let mut unframe = Unframe::new(50);
            let mut came = Vec::new();
            let (mut rest, mut cuts) = (&stream[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                unframe.push(piece);
                while let Some(message) = unframe.message().unwrap() {
                    came.push(message);
                }
                rest = behind;
            }

            prop_assert_eq!(came, messages);
        }
    }

    /// A length beyond the bound is refused before the bytes come.
    #[test]
    fn a_length_beyond_the_bound_is_refused_at_once() {
        let mut unframe = Unframe::new(50);
        unframe.push(&51u32.to_le_bytes());
        assert_eq!(
            unframe.message(),
            Err(TooLong {
                said: 51,
                bytes_max: 50
            })
        );
    }
}
