//! Answers about hangs: what each rank's pending call needs, and the diagnosis of the job.
//!
//! Durations are in nanoseconds.

use crate::ids::{CommId, Rank, RegionId};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};

/// Kinds of waiting that an answer distinguishes: a job that hangs has a handful, one with a
/// collective on each row of a large grid some hundred. Those beyond are in no class, and counted
/// by what is missing to all ranks.
pub const CLASSES_MAX: usize = 256;
/// Ranks that a class names: all of them in the small class, which is the one to look at.
pub const NAMED_MAX: usize = 64;
/// Ranks whose pending call is given in full: those that wait for messages first, and of these the
/// longest.
pub const PENDING_MAX: usize = 1024;
/// Operations listed of one rank: what its call waits for first.
pub const OPERATIONS_MAX: usize = 32;
/// Communicators of a rank whose collectives are listed.
pub const PASSED_MAX: usize = 16;
/// Bytes of a call site's text.
pub const SITE_BYTES_MAX: usize = 256;

/// What a rank is doing, as far as ranks that do the same are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Doing {
    /// Before `MPI_Init` is complete.
    Starting,
    /// In its own code.
    Computing,
    /// After `MPI_Finalize`, or ended.
    Finished,
    /// Held by the gate or stopped: by us, so nothing follows from it.
    Held,
    /// In a call that is young, or of which no more is known than its name (0: not even that). It
    /// may come back.
    InMpi(RegionId),
    /// In a call that waits for messages or requests.
    Messages(RegionId),
    /// In a blocking collective.
    Collective(CollectiveCall),
}

/// A collective as one of its ranks called it. Ranks that called the same one agree in everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct CollectiveCall {
    /// On which communicator.
    pub comm: CommId,
    /// Its number among the collectives on this communicator.
    pub ordinal: u64,
    /// What was called.
    pub region: RegionId,
    /// The root as a rank of the communicator, or a special peer.
    pub root: i32,
    /// On which of the communicator's windows and files, counted from 1; 0 for one that is on none,
    /// [`MAKING`] where one is made.
    pub shared: u32,
}

/// As [`CollectiveCall::shared`] of a call that makes a window or a file.
pub const MAKING: u32 = u32::MAX;
/// Windows and files of a rank that are listed.
pub const SHARED_MAX: usize = 16;

/// Ranks that do the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct RankClass {
    pub ranks: u32,
    /// The lowest of them, [`NAMED_MAX`] at most.
    pub named: Vec<Rank>,
    /// How long the one that came last has been doing it.
    pub shortest_ns: u64,
    /// How long the one that came first has been doing it.
    pub longest_ns: u64,
    /// The source line of the lowest rank of which it is known.
    pub site: Option<(Rank, String)>,
}

/// One rank's pending call.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Pending {
    pub rank: Rank,
    /// What it waits for: [`Doing::Messages`] or [`Doing::Collective`].
    pub doing: Doing,
    pub since_ns: u64,
    /// How long no thread of the rank has done anything new.
    pub quiet_ns: u64,
    /// Its other threads.
    pub threads: Threads,
    /// Of operations that it waits for, one is enough.
    pub any: bool,
    /// What the call waits for, and what else the rank has posted.
    pub operations: Vec<Operation>,
    /// There are more operations than are listed.
    pub more_operations: bool,
    /// Collectives that the rank is through with, by communicator: their number is that of the next
    /// one.
    pub passed: BTreeMap<CommId, u64>,
    /// The same of windows and files, by communicator and number; of what makes them by [`MAKING`].
    pub passed_shared: BTreeMap<(CommId, u32), u64>,
    /// Whose parts of which windows it has locked.
    pub locked: Vec<(CommId, u32, Rank)>,
    /// Where in the application's source the call is.
    pub site: Option<String>,
}

/// Threads of a rank beside the one whose call is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Threads {
    /// Those that are in MPI, too.
    pub in_mpi: u32,
    /// Those that have called MPI and are in the program's own code.
    pub outside: u32,
    /// They may call MPI while the other one is in it.
    pub may_go_on: bool,
}

/// A message that is not complete, as one side knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Operation {
    /// The pending call waits for it.
    pub waited: bool,
    pub side: Side,
    pub peer: Partner,
    /// On which communicator.
    pub comm: CommId,
    /// The tag, or `MPI_ANY_TAG` as [`crate::mpi::ANY_TAG`].
    pub tag: i32,
}

