//! Messages from one tool place to another: sends whose receivers report there, and members of
//! collectives.
//!
//! They do not pass the tree between the two. The place of the receiver matches sends with its
//! receives.

use super::VERSION;
use super::meetings::Meetings;
use crate::ids::{CommId, Rank, RegionId, SiteId, WorldRank};
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// The longest message of one place to another: [`ENDPOINTS_MAX`] endpoints with every number as
/// long as it can be.
pub const PEER_BYTES_MAX: usize = 64 * 1024;
/// Endpoints in one message.
pub const ENDPOINTS_MAX: usize = 800;

/// Messages that ranks below one place sent to ranks below another, in the order in which each rank
/// sent them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Endpoints {
    /// [`VERSION`] of the sender: a receiver uses no other.
    pub version: u32,
    /// The place that it comes from.
    pub from: WorldRank,
    /// How far that place's idea of job time may be off, in ns.
    pub clock_error_ns: u64,
    /// The sends, [`ENDPOINTS_MAX`] at most.
    pub sends: Vec<SendEndpoint>,
    /// Of collectives, [`super::meetings::MEETINGS_MAX`] at most; in messages without sends.
    pub meetings: Meetings,
}

/// One message as its sender reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SendEndpoint {
    /// To whom it goes, in the application's world.
    pub destination: Rank,
    /// Who sent it, in the application's world.
    pub sender: Rank,
    /// The communicator; of an intercommunicator, by the id that the sender's side has.
    pub comm: CommId,
    /// The sender's number in that communicator. Receivers know their peers by it, so that no group
    /// is needed to match.
    pub source: u32,
    /// The message's tag.
    pub tag: i32,
    /// Its bytes.
    pub bytes: u64,
    /// The function that sent it, where that is one that may wait for the receiver; else 0.
    pub region: RegionId,
    /// Where that is called, by the sender's own number.
    pub site: SiteId,
    /// When the call that posted it was entered, in job time.
    pub begin_ns: u64,
    /// When that call was left, in job time.
    pub end_ns: u64,
    /// Of a non-blocking send: when that call was entered, in the sender's ticks. Else 0.
    pub posted: u64,
    /// The epoch of recording in which it was sent.
    pub epoch: u32,
    /// Whether it counts.
    pub clipping: Clipping,
}

/// What cuts have made of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Clipping {
    /// All of it lies in what is recorded.
    #[default]
    Whole,
    /// A part of it does: it counts, and its times mean nothing.
    Clipped,
    /// None of it does: it keeps its place in the order of messages, and does not count.
    Outside,
}

impl Endpoints {
    /// Of this version.
    pub fn new(from: WorldRank, clock_error_ns: u64, sends: Vec<SendEndpoint>) -> Endpoints {
        Endpoints {
            version: VERSION,
            from,
            clock_error_ns,
            sends,
            meetings: Meetings::default(),
        }
    }

    /// Of this version, of collectives.
    pub fn of_meetings(from: WorldRank, clock_error_ns: u64, meetings: Meetings) -> Endpoints {
        Endpoints {
            meetings,
            ..Endpoints::new(from, clock_error_ns, Vec::new())
        }
    }
}
