//! Answers about waiting with a cause: how long each rank waited in which way, and for whom.
//!
//! Wait states have Scalasca's names and definitions; `docs/manual/wait-states.md` has them in a
//! table.

use super::profile::Past;
use crate::ids::{CommId, Rank, RegionId};
use alloc::collections::BTreeMap;
use bincode::{Decode, Encode};
use core::cmp::Reverse;

/// Rows by rank of an answer, whatever was asked for: twice as many ranks, each with a line for
/// every function that it waits in, some 20 bytes.
pub const RANKS_MAX: u32 = 1024;
/// Communicators of an answer: those with the most waiting. Programs wait on some ten.
pub const COMMUNICATORS_MAX: usize = 64;

/// A way to wait, by Scalasca's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum WaitState {
    /// A receiver waits for the send: from the enter of the call that completes the receive to the
    /// enter of the send; once for a call, the longest where it completes several receives.
    LateSender,
    /// A sender that still waits when the receive is posted: from the enter of its call to the
    /// enter of the call that posts the receive.
    LateReceiver,
    /// A member of an n-to-n operation: from its enter to that of the last member.
    WaitAtNxN,
    /// The same: from the first member's leave to its own.
    NxNCompletion,
    /// A member of a barrier: from its enter to that of the last member.
    WaitAtBarrier,
    /// The same: from the first member's leave to its own.
    BarrierCompletion,
    /// A member of a 1-to-n operation that is not the root: from its enter to the root's.
    LateBroadcast,
    /// The root of an n-to-1 operation: from its enter to the first other member's.
    EarlyReduce,
    /// A member of a scan: from its enter to that of the last member of lower rank.
    EarlyScan,
    /// A part of Late Sender: all of the wait, where another message was received later that had
    /// been sent before the one that was waited for.
    LateSenderWrongOrder,
    /// A part of that: since the other message had been sent, or the first of several.
    LateSenderOtherThere,
}

impl WaitState {
    /// All of them, in the order of their numbers.
    pub const ALL: [WaitState; 11] = [
        WaitState::LateSender,
        WaitState::LateReceiver,
        WaitState::WaitAtNxN,
        WaitState::NxNCompletion,
        WaitState::WaitAtBarrier,
        WaitState::BarrierCompletion,
        WaitState::LateBroadcast,
        WaitState::EarlyReduce,
        WaitState::EarlyScan,
        WaitState::LateSenderWrongOrder,
        WaitState::LateSenderOtherThere,
    ];

    /// Scalasca's name for it.
    pub fn name(self) -> &'static str {
        match self {
            WaitState::LateSender => "Late Sender",
            WaitState::LateReceiver => "Late Receiver",
            WaitState::WaitAtNxN => "Wait at N x N",
            WaitState::NxNCompletion => "N x N Completion",
            WaitState::WaitAtBarrier => "Wait at Barrier",
            WaitState::BarrierCompletion => "Barrier Completion",
            WaitState::LateBroadcast => "Late Broadcast",
            WaitState::EarlyReduce => "Early Reduce",
            WaitState::EarlyScan => "Early Scan",
            WaitState::LateSenderWrongOrder => "Late Sender, Wrong Order",
            WaitState::LateSenderOtherThere => "Late Sender, Other There",
        }
    }

    /// The wait state that this is a part of: its waits are in that one's, so that no sum of all
    /// may have it besides.
    pub fn part_of(self) -> Option<WaitState> {
        match self {
            WaitState::LateSenderWrongOrder | WaitState::LateSenderOtherThere => {
                Some(WaitState::LateSender)
            }
            _ => None,
        }
    }
}

/// Some waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Waited {
    pub waits: u64,
    /// Their sum, in ns.
    pub ns: u64,
    /// The longest, in ns.
    pub max_ns: u64,
    /// Who had it; of equally long ones the lowest rank.
    pub max_rank: Rank,
}

impl Waited {
    /// Of one wait of a rank.
    pub const fn once(ns: u64, rank: Rank) -> Waited {
        Waited {
            waits: 1,
            ns,
            max_ns: ns,
            max_rank: rank,
        }
    }

    /// Adds waits of others.
    pub fn add(&mut self, from: &Waited) {
        let longest = |of: &Waited| (of.max_ns, Reverse(of.max_rank));
        if from.waits > 0 && (self.waits == 0 || longest(from) > longest(self)) {
            (self.max_ns, self.max_rank) = (from.max_ns, from.max_rank);
        }
        self.waits = self.waits.saturating_add(from.waits);
        self.ns = self.ns.saturating_add(from.ns);
    }
}

/// A wait state, and the MPI function in which somebody waits.
pub type Kind = (WaitState, RegionId);

/// What one rank waited, and made others wait, in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Share {
    /// Calls in which it waited.
    pub waits: u64,
    /// For how long, in ns.
    pub ns: u64,
    /// Calls of others that waited for it.
    pub caused: u64,
    /// For how long these waited, in ns, summed over them.
    pub caused_ns: u64,
}

/// One rank's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct RankWaits {
    pub kinds: BTreeMap<Kind, Share>,
}

/// What became of calls of collectives: each is met by those of the other members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Calls {
    /// All members came, and times are known.
    pub met: u64,
    /// All members came; a pause or a cut touches one of them, so that times mean nothing.
    pub untimed: u64,
    /// Others are to come, or their records are missing.
    pub open: u64,
    /// Given up, because there was no room to wait for the others, or to hear of them.
    pub limit: u64,
    /// The communicator was not reported.
    pub unresolved: u64,
    /// On communicators of two groups, or with processes that are no ranks of the job: not
    /// followed.
    pub outside: u64,
}

/// The answer. Its size does not grow with the ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct WaitStates {
    /// As in the question.
    pub ranks_max: u32,
    /// All ranks together.
    pub kinds: BTreeMap<Kind, Waited>,
    /// Those `ranks_max` ranks that waited longest, and those that made others wait longest.
    pub ranks: BTreeMap<Rank, RankWaits>,
    /// Ranks that waited or made others wait.
    pub ranks_total: u32,
    /// By communicator, [`COMMUNICATORS_MAX`] at most.
    pub communicators: BTreeMap<CommId, BTreeMap<WaitState, Waited>>,
    /// The sum of those that were left out.
    pub communicators_left_out: Waited,
    /// Time that somebody caused who could not be told of it, and time that a sender waited who
    /// could not be told, in ns.
    pub unblamed_ns: u64,
    /// Calls of collectives; a non-blocking one is a call when it is completed.
    pub calls: Calls,
    /// How far job time may have been off where members are on different nodes, in ns; waits that
    /// are not longer than that are not claimed.
    pub clock_error_ns: u64,
    /// It is of waiting in this time; otherwise of all.
    pub past: Option<Past>,
}
