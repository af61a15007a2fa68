//! The classes of recorded events: calls, regions, samples and metrics.

use bincode::{Decode, Encode};

/// The classes of events that a buffer distinguishes. Ranks record calls and regions; samples and
/// metrics have their numbers already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum RecordClass {
    /// MPI calls.
    Call,
    /// Regions, entered and left.
    Region,
    /// Samples of the calling context.
    Sample,
    /// Counters alone.
    Metric,
}

impl RecordClass {
    pub const ALL: [RecordClass; 4] = [
        RecordClass::Call,
        RecordClass::Region,
        RecordClass::Sample,
        RecordClass::Metric,
    ];

    /// As a strategy's text names it.
    pub const fn name(self) -> &'static str {
        match self {
            RecordClass::Call => "call",
            RecordClass::Region => "region",
            RecordClass::Sample => "sample",
            RecordClass::Metric => "metric",
        }
    }
}
