//! A simulated tool place: the ranks that report to it, the analyses, a store of fixed size, and the books.

use crate::agenda::{MS, Time};
use crate::case::{Case, stream};
use crate::history::{InHand, OnRank, Outcome};
use crate::plant::Plant;
use crate::rank::{Deed, Phase, SimRank};
use fastrand::Rng;
use invivo_analysis::functions::Functions;
use invivo_analysis::matrix::MatrixLeaf;
use invivo_analysis::status;
use invivo_proto::control::results::{Coverage, Group, JobStatus, Ledger, RankState, RankStatus};
use invivo_proto::control::tree::{Acks, Command, Ended, FAILURES_MAX, Partial, Query, RankEnded, Up, Verb};
use invivo_proto::ids::{CommId, Rank, RegionId, WorldRank};
use invivo_proto::record::Call;
use invivo_tbon::layout::Layout;
use std::collections::BTreeMap;

/// Why a command is not done on a rank.
pub const FAILURE: &str = "refused in simulation";
/// Calls that a store holds before it reduces itself.
const STORE_CALLS_MAX: u64 = 24;
/// Calls that all stores of a place take up in their whole life; later ones are analysed and not stored.
const BUDGET_CALLS: u64 = 150;
/// The longest that supervisors take to act: well below the tree's time-out for a place.
const ACT_NS_MAX: Time = 400 * MS;

/// The place.
#[derive(Debug)]
pub struct SimPlace {
    ranks: Vec<SimRank>,
    rng: Rng,
    plant: Option<Plant>,
    functions: Functions,
    matrix: MatrixLeaf,
    /// What the analyses were fed with, for the checker.
    fed: Vec<(Rank, Call)>,
    /// Records shipped and not arrived.
    in_transit: u64,
    stored_ever: u64,
    kept: u64,
    reduced: u64,
    dropped: u64,
    reset: u64,
    finished: usize,
    packets: u64,
}

