//! What happened in a simulated job, written down for the checker.

use crate::agenda::Time;
use crate::faults::Fault;
use invivo_proto::control::results::{Coverage, RankState};
use invivo_proto::control::tree::{Acks, Partial};
use invivo_proto::ids::{CommId, CommandId, Rank, WaveId, WorldRank};
use invivo_proto::record::Call;
use invivo_tbon::node::Ignored;
use invivo_tbon::root::{Ask, Refusal};
use std::collections::BTreeMap;

/// Something asked from above.
#[derive(Clone, Debug)]
pub struct Asked {
    /// When.
    pub at: Time,
    /// What.
    pub what: Ask,
    /// The wave that it began, if it was a question.
    pub wave: Option<WaveId>,
    /// What came back, and when: once, if all is well.
    pub delivered: Vec<(Time, Delivery)>,
}

/// What came back.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// A merged answer.
    Answer {
        /// The answer.
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

/// What a place had in hand when it answered a question.
#[derive(Clone, Debug)]
pub struct InHand {
    /// What it said of its records.
    pub coverage: Coverage,
    /// The calls that its analyses had been fed with.
    pub calls: Vec<(Rank, Call)>,
    /// What its ranks were doing.
    pub states: Vec<(Rank, RankState)>,
}

/// How a command went on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// Done as soon as the rank leaves its call.
    HeldInMpi,
    /// Done but for some threads.
    Partly,
    /// Not done.
    Failed,
}

/// How a command went on a rank, and how long that took.
pub type OnRank = (Rank, Outcome, Time);

/// All that happened.
#[derive(Debug, Default)]
pub struct History {
    /// In the order of the asks.
    pub asks: Vec<Asked>,
    /// What each place had in hand for each wave.
    pub in_hand: BTreeMap<(WaveId, WorldRank), InHand>,
    /// How each command went on the ranks of each place.
    pub outcomes: BTreeMap<(CommandId, WorldRank), Vec<OnRank>>,
    /// Commands in the order in which the root passed them on.
    pub command_order: Vec<CommandId>,
    /// Commands done on each rank, in order.
    pub done: BTreeMap<Rank, Vec<CommandId>>,
    /// When a process took the root for lost.
    pub root_lost: BTreeMap<WorldRank, Vec<Time>>,
    /// Who was told to leave.
    pub left: BTreeMap<WorldRank, Time>,
    /// Ranks that ended by themselves, as their places saw it.
    pub ended: Vec<Rank>,
    /// Ranks that ended by themselves, as the root heard it.
    pub ended_at_root: Vec<Rank>,
    /// Communicators whose group a place reported.
    pub groups: Vec<CommId>,
    /// Communicators whose group the root heard of.
    pub groups_at_root: Vec<CommId>,
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
            .filter(|fault| fault.who == who && matches!(fault.what, crate::faults::Ailment::Death { .. }));
        deaths.map(|fault| fault.at).min()
    }

    /// Whether something was wrong with `who` that can keep back an answer asked for at `from` and given at `to`.
    pub fn troubled(&self, who: WorldRank, from: Time, to: Time) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.who == who && fault.touches(from, to))
    }
}
