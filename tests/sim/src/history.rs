//! Records what happened in a simulated job, for the checker.

use crate::agenda::Time;
use crate::faults::{Ailment, Fault};
use crate::rank::Done;
use crate::truth::{self, Seen};
use invivo_proto::control::analyses::{AnalysesStatus, AnalysisSet};
use invivo_proto::control::results::{Coverage, RankState};
use invivo_proto::control::tree::{Acks, Cut, Partial, Verb};
use invivo_proto::ids::{CommId, CommandId, Rank, WaveId, WorldRank};
use invivo_proto::record::Call;
use invivo_tbon::limits::GONE_NS;
use invivo_tbon::node::Ignored;
use invivo_tbon::root::{Ask, Refusal};
use std::collections::{BTreeMap, BTreeSet};

/// Something asked from above.
#[derive(Clone, Debug)]
pub struct Asked {
    pub at: Time,
    pub what: Ask,
    /// The wave that it began, if it was a question.
    pub wave: Option<WaveId>,
    /// What came back, and when: once, if all is well.
    pub delivered: Vec<(Time, Delivery)>,
}

impl Asked {
    /// Whether it was refused because of another command under way: it was never given then.
    pub fn is_excluded(&self) -> bool {
        let excluded = |delivery: &Delivery| {
            matches!(
                delivery,
                Delivery::Refused(Refusal::Window { .. } | Refusal::ShuttingDown { .. })
            )
        };
        self.delivered
            .iter()
            .any(|(_, delivery)| excluded(delivery))
    }
}

/// What came back.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// A merged answer.
    Answer {
        partial: Partial,
        /// How much of the truth it is.
        coverage: Coverage,
        /// Who did not answer.
        missing: Vec<WorldRank>,
    },
    /// Merged acknowledgements.
    Acks(Acks),
    /// A refusal.
    Refused(Refusal),
}

/// A call that the analyses of a place were fed with.
#[derive(Clone, Copy, Debug)]
pub struct Fed {
    /// Who called.
    pub rank: Rank,
    /// What, as it was fed; `ordinal` is its number in the rank's log.
    pub call: Call,
    /// It is only a part of it.
    pub clipped: bool,
    /// When it was fed.
    pub at: Time,
}

impl Fed {
    /// What of the call was fed.
    pub fn seen(&self) -> Seen {
        Seen {
            begin: self.call.end - self.call.duration,
            end: self.call.end,
            clipped: self.clipped,
        }
    }
}

/// What a place had in hand when it answered a question.
#[derive(Clone, Debug)]
pub struct InHand {
    /// When it answered.
    pub at: Time,
    /// What it said of its records.
    pub coverage: Coverage,
    /// The calls that its analyses had been fed with since everything was forgotten last.
    pub fed: Vec<Fed>,
    /// Cuts that it had made.
    pub cuts: usize,
    /// Communicators whose members it knew.
    pub groups: BTreeSet<CommId>,
    /// What its ranks were doing.
    pub states: Vec<(Rank, RankState)>,
    /// Ranks whose calls were recorded.
    pub recorded: u32,
    /// Which analyses were on.
    pub analyses: AnalysesStatus,
}

/// How a command went on one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// Done as soon as the rank leaves its call.
    HeldInMpi,
    /// Done but for some threads.
    Partly,
    /// Not done, for this reason.
    Failed(String),
}

/// How a command went on the ranks of a place.
#[derive(Clone, Debug, Default)]
pub struct Obeyed {
    /// When the place could say so.
    pub at: Time,
    /// Rank by rank: how, and how long it took.
    pub ranks: Vec<(Rank, Outcome, Time)>,
    /// Where its cut lay, by the place's own account.
    pub from: Option<Cut>,
    /// Where its second cut lay.
    pub to: Option<Cut>,
    /// When everything in a window had been taken.
    pub complete_ns: u64,
    /// Calls across a cut.
    pub clipped: u64,
    /// Calls not left yet.
    pub open: u64,
}

/// A cut as it was made at one place.
#[derive(Clone, Copy, Debug)]
pub struct CutMade {
    pub place: WorldRank,
    pub at: Time,
    /// When it was to be, in job time.
    pub ordered_ns: u64,
    /// The place says that it was then, in job time.
    pub stated_ns: u64,
    /// And that this may be so far off, in ns.
    pub error_ns: u64,
    /// The place heard of it in time, and was awake.
    pub in_time: bool,
}

