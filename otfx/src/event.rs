//! The events that a buffer is given: fused calls with their parts (those of
//! [`invivo_proto::record`]), and those defined here. Times are ticks of the node's clock.

use invivo_proto::ids::RegionId;

/// Classes of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EventClass {
    /// An MPI call with what it communicated.
    Call = 0,
    /// A region that was entered and left: a user function, a phase.
    Region = 1,
    /// A sample of the calling context, with counters.
    Sample = 2,
    /// Counters alone.
    Metric = 3,
}

/// Number of [`EventClass`]es.
pub const EVENT_CLASSES: usize = 4;

impl EventClass {
    /// All of them, in order of their numbers.
    pub const ALL: [EventClass; EVENT_CLASSES] = [
        EventClass::Call,
        EventClass::Region,
        EventClass::Sample,
        EventClass::Metric,
    ];
}

/// A set of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Classes(u8);

impl Classes {
    /// Every class.
    pub const ALL: Classes = Classes(0b1111);

    /// These classes.
    pub const fn of(classes: &[EventClass]) -> Classes {
        let (mut bits, mut at) = (0, 0);
        while at < classes.len() {
            bits |= 1 << classes[at] as u8;
            at += 1;
        }
        Classes(bits)
    }

    /// Whether a class is among them.
    #[inline(always)]
    pub const fn contains(self, class: EventClass) -> bool {
        self.0 >> class as u8 & 1 != 0
    }
}

/// What is known of a call or a region beside its record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// How many regions were open around it; what is deeper than 255 counts as 255.
    pub depth: u8,
    /// Its begin or its end was moved to a cut (a reset, the edge of a window): it was longer.
    pub clipped: bool,
}

/// A region, entered and left: one record, so that nothing can part the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    pub region: RegionId,
    /// When it was left.
    pub end: u64,
    /// How long it took.
    pub duration: u64,
}

/// A sample. Its ordinal says at which level it stands, see [`crate::lambda()`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample<'a> {
    /// When it was taken.
    pub time: u64,
    /// Its number in units of the base interval, from 1.
    pub ordinal: u64,
    /// The calling context's number.
    pub context: u32,
    /// Counters, in the order of their metric class: [`VALUES_MAX`] at most.
    pub values: &'a [u64],
}

/// Counters that were read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metric<'a> {
    /// When they were read.
    pub time: u64,
    /// The metric class' number.
    pub metric: u32,
    /// Their values, in the order of the class: [`VALUES_MAX`] at most.
    pub values: &'a [u64],
}

/// A record that only its maker understands: kept as it came, at its full size,
/// [`OPAQUE_HEAD_BYTES`] more than its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque<'a> {
    /// As what it is reduced.
    pub class: EventClass,
    /// When it ended.
    pub time: u64,
    /// The number of a sample, else 0.
    pub ordinal: u64,
    /// Its content: [`OPAQUE_BYTES_MAX`] at most.
    pub bytes: &'a [u8],
}

/// Counters of one record: any metric class in use is far below, and the record still fits the
/// smallest bin.
pub const VALUES_MAX: usize = 64;
/// Content of one opaque record in bytes: it fits the smallest bin.
pub const OPAQUE_BYTES_MAX: usize = 960;
/// What an opaque record takes beside its content, in bytes: token, class, length, time, ordinal.
pub const OPAQUE_HEAD_BYTES: usize = 20;

/// What the dimensions of a strategy look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    pub class: EventClass,
    pub depth: u8,
    pub duration: u64,
    pub ordinal: u64,
}
