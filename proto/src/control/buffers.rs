//! Answers about buffers: their sizes and losses, and pages of the records that they keep.

use super::contexts::Contexts;
pub use super::record_class::RecordClass;
use super::regions::RegionName;
use super::strategy::Strategy;
use crate::ids::{CommLocal, LocationId, RegionId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// Locations that an answer names, so that its size does not grow with the job.
pub const LOCATIONS_NAMED_MAX: usize = 32;
/// Strategies that an answer names. There is one, but for ranks where a change was refused.
pub const STRATEGIES_NAMED_MAX: usize = 8;
/// Calls, parts of calls, samples and their values in one page of records: its message stays below
/// 2 MiB.
pub const PAGE_MAX: u32 = 8192;

/// The buffers of some ranks, together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Buffers {
    /// Ranks by the strategy in force; at most [`STRATEGIES_NAMED_MAX`].
    pub strategies: BTreeMap<Strategy, u32>,
    /// Locations with a buffer.
    pub locations: u32,
    /// Locations without one: their calls are analysed and not kept.
    pub without: u32,
    /// Buffers of threads that had ended and that other threads have taken over.
    pub recycled: u32,
    /// Bytes of the buffers' memory.
    pub bytes: u64,
    /// Of these, bytes that hold records.
    pub bytes_used: u64,
    pub bins: u64,
    /// Of these, bins that hold records.
    pub bins_used: u64,
    /// Calls that were given to the buffers.
    pub stored: u64,
    /// Calls that are there.
    pub kept: u64,
    /// Parts of kept calls for which there was no room.
    pub parts_reduced: u64,
    /// Where visits of regions are; what stands above is of calls alone.
    pub regions: BufferCounters,
    /// Where samples are.
    pub samples: BufferCounters,
    /// How often a level has given something up, its oldest bin or all of it.
    pub reductions: u64,
    /// Buffers in which events have reached their cap.
    pub capped: Option<Capped>,
    /// How far samples are thinned, where the strategy thins them.
    pub thinned: Option<Thinned>,
    /// From the oldest record to the newest, by location.
    pub span: Spans,
    /// The time up to the newest record in which nothing is missing, by location.
    pub complete: Spans,
    /// Levels in the order in which they go: those of earlier strategies have number 0.
    pub levels: BTreeMap<(u16, Label), LevelSum>,
    /// What was lost, by level, class and reason.
    pub losses: BTreeMap<(Label, RecordClass, LossReason), Loss>,
    /// The locations with the shortest complete history; at most [`LOCATIONS_NAMED_MAX`].
    pub named: Vec<OneBuffer>,
    /// Picoseconds that a tick of the ranks' clocks takes, for what counts in ticks; the longest of
    /// any node.
    pub tick_ps: u64,
}

/// Lengths of time, one for each location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Spans {
    pub count: u64,
    /// Their sum in ns.
    pub sum_ns: u64,
    /// The shortest in ns; `u64::MAX` of none.
    pub min_ns: u64,
    /// The longest in ns.
    pub max_ns: u64,
    /// Whose is the shortest.
    pub shortest: Option<LocationId>,
}

impl Default for Spans {
    /// Of no locations.
    fn default() -> Self {
        Spans {
            count: 0,
            sum_ns: 0,
            // The neutral element of the minimum: merging in any order gives the same.
            min_ns: u64::MAX,
            max_ns: 0,
            shortest: None,
        }
    }
}

/// Buffers that dropped all events at their cap, and when, in job time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Capped {
    pub buffers: u32,
    /// The first of them.
    pub first_ns: u64,
    /// The last of them.
    pub last_ns: u64,
}

/// How often the frequency of samples is halved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Halvings {
    /// As the buffer has it.
    pub buffer: u32,
    /// As the producer, a thread of the rank, says that it knows.
    pub known: u32,
}

