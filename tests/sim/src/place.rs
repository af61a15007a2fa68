//! A simulated tool place: the ranks that report to it, the analyses, a store of fixed size, and
//! its counters.
//!
//! What it does at a command is in [`commands`] and [`cuts`], the gates of its ranks are in
//! [`gates`] and [`holds`].

mod answers;
mod commands;
mod cuts;
mod gates;
mod holds;
mod lease;
mod replies;
mod steering;

pub use lease::GATE_NS;
pub use steering::{Moment, Reply};

use crate::agenda::Time;
use crate::case::{Case, stream};
use crate::clocks::HostClock;
use crate::groups;
use crate::history::Fed;
use crate::plant::Plant;
use crate::rank::{Control, Deed, Phase, SimRank};
use crate::truth::{Cut, What};
use fastrand::Rng;
use invivo_analysis::functions::Functions;
use invivo_analysis::matrix::MatrixLeaf;
use invivo_analysis::switches::Switches;
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::results::Group;
use invivo_proto::control::tree::{Ended, RankEnded, Up};
use invivo_proto::ids::{CommId, Rank, RegionId, WorldRank};
use invivo_proto::record::Call;
use invivo_tbon::layout::Layout;
use lease::Gates;
use std::collections::{BTreeMap, BTreeSet};
use steering::Steering;

/// Calls that a store holds before it reduces itself.
const STORE_CALLS_MAX: u64 = 24;
/// Calls that all stores of a place take up in their whole life; later ones are analysed and not
/// stored.
const BUDGET_CALLS: u64 = 150;
/// How long ranks that start held stand where no tool process ever says a word, in ns.
const HELD_AT_START_NS: Time = 2_000_000_000;

#[derive(Debug)]
pub struct SimPlace {
    /// Ranks of the job.
    job_ranks: u32,
    ranks: Vec<SimRank>,
    rng: Rng,
    plant: Option<Plant>,
    functions: Functions,
    matrix: MatrixLeaf,
    /// Which analyses are on; those above are fed all the same.
    switches: Switches,
    groups: BTreeSet<CommId>,
    /// What the analyses were fed with, for the checker.
    fed: Vec<Fed>,
    /// Records refused as malformed, for the checker.
    refused: BTreeSet<(Rank, u64)>,
    steering: Steering,
    gates: Gates,
    /// Packets received, by rank.
    received: Vec<u64>,
    /// Records shipped and not arrived.
    in_transit: u64,
    stored_ever: u64,
    kept: u64,
    reduced: u64,
    dropped: u64,
    reset: u64,
    finished: usize,
}

impl SimPlace {
    /// The place at `world`, on a host with this clock.
    pub fn new(case: &Case, layout: &Layout, world: WorldRank, clock: &HostClock) -> SimPlace {
        let mut rng = stream(case.seed ^ u64::from(world.0), "place");
        let start = clock.local(0);
        let control = Control {
            recording: true,
            recording_since: 0,
            gate_until: if case.held {
                start + HELD_AT_START_NS
            } else {
                0
            },
        };

        let job_ranks = case.ranks();
        let ranks: Vec<SimRank> = layout
            .ranks_of(world)
            .map(|rank| SimRank::new(rng.fork(), Rank(rank), job_ranks, case.calls, control))
            .collect();
        let mut place = SimPlace {
            job_ranks,
            received: vec![0; ranks.len()],
            ranks,
            rng,
            plant: case.plant,
            functions: Functions::default(),
            matrix: MatrixLeaf::default(),
            switches: Switches::default(),
            groups: BTreeSet::new(),
            fed: Vec::new(),
            refused: BTreeSet::new(),
            steering: Steering::default(),
            gates: Gates::default(),
            in_transit: 0,
            stored_ever: 0,
            kept: 0,
            reduced: 0,
            dropped: 0,
            reset: 0,
            finished: 0,
        };

        for rank in place.ranks.iter().map(|rank| rank.rank) {
            for definition in groups::definitions(rank, job_ranks) {
                place.matrix.learn(rank, &definition);
            }
        }

        let told = place.groups_told();
        place.learn_groups(told);
        place
    }

    /// Which analyses are on.
    pub fn analyses_on(&self) -> AnalysisSet {
        self.switches.on()
    }

    /// Its ranks.
    pub fn ranks(&self) -> &[SimRank] {
        &self.ranks
    }

    /// Its first word.
    pub fn hello(&self) -> Up {
        Up::Hello {
            ranks: self.ranks.len() as u32,
        }
    }

    /// The communicators that its ranks lead.
    pub fn groups_told(&self) -> BTreeMap<CommId, Group> {
        groups::told(self.ranks.iter().map(|rank| rank.rank), self.job_ranks)
    }

