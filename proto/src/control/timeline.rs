//! Pages of the timeline: what every rank did, call by call, in some seconds.
//!
//! Each page is a question and an answer of bounded size, and the next is asked for when the page
//! before has been dealt with. So nothing on the way holds more than a page, however many ranks
//! there are.

use super::buffers::{
    BufferCounters, Cursor, Label, Loss, LossReason, RecordClass, Row, SampleRow,
};
use super::contexts::Contexts;
use super::regions::RegionName;
use super::results::{Ledger, RankState};
use crate::ids::{CommId, CommLocal, LocationId, Rank, RegionId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// Calls, parts of calls and samples in one page: its message stays below 4 MiB.
pub const TIMELINE_PAGE_MAX: u32 = 16_384;
/// Locations in one page: what each says beside its calls takes some 300 bytes, its peers apart.
pub const TIMELINE_LOCATIONS_MAX: usize = 1024;

/// Where a page begins: in the order of locations, and in one of them in the order of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct TimelinePosition {
    pub location: LocationId,
    /// Behind which of its calls; nothing is before the first.
    pub after: Option<Cursor>,
}

impl TimelinePosition {
    /// The first location of a rank, if the job has such a rank.
    pub fn of(rank: u32, ranks: u32) -> Option<TimelinePosition> {
        (rank < ranks).then_some(TimelinePosition {
            location: LocationId {
                rank: Rank(rank),
                thread: 0,
            },
            after: None,
        })
    }

    /// Where the page behind the one begins that was asked for from here; nothing behind the last.
    /// Where nobody answered, because the place is silent or gone, the next rank may be another
    /// place's. A page that leads back is a fault that must not make this endless.
    pub fn behind(self, page: &Timeline, ranks: u32) -> Option<TimelinePosition> {
        // Asking for the same rank again could wait for ever for a place that is gone.
        if page.pieces.is_empty() {
            return TimelinePosition::of(self.location.rank.0.saturating_add(1), ranks);
        }
        // Positions strictly rise, so the pages of a job end whatever the places say.
        page.next.filter(|next| *next > self)
    }
}

/// A page, or nothing from those who do not have the location that it begins at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Timeline {
    /// Neighbouring locations, in their order.
    pub pieces: Vec<Piece>,
    /// Where the next page begins; nothing behind the job's last location.
    pub next: Option<TimelinePosition>,
    /// How far the job time of these calls may be off, in ns.
    pub clock_error_ns: u64,
}

/// What a page has of one location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Piece {
    pub location: LocationId,
    /// Its calls and regions that began before the end that was asked for, and ended behind the
    /// begin; in order of their ends.
    pub rows: Vec<Row>,
    /// Its samples of the same time, in order.
    pub samples: Vec<SampleRow>,
    /// All of its calls have been given. What follows is set here, and is nothing before.
    pub is_complete: bool,
    /// Communicators of these calls, as far as they are defined.
    pub comms: BTreeMap<CommLocal, Member>,
    /// Peers of these calls, as ranks of the application, as far as they are known.
    pub peers: BTreeMap<(CommLocal, i32), Rank>,
    /// Regions of the program that are among the rows; with a save, all that the rank has met, with
    /// its first location.
    pub regions: BTreeMap<RegionId, RegionName>,
    /// The calling contexts of the samples, with their callers; with a save, all that the rank has
    /// met, with its first location.
    pub contexts: Contexts,
    /// The call that it is in and that began before the end that was asked for.
    pub open: Option<OpenCall>,
    /// Regions that it is in and that began before the end that was asked for, the outermost first.
    pub open_regions: Vec<OpenCall>,
    /// What its rank is doing.
    pub state: RankState,
    /// Where its calls are, from the wrappers' entries on.
    pub ledger: Ledger,
    /// Where the buffer's calls are.
    pub counters: BufferCounters,
    /// Where the buffer's regions are.
    pub regions_counted: BufferCounters,
    /// Where the buffer's samples are.
    pub samples_counted: BufferCounters,
    /// What the buffer lost, by level, class and reason.
    pub losses: BTreeMap<(Label, RecordClass, LossReason), Loss>,
    /// Of what ended later than this nothing is missing, in job time; nothing where the buffer
    /// never gave anything up.
    pub gone_until_ns: Option<u64>,
    /// It has or had no buffer: so many of its calls were analysed and not kept.
    pub not_kept: Option<u64>,
    /// Older calls of the time that was asked for, left out because there are more than were asked
    /// for.
    pub left_out: u64,
    /// Picoseconds that a tick takes.
    pub tick_ps: u64,
    /// The buffer's memory did not hold what was written: a fault of this program; what follows is
    /// missing.
    pub is_broken: bool,
}

/// A rank's part in one of its communicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Member {
    /// The communicator; of an intercommunicator, the side that the rank is on.
    pub id: CommId,
    /// The group that peers are numbered in.
    pub peers: CommId,
    /// The rank's own number.
    pub rank: u32,
}

/// A call, or a region of the program, that was entered and not left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct OpenCall {
    /// The function, or the region; number 0 where recording was off, so that nobody noted which.
    pub region: RegionId,
    /// When it was entered, in job time.
    pub begin_ns: u64,
    /// The same in ticks of its node's clock.
    pub begin_ticks: u64,
    /// Which of the location's threads is in it.
    pub occupant: u32,
}