/// How far the samples of some locations are thinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Thinned {
    /// Locations with samples that are thinned as needed.
    pub locations: u32,
    /// Of these, locations whose producer knows another number of halvings than the buffer has.
    pub untold: u32,
    /// The fewest halvings of a buffer.
    pub least: u32,
    /// The most halvings of a buffer.
    pub most: u32,
}

/// One location's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct OneBuffer {
    /// Whose it is.
    pub location: LocationId,
    pub bins: u32,
    /// Of these, bins that hold records.
    pub bins_used: u32,
    /// Bytes of records.
    pub bytes_used: u64,
    /// Where its records are.
    pub counters: BufferCounters,
    /// From the oldest record to the newest, in ns.
    pub span_ns: u64,
    /// The time up to the newest record in which nothing is missing, in ns.
    pub complete_ns: u64,
    /// How often a level of it has given something up.
    pub reductions: u64,
    /// When events reached their cap and were dropped, in job time.
    pub capped_ns: Option<u64>,
    /// How often the frequency of its samples is halved, where its strategy thins them.
    pub halvings: Option<Halvings>,
}

/// Where the records are that a buffer was given: **stored = kept + reduced + dropped + reset**.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct BufferCounters {
    /// Records given to the buffer.
    pub stored: u64,
    /// Records in the buffer.
    pub kept: u64,
    /// Records given up by the strategy.
    pub reduced: u64,
    /// Records for which there was no room while a view was held for a save.
    pub dropped: u64,
    /// Records forgotten on request.
    pub reset: u64,
    /// Parts of kept calls for which there was no room.
    pub parts_reduced: u64,
}

/// What a level holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Label {
    /// What no rule claims.
    Rest,
    /// The events of a rule by class.
    Class,
    /// The samples of such a rule, where it claims nothing else.
    Samples,
    /// Calls and regions of a depth; of the first level of its rule, deeper ones too.
    Depth(u8),
    /// Calls and regions shorter than 2^this ticks, and not short enough for the level before.
    ShorterThanLog2(u8),
    /// Iterations whose number is divisible by 2^this and no more.
    Iteration(u8),
    /// Samples whose ordinal is divisible by 2^this and no more.
    Ordinal(u8),
    /// Levels of strategies that are long gone.
    Earlier,
}

/// One level of some buffers, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LevelSum {
    /// Buffers in which it takes nothing any more.
    pub closed: u32,
    /// Its bins.
    pub bins: u64,
    /// Its records.
    pub kept: u64,
    /// The end of the last record that it gave up, in job time; 0 of none.
    pub gone_until_ns: u64,
}

/// Why records are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum LossReason {
    /// They made room, or there was none for them.
    Room,
    /// Their level of samples was closed before they came.
    Closed,
    /// Events reached their cap.
    Cap,
    /// Strategies changed so often that their levels could no longer be distinguished.
    Strategy,
    /// They make no sense.
    Refused,
    /// A view for a save held what should have made room for them.
    Held,
    /// They were forgotten on request.
    Reset,
}

impl LossReason {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            LossReason::Room => "made room",
            LossReason::Closed => "of a closed level",
            LossReason::Cap => "over the cap",
            LossReason::Strategy => "of earlier strategies",
            LossReason::Refused => "refused",
            LossReason::Held => "no room beside a save",
            LossReason::Reset => "reset",
        }
    }
}

/// How many records were lost, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Loss {
    pub records: u64,
    /// None of them ended earlier, in job time.
    pub first_ns: u64,
    /// None of them ended later, in job time.
    pub last_ns: u64,
}

