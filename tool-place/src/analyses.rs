//! The analyses of one place: each gets every call of every rank, and queries read their results.

use crate::time_point::{Now, TimePoint};
use crate::traffic::{Traffic, When};
use invivo_analysis::communicators::Communicators;
use invivo_analysis::functions::Functions;
use invivo_analysis::groups::{self, Groups};
use invivo_analysis::matrix::MatrixLeaf;
use invivo_analysis::pauses::Pauses;
use invivo_mpi_link::clock::NodeClock;
use invivo_proto::control::results::{FunctionTable, Matrix, Messages};
use invivo_proto::definition::{Definition, DefinitionError};
use invivo_proto::ids::{CommId, CommLocal, Rank, WorldRank};
use invivo_proto::mpi::is_initialisation;
use invivo_proto::record::{Call, Part};
use invivo_tbon::clock::JobClock;
use invivo_tbon::layout::Layout;

/// The analyses of one place.
pub struct Analyses {
    clock: NodeClock,
    functions: Functions,
    matrix: MatrixLeaf,
    traffic: Traffic,
    /// Groups that came since they were last sent up.
    groups: Groups,
    /// Ranks that the job has.
    job_ranks: u32,
    first: u32,
    ranks: Vec<OfRank>,
    /// Resets made so far.
    resets: u64,
    /// See [`Analyses::begun`].
    begun: Option<u64>,
}

#[derive(Default)]
struct OfRank {
    pauses: Pauses,
    mpi_ns: u64,
    /// Its first call has come.
    begun: bool,
}

impl Analyses {
    /// Of the place `me` in this layout.
    pub fn new(layout: Layout, me: WorldRank, clock: NodeClock) -> Analyses {
        let ranks = layout.ranks_of(me);
        Analyses {
            clock,
            functions: Functions::default(),
            matrix: MatrixLeaf::default(),
            traffic: Traffic::new(layout, me),
            groups: Groups::new(),
            job_ranks: layout.app(),
            first: ranks.start,
            ranks: ranks.map(|_| OfRank::default()).collect(),
            resets: 0,
            begun: None,
        }
    }

    /// The node's clock.
    pub fn clock(&self) -> &NodeClock {
        &self.clock
    }

    /// The node's clock was measured again.
    pub fn set_clock(&mut self, clock: NodeClock) {
        self.clock = clock;
    }

    /// Time has passed; job time is known as well as it can be now.
    pub fn set_time(&mut self, now: Now, job: &JobClock) {
        self.traffic
            .set_time(&TimePoint::new(now, &self.clock, job));
    }

    /// Messages on their way to other places.
    pub fn traffic(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    /// Where a rank's calls go. The rank must be one of this place's.
    pub fn sink(&mut self, rank: Rank) -> OneSink<'_> {
        OneSink {
            rank,
            index: (rank.0 - self.first) as usize,
            analyses: self,
        }
    }

    /// Forgets all calls, if a reset has taken effect that was not made here: the last one at
    /// `at_ns`, in job time. Definitions stay, and pauses.
    pub fn forget_to(&mut self, resets: u64, at_ns: u64) {
        if self.resets != resets {
            self.resets = resets;
            self.functions.reset();
            self.matrix.reset();
            self.traffic.reset(at_ns);
            // `begun` stays: it is the job's beginning, not that of the recording.
            self.ranks.iter_mut().for_each(|of_rank| of_rank.mpi_ns = 0);
        }
    }

    /// A rank defined something.
    ///
    /// # Errors
    /// When the definition is malformed.
    pub fn define(
        &mut self,
        rank: Rank,
        definition: &Definition<'_>,
    ) -> Result<(), DefinitionError> {
        self.matrix.learn(rank, definition);
        // Sends that waited for a communicator's definition are looked through again.
        self.traffic.define();
        groups::learn(&mut self.groups, definition)
    }

    /// What the ranks defined of their communicators.
    pub fn communicators(&self) -> &Communicators {
        self.matrix.communicators()
    }

    /// A rank's pause begins, in ticks.
    pub fn pause(&mut self, rank: Rank, at: u64) {
        self.ranks[(rank.0 - self.first) as usize].pauses.begin(at);
        self.traffic.pause(at, &self.clock);
    }

