//! What a bin holds, as it is read: its head, its records, and why bytes are no bin.

use crate::encoding::Marks;
use crate::event::{EventClass, Pass};
use alloc::vec::Vec;
use invivo_proto::record::{Call, Part, RecordError};

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
                write!(
                    f,
                    "bin of {bytes} bytes, its head alone has {BIN_HEAD_BYTES}"
                )
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

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A kept call.
    Call(Call),
    /// More parts of a call. From a reader of a whole buffer: the call was given up while the rest
    /// of it, in the next bin, was not. Its completions stand for themselves.
    Rest {
        /// The end of the call.
        end: u64,
    },
    /// A region, entered and left.
    Region(Pass),
    /// A sample of the calling context.
    Sample {
        /// When it was taken.
        time: u64,
        /// Its number in units of the base interval.
        ordinal: u64,
        /// The calling context's number.
        context: u32,
    },
    /// Counters alone.
    Metric {
        /// When they were read.
        time: u64,
        /// The metric class' number.
        metric: u32,
    },
    /// A record that only its maker understands.
    Opaque {
        /// As what it is reduced.
        class: EventClass,
        /// When it ended.
        time: u64,
        /// The number of a sample, else 0.
        ordinal: u64,
    },
}

impl Head {
    /// When it ended.
    pub fn end(&self) -> u64 {
        match *self {
            Head::Call(call) => call.end,
            Head::Region(pass) => pass.end,
            Head::Rest { end } => end,
            Head::Sample { time, .. } | Head::Metric { time, .. } | Head::Opaque { time, .. } => {
                time
            }
        }
    }

    /// When it began; what has no duration began when it ended.
    pub fn begin(&self) -> u64 {
        match *self {
            Head::Call(call) => call.end.saturating_sub(call.duration),
            Head::Region(pass) => pass.end.saturating_sub(pass.duration),
            _ => self.end(),
        }
    }
}

/// A record read from a bin, in memory that is used again for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    pub head: Head,
    /// How many regions were open around it.
    pub depth: u8,
    /// It was longer: its begin or its end was moved to a cut.
    pub clipped: bool,
    /// The iteration that it ended in; 0 is outside of any.
    pub iteration: u64,
    /// Which of the location's threads it is of; 0 is the first that had the location.
    pub occupant: u32,
    /// What a call did beside its head's facts.
    pub parts: Vec<Part>,
    /// Counters of a sample or a metric.
    pub values: Vec<u64>,
    /// The content of an opaque record.
    pub bytes: Vec<u8>,
}

impl Contents {
    /// Takes over what marks say.
    #[inline(always)]
    pub(crate) fn belongs(&mut self, marks: Marks) {
        (self.iteration, self.occupant) = (marks.iteration, marks.occupant);
    }
}

impl Default for Contents {
    fn default() -> Self {
        Contents {
            head: Head::Rest { end: 0 },
            depth: 0,
            clipped: false,
            iteration: 0,
            occupant: 0,
            parts: Vec::new(),
            values: Vec::new(),
            bytes: Vec::new(),
        }
    }
}