/// A page of what one location's buffer keeps: calls in order of their ends, and the samples of the
/// same time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Records {
    /// Whose; nothing where nobody has such a location.
    pub location: Option<LocationId>,
    /// It has no buffer: so many of its calls were analysed and not kept.
    pub not_kept: Option<u64>,
    /// The calls of the page, and the visits of regions.
    pub rows: Vec<Row>,
    /// What the regions are.
    pub regions: BTreeMap<RegionId, RegionName>,
    /// The samples of the page, in order of their time.
    pub samples: Vec<SampleRow>,
    /// The calling contexts of the samples, with their callers.
    pub contexts: Contexts,
    /// Where the next page begins; nothing behind the last.
    pub next: Option<Cursor>,
    /// Where the buffer's records are.
    pub counters: BufferCounters,
    /// What was lost, by level, class and reason.
    pub losses: BTreeMap<(Label, RecordClass, LossReason), Loss>,
    /// Of what ended later than this nothing is missing, in job time; nothing where it never gave
    /// anything up.
    pub gone_until_ns: Option<u64>,
    /// Picoseconds that a tick takes, for levels that count in ticks.
    pub tick_ps: u64,
    /// The buffer's memory did not hold what was written: a fault of this program; nothing follows.
    pub is_broken: bool,
}

/// A place in the order of records, which stays where it is while older records go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Cursor {
    /// The end of the record given last, in ticks.
    pub end_ticks: u64,
    /// Records with this end that were given already.
    pub given: u32,
}

/// One call, or one visit of a region of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Row {
    /// It is a visit of a region: of the facts, the region alone means something.
    pub is_region: bool,
    /// The call itself was given up, and these parts of it, in the next bin, were not: nothing else
    /// is known of it but its end.
    pub is_rest: bool,
    /// What was called with which facts.
    pub facts: RowFacts,
    /// When it left, in job time.
    pub end_ns: u64,
    /// How long it took, in ns; pauses in it count.
    pub duration_ns: u64,
    /// When it left, in ticks of its node's clock, as it was recorded.
    pub end_ticks: u64,
    /// How long it took, in ticks.
    pub duration_ticks: u64,
    /// The instance number of a collective on its communicator, else 0.
    pub ordinal: u64,
    /// The request number, where it posts, else 0.
    pub request: u64,
    /// Regions that were open around it.
    pub depth: u8,
    /// It was longer: its begin or end was moved to a cut.
    pub clipped: bool,
    /// What else it did.
    pub parts: Vec<RowPart>,
    /// Parts that the page has no room for.
    pub parts_left_out: u32,
    /// Which of the location's threads, one after the other, made it; 0 also of a rest.
    pub occupant: u32,
}

/// One sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SampleRow {
    /// When it was taken, in job time.
    pub at_ns: u64,
    /// When it was taken, in ticks of its node's clock, as it was recorded.
    pub at_ticks: u64,
    /// Its number in units of the first interval, from 1.
    pub ordinal: u64,
    /// The calling context's number.
    pub context: u32,
    /// Its counters.
    pub values: Vec<u64>,
    /// Which of the location's threads, one after the other, it is of.
    pub occupant: u32,
}

/// The facts of a call or of a part, as [`crate::record::Facts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct RowFacts {
    /// The number of a [`crate::record::RecordKind`].
    pub kind: u8,
    pub region: RegionId,
    /// The communicator, as the rank numbers it.
    pub comm: CommLocal,
    /// Peer or root as a rank in that communicator; negative values as in [`crate::mpi::peer`].
    pub peer: i32,
    /// The message's tag.
    pub tag: i32,
    /// Bytes that left the rank.
    pub bytes_out: u64,
    /// Bytes that came to the rank.
    pub bytes_in: u64,
}

impl From<&crate::record::Facts> for RowFacts {
    fn from(facts: &crate::record::Facts) -> RowFacts {
        RowFacts {
            kind: facts.kind as u8,
            region: facts.region,
            comm: facts.comm,
            peer: facts.peer,
            tag: facts.tag,
            bytes_out: facts.bytes_out,
            bytes_in: facts.bytes_in,
        }
    }
}

/// A part of a call, as [`crate::record::Part`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct RowPart {
    pub facts: RowFacts,
    /// The request number where it posts or completes, else 0.
    pub request: u64,
    /// When a completed operation was posted, in ticks, else 0.
    pub posted_ticks: u64,
}