    /// All pauses in force end, in ticks.
    pub fn resume(&mut self, at: u64) {
        self.ranks
            .iter_mut()
            .for_each(|of_rank| of_rank.pauses.end(at));
        self.traffic.resume(at, &self.clock);
    }

    /// When the first rank had begun, in ticks: behind its initialisation, or where its first
    /// recorded call began. The place itself may be busy beginning then, so that ranks are some
    /// calls ahead when it sees them.
    pub fn begun(&self) -> Option<u64> {
        self.begun
    }

    /// Time in MPI of a rank so far, but for its initialisation, in ns.
    pub fn mpi_ns(&self, rank: Rank) -> u64 {
        self.ranks[(rank.0 - self.first) as usize].mpi_ns
    }

    /// Groups that were defined since the last call.
    pub fn take_groups(&mut self) -> Groups {
        std::mem::take(&mut self.groups)
    }

    /// Communicators with unknown members that are to be requested.
    pub fn wanted_groups(&mut self) -> Vec<CommId> {
        self.matrix.wanted()
    }

    /// A peer was met: if nobody knows who it is, its group is wanted.
    pub fn meet(&mut self, rank: Rank, comm: CommLocal, peer: i32) {
        self.matrix.meet(rank, comm, peer);
    }

    /// Members of communicators, as reported by other places.
    pub fn learn_groups(&mut self, groups: Groups) {
        self.matrix.learn_groups(groups);
        self.traffic.define();
    }

    /// What waited for definitions goes on, if some came.
    pub fn resolve(&mut self) {
        self.traffic.resolve(self.matrix.communicators());
    }

    /// Records of a rank were lost before `at`, in ticks.
    pub fn lost(&mut self, rank: Rank, at: u64) {
        self.traffic
            .lost(rank, at, self.matrix.communicators(), &self.clock);
    }

    /// The function table so far, with at most so many rows by rank.
    pub fn functions(&self, rank_rows_max: u32) -> FunctionTable {
        self.functions.to_partial(rank_rows_max)
    }

    /// The communication matrix so far, in at most so many rows and columns.
    pub fn matrix(&self, side_max: u32) -> Matrix {
        self.matrix.to_partial(self.job_ranks, side_max)
    }

    /// Messages so far.
    pub fn messages(&self) -> Messages {
        self.traffic.partial()
    }
}

/// Where one rank's calls go.
pub struct OneSink<'a> {
    rank: Rank,
    index: usize,
    analyses: &'a mut Analyses,
}

impl OneSink<'_> {
    /// A call and its parts; `clipped` where that is only a part of the call.
    #[inline]
    pub fn call(&mut self, call: &Call, parts: &[Part], clipped: bool) {
        let analyses = &mut *self.analyses;
        let of_rank = &mut analyses.ranks[self.index];
        let begin = call.end.saturating_sub(call.duration);
        // Without the time that the rank was paused by us.
        let net = of_rank.pauses.net(begin, call.end);
        let duration_ns = analyses.clock.duration_ns(net.ticks);
        let initialises = is_initialisation(call.facts.region);
        if !of_rank.begun {
            // Observed time begins behind the initialisation, or where a recording that was
            // switched on later begins.
            of_rank.begun = true;
            let begun = if initialises { call.end } else { begin };
            analyses.begun = Some(analyses.begun.map_or(begun, |earlier| earlier.min(begun)));
        }
        if !initialises {
            of_rank.mpi_ns = of_rank.mpi_ns.saturating_add(duration_ns);
        }
        analyses
            .functions
            .record(self.rank, call, parts, duration_ns, clipped);
        analyses.matrix.record(self.rank, call, parts);
    }

    /// More parts of the call before.
    pub fn more(&mut self, parts: &[Part]) {
        self.analyses.functions.record_more(self.rank, parts);
        self.analyses.matrix.record_more(self.rank, parts);
    }

    /// A call and its parts, or more parts of it, for the order of messages alone: whether or not
    /// the rest of the analyses gets it.
    #[inline]
    pub fn messages(&mut self, when: When, call: Option<&Call>, parts: &[Part]) {
        let Analyses {
            traffic,
            matrix,
            clock,
            ..
        } = &mut *self.analyses;
        traffic.record(self.rank, when, call, parts, matrix.communicators(), clock);
    }

    /// As [`Analyses::forget_to`].
    pub fn forget_to(&mut self, resets: u64, at_ns: u64) {
        self.analyses.forget_to(resets, at_ns);
    }
}