impl SimPlace {
    /// The place at `world`.
    pub fn new(case: &Case, layout: &Layout, world: WorldRank) -> SimPlace {
        let mut rng = stream(case.seed ^ u64::from(world.0), "place");
        let ranks = layout
            .ranks_of(world)
            .map(|rank| SimRank::new(rng.fork(), Rank(rank), case.ranks, case.calls));
        SimPlace {
            ranks: ranks.collect(),
            rng,
            plant: case.plant,
            functions: Functions::default(),
            matrix: MatrixLeaf::default(),
            fed: Vec::new(),
            in_transit: 0,
            stored_ever: 0,
            kept: 0,
            reduced: 0,
            dropped: 0,
            reset: 0,
            finished: 0,
            packets: 0,
        }
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

    /// The communicators that its ranks lead: one each.
    pub fn groups(&self) -> BTreeMap<CommId, Group> {
        self.ranks
            .iter()
            .map(|rank| {
                (
                    CommId {
                        leader: rank.rank,
                        counter: 1,
                    },
                    Group::default(),
                )
            })
            .collect()
    }

    /// Lets a rank do its next thing; who that is, what it did and when to go on.
    pub fn act(&mut self, index: usize, now: Time) -> (Rank, (Deed, Time)) {
        let rank = &mut self.ranks[index];
        let deed = rank.act(now);
        if let Deed::Shipped(calls) = &deed.0 {
            let forgotten = u64::from(self.plant == Some(Plant::LoseRecord));
            self.in_transit += calls.len() as u64 - forgotten;
        }
        (rank.rank, deed)
    }

    /// Takes a packet that came over MPI.
    pub fn receive(&mut self, index: usize, calls: Vec<Call>) {
        self.in_transit = self.in_transit.saturating_sub(calls.len() as u64);
        self.packets += 1;
        self.feed(index, calls);
    }

    /// Takes what a finished rank left in shared memory; how it ended, if that was by itself.
    pub fn take_the_rest(&mut self, index: usize) -> Option<RankEnded> {
        let calls = std::mem::take(&mut self.ranks[index].packet);
        self.feed(index, calls);
        self.finished += 1;
        let rank = &self.ranks[index];
        let ended = RankEnded {
            rank: rank.rank,
            how: Ended::Signal(11),
            inside: Some(RegionId(1)),
        };
        (rank.phase == Phase::Ended).then_some(ended)
    }

    /// Whether nothing will come any more.
    pub fn is_drained(&self) -> bool {
        self.finished == self.ranks.len() && self.in_transit == 0
    }

    fn feed(&mut self, index: usize, calls: Vec<Call>) {
        let rank = self.ranks[index].rank;
        for call in calls {
            if self.rng.u32(..50) == 0 {
                // Refused as malformed.
                self.dropped += 1;
                continue;
            }
            self.functions.record(rank, &call, &[], call.duration);
            self.matrix.record(rank, &call, &[]);
            self.fed.push((rank, call));
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
    pub fn reset(&mut self) {
        self.reset += self.kept + self.reduced;
        (self.kept, self.reduced) = (0, 0);
        (self.functions, self.matrix) = Default::default();
        self.fed.clear();
    }

    /// Answers a question; what it had in hand goes to the checker.
    pub fn answer(&self, query: Query) -> (Partial, InHand) {
        let states: Vec<(Rank, RankState)> = self.ranks.iter().map(|rank| (rank.rank, state(rank))).collect();
        let partial = match query {
            Query::Functions { per_rank } => Partial::Functions(self.functions.to_partial(per_rank)),
            Query::Matrix => Partial::Matrix(self.matrix.to_partial()),
            Query::Status => Partial::Status(self.status(&states)),
        };
        (
            partial,
            InHand {
                coverage: self.coverage(),
                calls: self.fed.clone(),
                states,
            },
        )
    }

    fn status(&self, states: &[(Rank, RankState)]) -> JobStatus {
        let mut status = JobStatus::default();
        for (rank, &(_, state)) in self.ranks.iter().zip(states) {
            status.states[state as usize] += 1;
            status.named.push(RankStatus {
                rank: rank.rank,
                state,
                region: RegionId(0),
                since_ns: 0,
                entered: rank.entered,
                mpi_ns: rank.entered,
            });
        }
        status::keep_worst(&mut status.named);
        status
    }

    fn coverage(&self) -> Coverage {
        let ranks = self.ranks.len() as u32;
        Coverage {
            ranks,
            ranks_reporting: ranks,
            lag_ns: self
                .ranks
                .iter()
                .map(|rank| rank.packet.len() as u64)
                .max()
                .unwrap_or(0),
            ledger: self.books(),
            packets_mpi: self.packets,
            payload_bytes: self.fed.len() as u64,
            ..Coverage::default()
        }
    }

    /// Where the records are: each number from its own counter, none from the others.
    fn books(&self) -> Ledger {
        let mut books = Ledger {
            in_flight: self.in_transit,
            kept: self.kept,
            reduced: self.reduced,
            dropped_by_place: self.dropped,
            reset: self.reset,
            ..Ledger::default()
        };
        for rank in &self.ranks {
            books.entered += rank.entered;
            books.open += rank.open();
            books.in_flight += rank.packet.len() as u64;
            books
                .dropped
                .iter_mut()
                .zip(rank.dropped)
                .for_each(|(sum, dropped)| *sum += dropped);
        }
        books
    }

    /// Does a command on every rank; the acknowledgement, how it went on each rank, and how long it takes.
    pub fn obey(&mut self, now: Time, command: &Command) -> (Acks, Vec<OnRank>, Time) {
        let after = self.rng.u64(..ACT_NS_MAX);
        let mut outcomes = Vec::new();
        for rank in &mut self.ranks {
            let outcome = match self.rng.u32(..20) {
                0 => Outcome::Failed,
                1..5 => Outcome::HeldInMpi,
                5 => Outcome::Partly,
                _ => Outcome::Done,
            };
            rank.held_until = match command.verb {
                Verb::Pause { lease_ns } => now + lease_ns,
                Verb::Resume => now,
            };
            rank.done.push(command.id);
            if self.plant == Some(Plant::DoTwice) {
                rank.done.push(command.id);
            }
            outcomes.push((rank.rank, outcome, self.rng.u64(..=after)));
        }
        (self.acks(&outcomes), outcomes, after)
    }

    fn acks(&self, outcomes: &[OnRank]) -> Acks {
        let mut acks = Acks {
            targets: outcomes.len() as u32,
            ..Acks::default()
        };
        for &(rank, outcome, ns) in outcomes {
            match outcome {
                Outcome::Failed if self.plant == Some(Plant::AckFailure) => acks.done += 1,
                Outcome::Failed if acks.failures.len() < FAILURES_MAX => {
                    acks.failures.push((rank, FAILURE.into()))
                }
                Outcome::Failed => {}
                Outcome::Done => acks.done += 1,
                Outcome::HeldInMpi => (acks.done, acks.held_in_mpi) = (acks.done + 1, acks.held_in_mpi + 1),
                Outcome::Partly => (acks.done, acks.partly) = (acks.done + 1, acks.partly + 1),
            }
            if acks.slowest.is_none_or(|(_, slowest)| ns > slowest) {
                acks.slowest = Some((rank, ns));
            }
        }
        acks
    }
}

fn state(rank: &SimRank) -> RankState {
    match (rank.phase, rank.open()) {
        (Phase::Running, 0) => RankState::Computing,
        (Phase::Running, _) => RankState::InMpi,
        _ => RankState::Finished,
    }
}
