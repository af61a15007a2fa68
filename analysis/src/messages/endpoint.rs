//! The two ends of a message, and what keeps messages in order.

use super::marks::{Marks, Side};
use invivo_proto::ids::{CommId, Rank, RegionId};

/// An error of four seconds and more is no knowledge of time: such endpoints are matched, and their
/// times mean nothing beside others.
pub(super) const UNKNOWN_NS: u32 = u32::MAX;

/// Messages that MPI keeps in order: all that one rank sends to another on one communicator with
/// one tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// In the application's world.
    pub destination: Rank,
    /// By the id that the sender's side has.
    pub comm: CommId,
    /// The sender's number in that communicator.
    pub source: u32,
    pub tag: i32,
}

/// A send or a receive; times in job time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// When the call was entered that sent the message, or that completed the receive.
    pub begin_ns: u64,
    /// When that call was left.
    pub end_ns: u64,
    /// When the call was entered that posted it. Of a receive in job time, ns; of a non-blocking
    /// send in the rank's ticks, which name it; of another send 0.
    pub posted: u64,
    pub bytes: u64,
    /// The epoch of recording.
    pub epoch: u32,
    /// How far the times may be off, in ns.
    pub error_ns: u32,
    /// Of a send: who sent it, by its rank. Of a receive: the call that completed several, by its
    /// number ([`super::calls`]); 0 where it completed this one alone.
    pub who: u32,
    /// Of a receive: the function that completed it. Of a send: the function, where it is one that
    /// may wait for the receiver; else 0.
    pub region: RegionId,
    /// Where that is called, and more.
    pub marks: Marks,
}

// Four of them fill three cache lines.
const _: () = assert!(size_of::<Endpoint>() == 48);

impl Endpoint {
    /// Its times were by another clock, of which job time was not known then: `offset_ns` behind
    /// it.
    pub fn shift(&mut self, offset_ns: i64, error_ns: u32) {
        if self.error_ns == UNKNOWN_NS {
            self.begin_ns = self.begin_ns.saturating_add_signed(offset_ns);
            self.end_ns = self.end_ns.saturating_add_signed(offset_ns);
            if self.marks.side() == Side::Receive {
                self.posted = self.posted.saturating_add_signed(offset_ns);
            }
            self.error_ns = error_ns;
        }
    }
}
