//! The packet: up to 100 KiB of one location's records behind a fixed header of 96 bytes, as it
//! travels over MPI. `wire.md` draws it. All numbers little-endian.

use crate::ids::{LocationId, Rank};

/// `IVPK`, read as a little-endian number.
pub const MAGIC: u32 = u32::from_le_bytes(*b"IVPK");
/// The layout that this program writes, and the newest that it reads. Since 2 there are records of
/// occupants, since 3 facts have call sites, since 4 there are records of the program's regions.
pub const VERSION: u16 = 4;
/// The oldest layout that it reads.
pub const VERSION_MIN: u16 = 1;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 96;
/// Payload bytes of a full packet: 100 KiB, as published for GTI's aggregating channels.
pub const PAYLOAD_BYTES: usize = 100 * 1024;
/// The longest packet. A receive buffer of this size takes any.
pub const PACKET_BYTES: usize = HEADER_BYTES + PAYLOAD_BYTES;

/// Why there is no record of a call: the index into [`Losses::dropped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum DropReason {
    /// No packet was free and the back-pressure policy let go.
    NoPacket = 0,
    /// The process has more threads in MPI than locations.
    NoLocation = 1,
    /// Calls of the function are not selected: see [`crate::control::selection`]. Of no record that
    /// others are understood by.
    NotSelected = 2,
}

/// Names of [`DropReason`]s, in their order.
pub const DROP_REASONS: [&str; 3] = ["no free packet", "too many threads", "not selected"];

/// A location's loss ledger as the shim keeps it; each number counts since the start and never
/// falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Calls counted at the wrapper's entry while recording was on.
    pub entered: u64,
    /// Calls whose records were dropped, by [`DropReason`].
    pub dropped: [u64; 3],
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// How the payload is laid out. What is written is always of [`VERSION`].
    pub version: u16,
    /// Whose records these are.
    pub location: LocationId,
    /// Counts the location's packets from 0; the receiver puts them in order and drops what it has
    /// already.
    pub sequence: u64,
    /// Payload bytes that follow.
    pub length: u32,
    /// Calls in the payload.
    pub records: u32,
    /// The time that the first record's delta counts from, in ticks.
    pub first_time: u64,
    /// The end of the last record, in ticks.
    pub last_time: u64,
    /// The number of the first request that this packet posts.
    pub next_request: u64,
    /// The epoch of recording: one packet has one.
    pub epoch: u32,
    /// The location's ledger when the packet was closed.
    pub losses: Losses,
}

impl Default for Header {
    fn default() -> Header {
        Header {
            version: VERSION,
            location: LocationId::default(),
            sequence: 0,
            length: 0,
            records: 0,
            first_time: 0,
            last_time: 0,
            next_request: 0,
            epoch: 0,
            losses: Losses::default(),
        }
    }
}

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketError {
    /// Fewer bytes than a header has.
    Short {
        /// Bytes there are.
        bytes: usize,
    },
    /// The first four bytes are not the magic number.
    Magic(u32),
    /// Written by a newer program.
    Version(u16),
    /// A field holds what it must not.
    Field {
        /// Where in the header.
        offset: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// The payload has another length than the header says.
    Length {
        /// As the header says.
        said: usize,
        /// As received.
        bytes: usize,
    },
    /// The bytes were changed on their way.
    Checksum {
        /// As the header says.
        said: u32,
        /// As computed.
        found: u32,
    },
}

impl core::fmt::Display for PacketError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            PacketError::Short { bytes } => write!(
                f,
                "packet of {bytes} bytes at offset 0, the header alone has {HEADER_BYTES}"
            ),
            PacketError::Magic(found) => write!(
                f,
                "no packet: magic {found:#010x} at offset 0 instead of {MAGIC:#010x}"
            ),
            PacketError::Version(found) => {
                write!(
                    f,
                    "packet version {found} at offset 4, this program reads up to {VERSION}: \
                     update the tool processes"
                )
            }
            PacketError::Field { offset, why } => {
                write!(f, "packet header field at offset {offset}: {why}")
            }
            PacketError::Length { said, bytes } => {
                write!(
                    f,
                    "packet payload of {bytes} bytes, the header at offset 28 says {said}"
                )
            }
            PacketError::Checksum { said, found } => {
                write!(
                    f,
                    "packet checksum {found:#010x}, the header at offset 88 says {said:#010x}"
                )
            }
        }
    }
}