/// All that happened.
#[derive(Debug, Default)]
pub struct History {
    /// In the order of the asks.
    pub asks: Vec<Asked>,
    /// What each place had in hand for each wave.
    pub in_hand: BTreeMap<(WaveId, WorldRank), InHand>,
    /// How each command went on the ranks of each place.
    pub obeyed: BTreeMap<(CommandId, WorldRank), Obeyed>,
    /// Commands in the order in which the root passed them on, with what it made of their orders.
    pub given: Vec<(CommandId, Verb)>,
    /// Commands done on each rank, in order.
    pub done: BTreeMap<Rank, Vec<CommandId>>,
    /// What each rank really did.
    pub logs: BTreeMap<Rank, Vec<Done>>,
    /// Records that a place refused as malformed, by their number in the rank's log.
    pub refused: BTreeSet<(Rank, u64)>,
    /// The cuts that each place made.
    pub cuts: BTreeMap<WorldRank, Vec<truth::Cut>>,
    /// The epoch of recording that each place came to.
    pub epochs: BTreeMap<WorldRank, u32>,
    /// The analyses that are on at each place in the end.
    pub analyses: BTreeMap<WorldRank, AnalysisSet>,
    /// Every cut, as the places tell it.
    pub cuts_made: Vec<CutMade>,
    /// Ideas of job time that were off by more than they should be, a sentence each; the first few.
    pub clocks_wrong: Vec<String>,
    /// Ideas of job time that were compared.
    pub clocks_compared: u64,
    /// When each place closed its gates, and until when at most.
    pub leases: BTreeMap<WorldRank, Vec<(Time, Time)>>,
    /// Who stood at a gate, from when to when.
    pub stood: Vec<(Rank, Time, Time)>,
    /// When a process took the root for lost.
    pub root_lost: BTreeMap<WorldRank, Vec<Time>>,
    /// Who was told to leave.
    pub left: BTreeMap<WorldRank, Time>,
    /// Ranks that ended by themselves, as their places saw it.
    pub ended: Vec<Rank>,
    /// Ranks that ended by themselves, as the root heard it.
    pub ended_at_root: Vec<Rank>,
    /// Ranks that the root counted when everybody was there; one entry per time that it said so.
    pub present: Vec<u32>,
    /// When the root said that all was drained.
    pub drained: Vec<Time>,
    /// What each process ignored.
    pub ignored: BTreeMap<WorldRank, Ignored>,
    /// What went wrong, as planned.
    pub faults: Vec<Fault>,
    /// When the last event happened.
    pub ended_at: Time,
    /// The job was still going on when the simulator gave up.
    pub endless: bool,
}

impl History {
    /// When `who` died, if it did.
    pub fn died(&self, who: WorldRank) -> Option<Time> {
        let deaths = self
            .faults
            .iter()
            .filter(|fault| fault.who == who && fault.what == Ailment::Death);
        deaths.map(|fault| fault.at).min()
    }

    /// Whether something was wrong with `who` that can keep back an answer asked for at `from` and
    /// given at `to`, where it takes `settle` until a process that has come back is heard.
    pub fn troubled(&self, who: WorldRank, from: Time, to: Time, settle: Time) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.who == who && fault.touches(from, to, settle))
    }

    /// Whether `who` was silent for so long that what it held may have been given up.
    pub fn was_gone(&self, who: WorldRank) -> bool {
        let long = |fault: &&Fault| match fault.what {
            Ailment::Death => true,
            Ailment::Stall { until } => until - fault.at >= GONE_NS / 2,
            Ailment::Garble(_) => false,
        };
        self.faults
            .iter()
            .filter(|fault| fault.who == who)
            .any(|fault| long(&fault))
    }

    /// Whether `who` stood still at some time between the two.
    pub fn stalled(&self, who: WorldRank, from: Time, to: Time) -> bool {
        self.faults.iter().any(|fault| {
            fault.who == who
                && matches!(fault.what, Ailment::Stall { .. })
                && fault.touches(from, to, 0)
        })
    }
}