impl Operation {
    /// The collective that it is, if it is one.
    pub fn collective(&self) -> Option<CollectiveCall> {
        let Side::Collective {
            ordinal,
            region,
            root,
        } = self.side
        else {
            return None;
        };
        Some(CollectiveCall {
            comm: self.comm,
            ordinal,
            region,
            root,
            shared: 0,
        })
    }
}

/// Which side of a message an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Side {
    Send,
    Recv,
    /// It only looks whether there is a message, and takes none.
    Probe,
    /// Something else: it may complete for all that we know.
    Other,
    /// A non-blocking collective, which has begun here.
    Collective {
        /// As in [`CollectiveCall`].
        ordinal: u64,
        /// What began it.
        region: RegionId,
        /// As in [`CollectiveCall`].
        root: i32,
    },
    /// The peer's part of a window, which somebody else may have locked.
    Window {
        /// As in [`CollectiveCall`].
        shared: u32,
    },
}

/// Whom an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Partner {
    /// This rank of the application.
    Rank(Rank),
    /// Any rank of the communicator.
    Any,
    /// Nobody (`MPI_PROC_NULL`).
    Nobody,
    /// Somebody whom no definition names.
    Unknown,
}

/// What some ranks wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Hang {
    /// Ranks by what they do, [`CLASSES_MAX`] at most: the first in their order.
    pub classes: BTreeMap<Doing, RankClass>,
    /// Pending calls, [`PENDING_MAX`] at most.
    pub pending: Vec<Pending>,
    /// Ranks that this is about, those in no class included.
    pub ranks: u32,
    /// Of these, ranks whose calls are not recorded, and that have not been looked at for long
    /// enough to tell whether they go on.
    pub watched: u32,
}

/// What follows from who waits for whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Verdict {
    /// Nobody waits: ranks compute, or have finished.
    #[default]
    Computing,
    /// Calls are pending that may come back for all that is known.
    Moving,
    /// Some ranks wait for ranks that compute.
    Waiting,
    /// Some ranks can never go on, whatever the others do.
    Deadlock,
}

/// The condensed answer: what is the matter, with one representative of everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Diagnosis {
    pub verdict: Verdict,
    /// The same in a sentence.
    pub sentence: String,
    /// Ranks that can never go on, among those whose calls are given in full.
    pub stuck: u32,
    /// Why, most telling first; [`FINDINGS_MAX`] at most.
    pub findings: Vec<Finding>,
    /// How long the rank that made progress last has not made any.
    pub quiet_ns: u64,
}

/// Findings of one answer: each has a cause of its own, and a job rarely has two.
pub const FINDINGS_MAX: usize = 8;
/// Links of a cycle that are listed; of longer ones the first.
pub const LINKS_MAX: usize = 16;

/// One reason why ranks do not go on.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Finding {
    /// Ranks called different collectives in the same place of a communicator's order, or with
    /// different roots.
    Mismatch {
        /// What was called, by how many, and who did; the largest first.
        calls: Vec<Called>,
    },
    /// Each waits for the next and the last for the first.
    Cycle {
        /// The ranks in order, the lowest first.
        links: Vec<Link>,
        /// How many ranks are in it.
        length: u32,
    },
    /// A call needs a rank that has finished.
    Finished {
        link: Link,
        /// How many ranks wait like this.
        ranks: u32,
    },
    /// A collective lacks ranks.
    Missing {
        /// What was called, and who did.
        called: Called,
        /// Ranks of the communicator that have not called it; 0 where its group is not known.
        missing: u32,
        /// Who they are and what they do instead, as far as is known; the lowest.
        absent: Vec<Link>,
    },
    /// A message lacks its other side.
    Unmatched {
        link: Link,
        /// How many ranks wait for the same rank.
        ranks: u32,
    },
}

/// A collective and who called it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Called {
    pub collective: CollectiveCall,
    pub ranks: u32,
    /// The lowest of them, [`NAMED_MAX`] at most.
    pub named: Vec<Rank>,
    pub site: Option<String>,
}

/// One rank, what it is doing, and for whom it waits there.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Link {
    pub rank: Rank,
    pub doing: Doing,
    pub since_ns: u64,
    pub site: Option<String>,
    /// The operation that it waits for, where it waits for a message.
    pub operation: Option<Operation>,
    /// Whom it waits for.
    pub waits_for: Option<Rank>,
    /// Its other threads.
    pub threads: Threads,
}
