//! What buffers keep when not everything fits, and what they tell of themselves. Plain data: a place turns a
//! [`Strategy`] into its buffers' own, with its clock's ticks for nanoseconds.

use crate::ids::Rank;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// In which order a buffer gives up detail. Without rules it is a flight recorder: the newest is kept complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Strategy {
    /// What goes first, what next. An event belongs to the first rule that claims it; what none claims goes last.
    pub rules: Vec<Rule>,
    /// A limit for everything that is no sample.
    pub event_cap: Option<EventCap>,
}

/// Some events and how they are sorted into levels.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Rule {
    /// The classes that it looks at; none is all of them.
    pub of: Vec<Class>,
    /// What it sorts by.
    pub by: Dimension,
}

/// Classes of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
pub enum Class {
    /// MPI calls.
    Call,
    /// Regions, entered and left.
    Region,
    /// Samples of the calling context.
    Sample,
    /// Counters alone.
    Metric,
}

/// What a rule sorts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub enum Dimension {
    /// Nothing: all of its classes go together.
    Class,
    /// Calling depth, deepest first, down to `kept`, which is not touched.
    Depth {
        /// The greatest depth that is not claimed.
        kept: u8,
        /// Depths told apart.
        levels: u8,
    },
    /// Duration, shortest first, up to `kept_ns`; what takes longer is not touched.
    Duration {
        /// The least duration that is not claimed, in ns; a place takes the next power of two of its ticks.
        kept_ns: u64,
        /// Powers of two told apart.
        levels: u8,
    },
    /// Iterations: every second one first, then every second of what is left.
    Iteration {
        /// How often.
        levels: u8,
    },
    /// Samples by their ordinals; the frequency is halved each time.
    Ordinal {
        /// How often.
        levels: u8,
    },
}

/// A limit for everything that is no sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct EventCap {
    /// Its part of a buffer, in thousandths.
    pub permille: u16,
    /// At the limit all events are given up and no more are taken; else the oldest of them make room.
    pub drop_all: bool,
}

/// The buffers of some ranks, together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct BufferStatus {
    /// How many.
    pub buffers: u32,
    /// Their memory in bytes, and how much of it holds records.
    pub bytes: u64,
    /// See `bytes`.
    pub bytes_used: u64,
    /// Records that were stored.
    pub stored: u64,
    /// Records that are there.
    pub kept: u64,
    /// The shortest complete history of any location in ns, and whose it is: since then nothing is missing.
    pub history: Option<(u64, Rank)>,
    /// Levels by what they hold, in the order in which they go.
    pub levels: BTreeMap<(u16, Label), LevelStatus>,
    /// What was lost, by level, class and reason.
    pub losses: BTreeMap<(Label, Class, Reason), Loss>,
}

/// What a level holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
pub enum Label {
    /// What no rule claims.
    Rest,
    /// The events of a rule by class.
    Class,
    /// Calls and regions of a depth.
    Depth(u8),
    /// Calls and regions shorter than 2^this ticks.
    ShorterThanLog2(u8),
    /// Iterations whose number is divisible by 2^this and no more.
    Iteration(u8),
    /// Samples whose ordinal is divisible by 2^this and no more.
    Ordinal(u8),
    /// Levels of strategies that are long gone.
    Earlier,
}

/// One level of some buffers, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct LevelStatus {
    /// Buffers in which it takes nothing any more.
    pub closed: u32,
    /// Bytes of its bins.
    pub bytes: u64,
    /// Its records.
    pub kept: u64,
}

/// Why records are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
pub enum Reason {
    /// They made room, or there was none for them.
    Room,
    /// Their level of samples was closed before they came.
    Closed,
    /// Events reached their cap.
    Cap,
    /// Strategies changed so often that their levels could no longer be told apart.
    Strategy,
    /// They make no sense.
    Refused,
    /// A view for a save held what should have made room for them.
    Held,
    /// They were forgotten on request.
    Reset,
}

/// How many records were lost, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Loss {
    /// How many.
    pub records: u64,
    /// None of them ended earlier, in job time.
    pub first_ns: u64,
    /// None of them ended later, in job time.
    pub last_ns: u64,
}
