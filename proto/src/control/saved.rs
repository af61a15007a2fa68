//! What a save moves: the buffers of the ranks as they were at one moment, in their own bytes.
//!
//! Every place freezes its buffers and hands their bins over, page by page; the next page is asked
//! for when the one before has been dealt with. So nothing on the way holds more than a page,
//! however much there is. A view that nobody asks for any more is given up after
//! [`SAVE_LEASE_NS`], so that it takes no room of what is recorded.

use super::results::Group;
use super::stacks::Chosen;
use super::timeline::Piece;
use crate::ids::{CommId, LocationId, Rank};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// Bytes of a page, but for its last bin, or the communicators of one rank: a message has room for
/// eight times as much.
pub const SAVED_PAGE_BYTES: usize = 2 << 20;
/// Locations in one page: what each says beside its bins takes some kilobytes.
pub const SAVED_PIECES_MAX: usize = 512;
/// Communicators of one rank that are told: some 2 MB. Messages on further ones are saved without
/// their communicator's name.
pub const SAVED_COMMS_MAX: usize = 1 << 16;
/// Points that tie ticks to job time, of one location: what lies between two of them is a straight
/// line.
pub const CLOCK_POINTS_MAX: usize = 65;
/// How long a frozen view waits for the next question, in ns: longer than any answer takes on its
/// way, and short enough that a client that was killed costs the buffers little.
pub const SAVE_LEASE_NS: u64 = 30_000_000_000;

/// A question of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SaveQuery {
    /// Which save, by a number drawn at random: there is one at a time.
    pub save: u64,
    pub ask: SaveAsk,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SaveAsk {
    /// Hold what the buffers of these ranks hold.
    Freeze {
        chosen: Chosen,
        /// Bins of calls that ended before this job time need not be held, in ns.
        from_ns: u64,
        /// Calls that began before this job time are wanted, in ns.
        to_ns: u64,
    },
    /// A page of the place that has this rank.
    Page {
        rank: Rank,
        /// Pages that this place has given before. The one given last is given again.
        page: u64,
    },
    /// Let go of what is held.
    Thaw,
}

/// What places answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Saved {
    /// To a freeze: locations that are held.
    pub locations: u64,
    /// To a freeze: bytes of their bins.
    pub bytes: u64,
    /// To a freeze: places at which another save is under way.
    pub busy: u32,
    /// To a page: that of the place that has the rank.
    pub page: Option<SavedPage>,
}

/// A page of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SavedPage {
    /// Pages of this place before it.
    pub number: u64,
    /// The place holds nothing of this save, or no longer: nothing follows.
    pub is_gone: bool,
    /// Locations, each in one piece or several; in the order of ranks and threads.
    pub pieces: Vec<SavedPiece>,
    /// Members of communicators, as far as the place knows them.
    pub groups: BTreeMap<CommId, Group>,
    /// All of this place has been given.
    pub is_last: bool,
    /// Where the ranks run.
    pub host: String,
    /// How far the job time of these calls may be off, in ns.
    pub clock_error_ns: u64,
}

/// What a page has of one location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SavedPiece {
    pub location: LocationId,
    /// What is known of it, with its first piece.
    pub about: Option<Box<SavedLocation>>,
    /// Its bins, one chain after the other, each from the oldest on.
    pub bins: Vec<SavedBin>,
    /// All of its bins have been given.
    pub is_complete: bool,
    /// Its buffer went to another thread while it was saved: bins are missing.
    pub is_cut: bool,
}

/// A location as it was when its buffer was frozen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SavedLocation {
    /// Without calls; with all communicators of the rank with its first location.
    pub piece: Piece,
    /// Communicators of the rank that are not told.
    pub comms_left_out: u64,
    /// Ticks and the job time that they stand for, in ns; rising.
    pub clock: Vec<(u64, u64)>,
    /// Begin and end of the rank's pauses, in job time, with its first location: the newest 64, and
    /// one in force up to now.
    pub pauses: Vec<(u64, u64)>,
    /// With the rank's first location: since when, in job time, a unit of its samples' ordinals
    /// stands for how many ns on a processor; 0 while it was not sampled. The newest 64.
    pub paces: Vec<(u64, u64)>,
}

/// A bin of a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SavedBin {
    /// Which of the location's chains it belongs to.
    pub chain: u32,
    pub content: Vec<u8>,
}
