//! Control messages between our own processes: the tree's, the gateway's link and the supervisors'.
//! They are bincode 2 with fixed limits; this module is the only one that touches that crate (see
//! the ADR on bincode).

pub mod analyses;
pub mod buffers;
pub mod contexts;
pub mod fault;
pub mod framing;
pub mod grid;
pub mod hang;
pub mod histogram;
pub mod iterations;
pub mod link;
pub mod local;
pub mod meetings;
pub mod metric;
pub mod metrics;
pub mod named_ranks;
pub mod order;
pub mod overhead;
pub mod peer;
pub mod places;
pub mod profile;
mod record_class;
pub mod regions;
pub mod results;
pub mod sampling;
pub mod saved;
pub mod selection;
pub mod sites;
pub mod stacks;
pub mod strategy;
pub mod timeline;
pub mod tree;
pub mod wait_states;
pub mod whereabouts;
pub mod whole_time;

use alloc::vec::Vec;
use bincode::config::{Configuration, Fixint, Limit, LittleEndian};

/// The layout of these messages. Only processes of one release exchange them, so until 1.0 it may
/// change: then this number is raised and their golden bytes are written anew.
pub const VERSION: u32 = 18;

/// The longest control message. Results have a size that depends on the question alone; the largest
/// of the present questions (a function table by rank of some thousand ranks) stays well below.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Every number takes its full width: what an answer costs on its way depends on the question
/// alone, and not on how many digits the sums of a large job have.
const CONFIG: Configuration<LittleEndian, Fixint, Limit<MESSAGE_BYTES_MAX>> =
    bincode::config::standard()
        .with_fixed_int_encoding()
        .with_limit::<MESSAGE_BYTES_MAX>();

/// Why bytes are no message, or a message cannot be sent.
#[derive(Debug)]
pub enum ControlError {
    /// Longer than [`MESSAGE_BYTES_MAX`].
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
    /// Not a message of this version.
    Malformed(bincode::error::DecodeError),
    /// Bytes behind the end.
    Trailing {
        /// Where the message ended.
        offset: usize,
    },
    /// The message cannot be encoded.
    Unencodable(bincode::error::EncodeError),
}

impl core::fmt::Display for ControlError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ControlError::TooLong { bytes } => {
                write!(
                    f,
                    "control message of {bytes} bytes, at most {MESSAGE_BYTES_MAX} allowed"
                )
            }
            ControlError::Malformed(error) => write!(f, "malformed control message: {error}"),
            ControlError::Trailing { offset } => {
                write!(
                    f,
                    "control message ends at offset {offset}, more bytes follow"
                )
            }
            ControlError::Unencodable(error) => {
                write!(f, "control message cannot be encoded: {error}")
            }
        }
    }
}

impl core::error::Error for ControlError {}

/// Encodes a message.
///
/// # Errors
/// When it would be longer than [`MESSAGE_BYTES_MAX`].
pub fn encode<T: bincode::Encode>(message: &T) -> Result<Vec<u8>, ControlError> {
    // The limit of the configuration holds for decoding only, so the length is compared here.
    let bytes = bincode::encode_to_vec(message, CONFIG).map_err(ControlError::Unencodable)?;
    if bytes.len() > MESSAGE_BYTES_MAX {
        return Err(ControlError::TooLong { bytes: bytes.len() });
    }
    Ok(bytes)
}

/// Decodes a message that fills `bytes`. Claimed lengths are checked against the limit before
/// memory is taken.
///
/// # Errors
/// What is wrong with the bytes.
pub fn decode<T: bincode::Decode<()>>(bytes: &[u8]) -> Result<T, ControlError> {
    if bytes.len() > MESSAGE_BYTES_MAX {
        return Err(ControlError::TooLong { bytes: bytes.len() });
    }
    let (message, read) =
        bincode::decode_from_slice(bytes, CONFIG).map_err(ControlError::Malformed)?;
    // A message of another version could decode by chance; its length seldom fits as well.
    if read != bytes.len() {
        return Err(ControlError::Trailing { offset: read });
    }
    Ok(message)
}
