//! The fused call record: one record for one MPI call, where an event tracer writes enter,
//! communication and leave. `wire.md` draws it.
//!
//! A record is a *token* (which facts: function, peer, tag, bytes, communicator), the time since
//! the end of the location's previous record, and the call's duration. Facts that came by recently
//! stand in a small dictionary that writer and reader keep alike, so the token alone repeats them.
//! The dictionary starts empty in every packet: each packet decodes alone.
//!
//! A location that outlives its thread is given to another one. Its *occupants* are numbered from
//! 0; a record says where one that is not the first begins, and does so again in every packet.
//!
//! Regions of the program (its marked stretches and its instrumented functions) are entered and
//! left by records of their own, between those of calls. So that each packet decodes alone, the
//! first of them in a packet says before it which regions are open.

mod reader;
mod regions;
mod words;
mod writer;

pub use reader::{Decoded, Decoder, RecordError, RecordFault};
pub use regions::{OPEN_BYTES_MAX, OPEN_MAX, OpenRegion};
pub use words::Words;
pub use writer::Encoder;

use crate::ids::{CommLocal, RegionId, SiteId};
use crate::varint;

/// Slots of the facts dictionary. 64 keep it within 2 KiB, so both sides stay in the first cache
/// level.
pub const DICTIONARY_SLOTS: usize = 64;
/// Token: the facts follow in full and take their slot in the dictionary. Lower tokens are slots.
const TOKEN_LITERAL: u8 = 64;
/// Token: more parts of the call recorded last (they did not fit beside it).
const TOKEN_CONTINUATION: u8 = 65;
/// Token: what follows is another thread's, which has the location now.
const TOKEN_OCCUPANT: u8 = 66;
/// Token: a region of the program was entered.
const TOKEN_ENTER: u8 = 67;
/// Token: the region entered last, of those that are open, was left.
const TOKEN_LEAVE: u8 = 68;
/// Token: these regions are open.
const TOKEN_OPEN: u8 = 69;

/// The first number of a region that facts have no room for: regions of the program begin here,
/// MPI functions lie below.
pub const REGIONS_END: u16 = 1 << 12;
/// Regions of the program that a rank numbers: instrumented functions that run, and marked regions.
/// Others are [`RegionId::OTHERS`].
///
/// [`RegionId::OTHERS`]: crate::ids::RegionId::OTHERS
pub const REGIONS_MAX: u16 = 8192;
const _: () = assert!(REGIONS_END + REGIONS_MAX < crate::ids::RegionId::OTHERS.0);
const _: () = assert!(crate::mpi::FUNCTIONS.len() <= REGIONS_END as usize);

/// Upper bound of a call's bytes, its parts apart: token, kind, region, communicator, peer, tag,
/// bytes twice, site, time, duration, ordinal, number of parts.
pub const MAX_CALL_BYTES: usize = 2 + 12 * varint::MAX_BYTES;
/// Upper bound of a part's bytes.
pub const MAX_PART_BYTES: usize = 2 + 9 * varint::MAX_BYTES;
/// No record carries more parts; what is beyond follows in continuations.
pub const MAX_PARTS: usize = 256;

/// What a record's facts mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// Enter and leave; `comm` where the call has one. One-sided calls have a target as `peer` and
    /// bytes, calls of files bytes, and probes `peer` and `tag` of the message found.
    #[default]
    Plain = 0,
    /// A message was sent: `peer`, `tag`, `bytes_out`.
    Send = 1,
    /// A message was received: `peer` and `tag` as in the status, `bytes_in`.
    Recv = 2,
    /// A send was posted under the location's next request number.
    PostSend = 3,
    /// A receive was posted under the location's next request number; `bytes_in` is the room for
    /// it.
    PostRecv = 4,
    /// A collective: `peer` is the root (or -1), `bytes_out` and `bytes_in` are this rank's share.
    Collective = 5,
    /// A non-blocking collective was posted under the location's next request number.
    PostCollective = 6,
    /// A posted send is complete (as a part only, like the next three).
    CompletedSend = 7,
    /// A posted receive is complete: `peer`, `tag` and `bytes_in` as in the status.
    CompletedRecv = 8,
    /// A posted collective is complete.
    CompletedCollective = 9,
    /// A request ended without its operation: cancelled, or freed while active.
    CompletedNothing = 10,
}

impl RecordKind {
    pub(crate) const ALL: [RecordKind; 11] = [
        RecordKind::Plain,
        RecordKind::Send,
        RecordKind::Recv,
        RecordKind::PostSend,
        RecordKind::PostRecv,
        RecordKind::Collective,
        RecordKind::PostCollective,
        RecordKind::CompletedSend,
        RecordKind::CompletedRecv,
        RecordKind::CompletedCollective,
        RecordKind::CompletedNothing,
    ];

    /// Whether it takes a request number.
    #[inline(always)]
    pub const fn posts(self) -> bool {
        matches!(
            self,
            RecordKind::PostSend | RecordKind::PostRecv | RecordKind::PostCollective
        )
    }

    /// Whether it completes a request.
    #[inline(always)]
    pub const fn completes(self) -> bool {
        self as u8 >= RecordKind::CompletedSend as u8
    }

    /// Whether it carries its instance number on its communicator.
    #[inline(always)]
    pub const fn has_ordinal(self) -> bool {
        matches!(self, RecordKind::Collective | RecordKind::PostCollective)
    }
}

/// The facts of a call or of one of its parts. In this order of fields, not the widest first,
/// places read them fastest.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts {
    /// What the other fields mean.
    pub kind: RecordKind,
    /// The function, below [`REGIONS_END`].
    pub region: RegionId,
    /// The communicator, as this rank numbers it.
    pub comm: CommLocal,
    /// The message's tag.
    pub tag: i32,
    /// Peer or root as a rank *in that communicator*; negative values as in [`crate::mpi::peer`].
    pub peer: i32,
    /// Bytes that left this rank.
    pub bytes_out: u64,
    /// Bytes that came to this rank.
    pub bytes_in: u64,
    /// Where the call was made, or the one that posted what is completed here.
    pub site: SiteId,
}

/// One call: what the wrapper knew at its leave. Times in ticks of the node's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// What was called with which facts.
    pub facts: Facts,
    /// When it left.
    pub end: u64,
    /// How long it took.
    pub duration: u64,
    /// The instance number of a collective on its communicator, else 0.
    pub ordinal: u64,
    /// The request number, where `facts.kind` posts, else 0.
    pub request: u64,
}

/// Something else that a call did: a message of `MPI_Sendrecv`, a request that `MPI_Startall`
/// posted or that `MPI_Waitall` completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// What was done; a completion repeats its operation's region and facts.
    pub facts: Facts,
    /// The request number where the kind posts or completes, else 0.
    pub request: u64,
    /// When a completed operation was posted, else 0.
    pub posted: u64,
}

/// The state that writer and reader keep alike, each with facts in its own form: the writer as
/// words.
///
/// What every record needs lies together, before the dictionary, and each of its slots in one cache
/// line.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
struct Context<F> {
    time: u64,
    next_request: u64,
    last_completed: u64,
    ordinal: u64,
    dictionary: [F; DICTIONARY_SLOTS],
}

impl<F: Copy + Default> Context<F> {
    fn new(base_time: u64, next_request: u64) -> Self {
        Context {
            time: base_time,
            next_request,
            last_completed: next_request,
            ordinal: 0,
            dictionary: [F::default(); DICTIONARY_SLOTS],
        }
    }
}
