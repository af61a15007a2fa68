//! Answers of a simulated place, and where its records are by its own counters.

use super::SimPlace;
use crate::agenda::Time;
use crate::history::InHand;
use crate::rank::{Phase, SimRank};
use invivo_analysis::{grid, status};
use invivo_proto::control::analyses::AnalysesStatus;
use invivo_proto::control::grid::{Axes, Grid, GridQuery};
use invivo_proto::control::metric::Kind;
use invivo_proto::control::results::{
    Coverage, JobStatus, Ledger, Messages, RankState, RankStatus, Traffic,
};
use invivo_proto::control::tree::{Partial, Query};
use invivo_proto::ids::{Rank, RegionId};

impl SimPlace {
    /// Answers a question; what it had in hand goes to the checker.
    pub fn answer(&self, query: Query, now: Time) -> (Partial, InHand) {
        let states: Vec<(Rank, RankState)> = self
            .ranks
            .iter()
            .map(|rank| (rank.rank, state(rank)))
            .collect();
        let partial = match query {
            Query::Functions { rank_rows_max, .. } => {
                Partial::Functions(self.functions.to_partial(rank_rows_max))
            }
            Query::Matrix { side_max, .. } => {
                Partial::Matrix(self.matrix.to_partial(self.job_ranks, side_max))
            }
            Query::Status => Partial::Status(self.status(&states)),
            Query::Messages { .. } => Partial::Messages(Box::new(self.messages())),
            // Places of the simulation count what is kept and have no buffers.
            Query::Buffers => Partial::Buffers(Default::default()),
            Query::Records { .. } => Partial::Records(Default::default()),
            Query::Timeline { .. } => Partial::Timeline(Default::default()),
            // Nor does anybody stand still there.
            Query::Hang { .. } => Partial::Hang(Default::default()),
            Query::Stacks { .. } => Partial::Stacks(Default::default()),
            Query::Profile { .. } => Partial::Profile(Default::default()),
            Query::Analyses => Partial::Analyses(Box::new(self.analyses())),
            Query::Grid(asked) => Partial::Grid(Box::new(self.grid(&asked))),
            // Their ranks have no program.
            Query::Sites { .. } => Partial::Sites(Default::default()),
            Query::Regions { .. } => Partial::Regions(Default::default()),
            Query::Selection => Partial::Selection(Default::default()),
            Query::Metrics => Partial::Metrics(Default::default()),
            Query::Save(_) => Partial::Saved(Default::default()),
            // Meeting at homes has tests of its own.
            Query::WaitStates { .. } => Partial::WaitStates(Default::default()),
        };

        (
            partial,
            InHand {
                at: now,
                coverage: self.coverage(),
                fed: self.fed.clone(),
                cuts: self.steering.cuts().len(),
                groups: self.groups.clone(),
                states,
                recorded: self.recorded(),
                analyses: self.analyses(),
            },
        )
    }

    /// Matching has tests of its own; here every call that was taken is one message sent, for the
    /// checker to count.
    fn messages(&self) -> Messages {
        Messages {
            sent: Traffic {
                // Matching needs other places; here a sum that must arrive is enough.
                messages: self.fed.len() as u64,
                bytes: 0,
            },
            ..Messages::default()
        }
    }

    /// Calls of each rank, all in the first column, as if each had been recorded for as long.
    fn grid(&self, asked: &GridQuery) -> Grid {
        let axes = Axes::of(asked, self.job_ranks);
        let mut grid = grid::empty(axes);
        for rank in &self.ranks {
            let columns = [(rank.entered, axes.width_ns)];
            grid::add_rank(&mut grid, rank.rank, Kind::Accumulated, columns);
        }
        grid
    }

    /// Of the switches that have been made, whatever the time is.
    fn analyses(&self) -> AnalysesStatus {
        self.switches.status(self.ranks.len() as u32, 0, 0)
    }

    fn recorded(&self) -> u32 {
        self.ranks
            .iter()
            .filter(|rank| rank.control.recording)
            .count() as u32
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
                // Any number that differs between ranks serves to order them.
                mpi_ns: rank.entered,
            });
        }

        status::keep_extremes(&mut status.named);
        status.recording.on = self.recorded();
        status.recording.off = self.ranks.len() as u32 - self.recorded();
        status
    }

    fn coverage(&self) -> Coverage {
        let ranks = self.ranks.len() as u32;
        Coverage {
            ranks,
            ranks_reporting: ranks,
            // Not a time: the tree only takes the maximum.
            lag_ns: self
                .ranks
                .iter()
                .map(|rank| rank.packet.len() as u64)
                .max()
                .unwrap_or(0),
            ledger: self.ledger(),
            packets_mpi: self.received.iter().sum(),
            payload_bytes: self.fed.len() as u64,
            ..Coverage::default()
        }
    }

    /// Where the records are: each number from its own counter, none from the others.
    fn ledger(&self) -> Ledger {
        let mut ledger = Ledger {
            in_flight: self.in_transit,
            kept: self.kept,
            reduced: self.reduced,
            dropped_by_place: self.dropped,
            reset: self.reset,
            ..Ledger::default()
        };

        for rank in &self.ranks {
            ledger.entered += rank.entered;
            ledger.open += rank.open();
            ledger.in_flight += rank.packet.len() as u64;
            ledger
                .dropped
                .iter_mut()
                .zip(rank.dropped)
                .for_each(|(sum, dropped)| *sum += dropped);
        }

        ledger
    }
}

fn state(rank: &SimRank) -> RankState {
    match rank.phase {
        Phase::Starting => RankState::Starting,
        Phase::Drained | Phase::Ended => RankState::Finished,
        Phase::Running if rank.standing.is_some() && rank.has_called() => RankState::Paused,
        Phase::Running if rank.standing.is_some() => RankState::Held,
        Phase::Running if rank.is_inside() => RankState::InMpi,
        Phase::Running => RankState::Computing,
    }
}