    /// Takes over who is in communicators.
    pub fn learn_groups(&mut self, told: BTreeMap<CommId, Group>) {
        self.groups.extend(told.keys());
        self.matrix.learn_groups(told);
    }

    /// Communicators whose members it would like to know.
    pub fn wanted(&mut self) -> Vec<CommId> {
        self.matrix.wanted()
    }

    /// Records that it refused as malformed.
    pub fn refused(&self) -> &BTreeSet<(Rank, u64)> {
        &self.refused
    }

    /// The epoch that its ranks record in.
    pub fn epoch(&self) -> u32 {
        self.steering.epoch()
    }

    /// The cuts that it made.
    pub fn cuts(&self) -> &[Cut] {
        self.steering.cuts()
    }

    /// Lets a rank do its next thing; what it did and when to go on.
    pub fn act(&mut self, index: usize, now: Time, local: u64) -> (Deed, Time) {
        let deed = self.ranks[index].act(now, local);
        if let Deed::Shipped(calls) = &deed.0 {
            let forgotten = u64::from(self.plant == Some(Plant::LoseRecord));
            self.in_transit += calls.len() as u64 - forgotten;
        }
        deed
    }

    /// Takes a packet that came over MPI.
    pub fn receive(&mut self, index: usize, calls: Vec<Call>, now: Time) {
        // Saturating, because a planted bug makes the sum too small.
        self.in_transit = self.in_transit.saturating_sub(calls.len() as u64);
        self.received[index] += 1;
        self.feed(index, calls, now);
    }

    /// Takes what a finished rank left in shared memory; how it ended, if that was by itself.
    pub fn take_the_rest(&mut self, index: usize, now: Time) -> Option<RankEnded> {
        self.take(index, now);
        self.finished += 1;
        let rank = &self.ranks[index];
        let ended = RankEnded {
            rank: rank.rank,
            // SIGSEGV in an MPI function: what it is makes no difference to the tree.
            how: Ended::Signal(11),
            inside: Some(RegionId(1)),
        };
        (rank.phase == Phase::Ended).then_some(ended)
    }

    /// Takes what lies in a rank's shared memory.
    fn take(&mut self, index: usize, now: Time) {
        let calls = std::mem::take(&mut self.ranks[index].packet);
        self.feed(index, calls, now);
    }

    /// Whether nothing will come any more.
    pub fn is_drained(&self) -> bool {
        self.finished == self.ranks.len() && self.in_transit == 0
    }

    fn feed(&mut self, index: usize, calls: Vec<Call>, now: Time) {
        let rank = self.ranks[index].rank;
        for call in calls {
            // Some records are refused, as malformed ones are, so that this counter is not always
            // 0.
            if self.rng.u32(..50) == 0 {
                self.dropped += 1;
                self.refused.insert((rank, call.ordinal));
                continue;
            }
            let Some((call, clipped)) = self.steering.admit(&call, self.plant) else {
                self.reset += 1;
                continue;
            };
            self.functions
                .record(rank, &call, &[], call.duration, clipped);
            self.matrix.record(rank, &call, &[]);
            self.fed.push(Fed {
                rank,
                call,
                clipped,
                at: now,
            });
            self.store();
        }
    }

    /// A full store gives up its older half.
    fn store(&mut self) {
        if self.stored_ever == BUDGET_CALLS {
            self.dropped += 1;
            return;
        }

        self.stored_ever += 1;
        self.kept += 1;
        if self.kept > STORE_CALLS_MAX {
            // Half at once, as a buffer gives up whole bins and not single records.
            let given_up = self.kept / 2;
            self.reduced += given_up;
            self.kept -= if self.plant == Some(Plant::KeepTwice) {
                given_up - 1
            } else {
                given_up
            };
        }
    }

    /// Forgets all records, on request.
    fn forget(&mut self) {
        if self.plant == Some(Plant::RememberAll) {
            return;
        }
        // What was given up before counts as forgotten, too: it is in no answer any more.
        self.reset += self.kept + self.reduced;
        (self.kept, self.reduced) = (0, 0);
        self.functions.reset();
        self.matrix.reset();
        self.fed.clear();
    }

    /// Switches recording on its ranks.
    fn switch(&mut self, on: bool, local: u64) {
        for rank in &mut self.ranks {
            if on {
                // Before the switch, as in shared memory: who sees the switch must find its time.
                rank.control.recording_since = local;
            }
            rank.control.recording = on;
        }
        self.steering
            .note(if on { What::On } else { What::Off }, local);
    }
}