impl core::error::Error for PacketError {}

const CHECKSUM_AT: usize = 88;

impl Header {
    /// Writes the header with the checksum over itself and `payload`, whose length it takes over.
    pub fn encode(&self, payload: &[u8], out: &mut [u8; HEADER_BYTES]) {
        *out = [0; HEADER_BYTES];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };

        put(&MAGIC.to_le_bytes());
        put(&VERSION.to_le_bytes());
        put(&(HEADER_BYTES as u16).to_le_bytes());
        put(&self.location.rank.0.to_le_bytes());
        // Four bytes for a number of two keep the next field at a multiple of eight.
        put(&u32::from(self.location.thread).to_le_bytes());
        put(&self.sequence.to_le_bytes());
        put(&self.epoch.to_le_bytes());
        put(&(payload.len() as u32).to_le_bytes());
        put(&self.first_time.to_le_bytes());
        put(&self.last_time.to_le_bytes());
        put(&self.losses.entered.to_le_bytes());
        for dropped in self.losses.dropped {
            put(&dropped.to_le_bytes());
        }

        put(&self.next_request.to_le_bytes());
        // The checksum's own field is zero while the sum is taken.
        put(&0u32.to_le_bytes());
        put(&self.records.to_le_bytes());
        let sum = checksum(out, payload);
        out[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
    }

    /// Takes a received message apart. Nothing of it is used before the checksum is right.
    pub fn decode(message: &[u8]) -> Result<(Header, &[u8]), PacketError> {
        let Some((head, payload)) = message.split_first_chunk::<HEADER_BYTES>() else {
            return Err(PacketError::Short {
                bytes: message.len(),
            });
        };

        if u32_at(head, 0) != MAGIC {
            return Err(PacketError::Magic(u32_at(head, 0)));
        }
        let version = u16::from_le_bytes([head[4], head[5]]);
        if !(VERSION_MIN..=VERSION).contains(&version) {
            return Err(PacketError::Version(version));
        }

        if usize::from(u16::from_le_bytes([head[6], head[7]])) != HEADER_BYTES {
            return Err(PacketError::Field {
                offset: 6,
                why: "header length is not 96",
            });
        }

        let said = u32_at(head, 28) as usize;
        if said > PAYLOAD_BYTES {
            return Err(PacketError::Field {
                offset: 28,
                why: "payload longer than 100 KiB",
            });
        }

        if said != payload.len() {
            return Err(PacketError::Length {
                said,
                bytes: payload.len(),
            });
        }

        // The fields used up to here only decide how many bytes the checksum covers.
        let (said, found) = (u32_at(head, CHECKSUM_AT), checksum(head, payload));
        if said != found {
            return Err(PacketError::Checksum { said, found });
        }

        let Ok(thread) = u16::try_from(u32_at(head, 12)) else {
            return Err(PacketError::Field {
                offset: 12,
                why: "thread number above 65535",
            });
        };

        let header = Header {
            version,
            location: LocationId {
                rank: Rank(u32_at(head, 8)),
                thread,
            },
            sequence: u64_at(head, 16),
            epoch: u32_at(head, 24),
            length: payload.len() as u32,
            first_time: u64_at(head, 32),
            last_time: u64_at(head, 40),
            losses: Losses {
                entered: u64_at(head, 48),
                dropped: [u64_at(head, 56), u64_at(head, 64), u64_at(head, 72)],
            },
            next_request: u64_at(head, 80),
            records: u32_at(head, 92),
        };

        // A right checksum says that these bytes were sent, not that they make sense.
        if header.last_time < header.first_time {
            return Err(PacketError::Field {
                offset: 40,
                why: "last time before first time",
            });
        }

        Ok((header, payload))
    }
}

/// CRC-32 over header (its checksum field taken as zero) and payload.
fn checksum(head: &[u8; HEADER_BYTES], payload: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head[..CHECKSUM_AT]);
    // The field is hashed as zeroes, because the writer hashed it before it knew the sum.
    sum.update(&[0; 4]);
    sum.update(&head[CHECKSUM_AT + 4..]);
    sum.update(payload);
    sum.finalize()
}

fn u32_at(head: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

fn u64_at(head: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from(u32_at(head, at)) | u64::from(u32_at(head, at + 4)) << 32
}
