//! What the place answers about itself and its ranks.

use super::{Life, Now, Place};
use invivo_mpi_link::clock;
use invivo_proto::control::results::{Coverage, JobStatus, RankState};
use invivo_proto::ids::Rank;

impl Place {
    /// How much of the truth an answer is.
    pub(super) fn coverage(&self, now: Now) -> Coverage {
        let mut coverage = Coverage {
            tool_cpu_ns: clock::cpu_ns(),
            ..Coverage::default()
        };
        for one in &self.ranks {
            one.records.add_coverage(
                now.ticks,
                |ticks| self.feed.analyses.clock().duration_ns(ticks),
                &mut coverage,
            );
            invivo_tbon::coverage::add(&mut coverage.ledger, &one.records.ledger());
        }
        coverage
    }

    /// Time since the first rank was seen, or since the first call that it was ahead with by then.
    fn observed_ns(&self, now: Now) -> u64 {
        let seen = self
            .seen_ns
            .map_or(0, |seen_ns| now.ns.saturating_sub(seen_ns));
        let analyses = &self.feed.analyses;
        let begun = analyses.begun().map_or(0, |ticks| {
            analyses
                .clock()
                .duration_ns(now.ticks.saturating_sub(ticks))
        });
        seen.max(begun)
    }

    /// What the ranks are doing.
    pub(super) fn status(&self, now: Now) -> JobStatus {
        let seen = self
            .ranks
            .iter()
            .filter(|one| one.life != Life::Absent)
            .count();
        let mut status = JobStatus {
            recording: self
                .recording
                .status(&self.moment(now), &self.feed.cuts, seen as u32),
            pause: self.pauses.status(now.ns),
            observed_ns: self.observed_ns(now),
            notes: self.feed.notes.sentences(),
            ..JobStatus::default()
        };
        for (rank, one) in (self.first..).map(Rank).zip(&self.ranks) {
            let mut line = one.records.status(now.ticks, self.feed.analyses.clock());
            line.mpi_ns = line.mpi_ns.saturating_add(self.feed.analyses.mpi_ns(rank));
            line.state = state(one.life, line.state, status.pause.is_some());
            status.states[line.state as usize] += 1;
            status.named.push(line);
        }
        invivo_analysis::status::keep_worst(&mut status.named);
        status
    }
}

/// What a rank is doing, by its life and by what its page says.
pub(super) fn state(life: Life, said: RankState, is_paused: bool) -> RankState {
    match (life, said) {
        (Life::Absent, _) => RankState::Starting,
        (Life::Finished | Life::Ending, _) => RankState::Finished,
        // Wherever it is, it gets no further than the end of its call.
        (Life::Alive, RankState::Computing | RankState::InMpi) if is_paused => RankState::Paused,
        (Life::Alive, state) => state,
    }
}
