//! What places tell each other of collectives whose members report to several of them.
//!
//! ```text
//! places of members --- arrivals ---> home      one for each collective, by its number
//! places of members <---- the whole --- home      each charges its own ranks
//! place of a waiter ----- caused ----> place of the causer
//! place of a receiver -- late receiver --> place of the sender that waited for it
//! place of a receiver ---- late post ----> place of the sender, which knows whether it waited
//! ```

use super::wait_states::WaitState;
use crate::ids::{CommId, Rank, RegionId, SiteId};
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// Items in one message, arrivals, wholes, causes, late receivers and late posts, each by the room
/// that it takes: 48 KiB with every number as long as it can be.
pub const MEETINGS_MAX: usize = 512;
/// Steps of a scan that are told: where there are more, those are left out that say least.
pub const STEPS_MAX: usize = 32;
/// Steps that take the room of one more item in a message.
const STEPS_OF_AN_ITEM: usize = 4;

/// A member of a scan that entered later than all members of lower rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Step {
    /// Its rank in the communicator.
    pub member: u32,
    /// Its enter.
    pub enter_ns: u64,
    pub rank: Rank,
}

/// What is known of the members of one collective that have come. Times in job time, ns; the enter
/// of a non-blocking collective is that of the call that posts it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Meeting {
    /// Members that have come and gone again.
    pub arrivals: u32,
    /// The last enter of those that others wait for, and whose; of several the lowest rank's: of
    /// those that move anything, and of n-to-1 operations of those that send, the root apart.
    pub latest: Option<(u64, Rank)>,
    /// The first leave of those that receive anything.
    pub first_leave_ns: Option<u64>,
    /// The root's enter.
    pub root: Option<(u64, Rank)>,
    /// Of a scan, by member: [`STEPS_MAX`] at most.
    pub steps: Vec<Step>,
    /// The times of a member mean nothing.
    pub untimed: bool,
    /// How far any of these times may be off, in ns.
    pub error_ns: u64,
}

/// One collective of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Collective {
    pub comm: CommId,
    /// Its number on that communicator.
    pub ordinal: u64,
}

impl Meeting {
    /// Items of a message whose room it takes.
    pub fn items(&self) -> usize {
        1 + self.steps.len().div_ceil(STEPS_OF_AN_ITEM)
    }
}

/// Members that report to the place that says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Arrived {
    pub of: Collective,
    /// Members of the communicator.
    pub size: u32,
    pub meeting: Meeting,
}

/// All members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Met {
    pub of: Collective,
    pub meeting: Meeting,
}

/// Somebody waited for a rank that reports to the place that hears it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Caused {
    /// Who was waited for.
    pub rank: Rank,
    pub state: WaitState,
    /// The function in which it was waited.
    pub region: RegionId,
    pub waits: u64,
    /// For how long, in ns, summed over those who waited.
    pub ns: u64,
}

/// A rank that reports to the place that hears it waited for a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LateReceiver {
    /// Who waited.
    pub rank: Rank,
    /// For whom.
    pub receiver: Rank,
    /// The communicator, as the sender's side knows it.
    pub comm: CommId,
    /// The function in which it was waited.
    pub region: RegionId,
    /// Where that is called, by the sender's own number.
    pub site: SiteId,
    pub waits: u64,
    /// For how long, in ns, summed.
    pub ns: u64,
    /// The longest, in ns.
    pub max_ns: u64,
    /// When the last of them was over, in job time.
    pub until_ns: u64,
}

/// A receive was posted when the call had returned that posted its non-blocking send, whose rank
/// reports to the place that hears it. Who completes that send may have waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LatePost {
    /// Who sent.
    pub rank: Rank,
    /// Who received.
    pub receiver: Rank,
    /// The communicator, as the sender's side knows it.
    pub comm: CommId,
    /// When the call began that posted the send, in the sender's ticks: it names the send.
    pub send_ticks: u64,
    /// When the call was entered that posted the receive, in job time, ns.
    pub posted_ns: u64,
}

/// Part of a message from one place to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Meetings {
    /// Resets that the place had made when it said this.
    pub resets: u64,
    pub arrived: Vec<Arrived>,
    pub met: Vec<Met>,
    pub caused: Vec<Caused>,
    pub late_receivers: Vec<LateReceiver>,
    pub late_posts: Vec<LatePost>,
}

impl Meetings {
    /// Items of all kinds, by the room that they take.
    pub fn len(&self) -> usize {
        let arrived = self.arrived.iter().map(|of| of.meeting.items());
        let met = self.met.iter().map(|of| of.meeting.items());
        let late = self.late_receivers.len() + self.late_posts.len();
        arrived.chain(met).sum::<usize>() + self.caused.len() + late
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
