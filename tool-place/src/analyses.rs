//! The active analyses of one place: fed with every call of every rank, asked by waves.

use crate::intake::Sink;
use invivo_analysis::functions::Functions;
use invivo_analysis::groups::{self, Groups};
use invivo_analysis::law::Mismatch;
use invivo_analysis::matrix::MatrixLeaf;
use invivo_analysis::pauses::Pauses;
use invivo_mpi_link::clock::NodeClock;
use invivo_proto::control::results::{FunctionTable, MatrixPartial};
use invivo_proto::control::tree::Partial;
use invivo_proto::definition::{Definition, DefinitionError};
use invivo_proto::ids::Rank;
use invivo_proto::record::{Call, Part};
use std::ops::Range;

/// How partial results become one: by the analyses' own law.
pub type Merge = fn(&mut Partial, Partial) -> Result<(), Mismatch>;

/// See the module's head.
pub struct Analyses {
    clock: NodeClock,
    functions: Functions,
    matrix: MatrixLeaf,
    /// Groups that came since they were last sent up.
    groups: Groups,
    first: u32,
    ranks: Vec<OfRank>,
}

#[derive(Default)]
struct OfRank {
    pauses: Pauses,
    mpi_ns: u64,
}

impl Analyses {
    /// Of a place with these ranks.
    pub fn new(ranks: Range<u32>, clock: NodeClock) -> Analyses {
        Analyses {
            clock,
            functions: Functions::default(),
            matrix: MatrixLeaf::default(),
            groups: Groups::new(),
            first: ranks.start,
            ranks: ranks.map(|_| OfRank::default()).collect(),
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

    /// Where a rank's calls go. The rank must be one of this place's.
    pub fn sink(&mut self, rank: Rank) -> OneSink<'_> {
        OneSink {
            rank,
            of_rank: &mut self.ranks[(rank.0 - self.first) as usize],
            clock: &self.clock,
            functions: &mut self.functions,
            matrix: &mut self.matrix,
        }
    }

    /// A rank defined something.
    ///
    /// # Errors
    /// When the definition is malformed.
    pub fn define(&mut self, rank: Rank, definition: &Definition<'_>) -> Result<(), DefinitionError> {
        self.matrix.learn(rank, definition);
        groups::learn(&mut self.groups, definition)
    }

    /// A rank's pause begins, in ticks.
    pub fn pause(&mut self, rank: Rank, at: u64) {
        self.ranks[(rank.0 - self.first) as usize].pauses.begin(at);
    }

    /// All pauses in force end, in ticks.
    pub fn resume(&mut self, at: u64) {
        self.ranks.iter_mut().for_each(|of_rank| of_rank.pauses.end(at));
    }

    /// Time in MPI of a rank so far, in ns.
    pub fn mpi_ns(&self, rank: Rank) -> u64 {
        self.ranks[(rank.0 - self.first) as usize].mpi_ns
    }

    /// Groups that came since this was last asked for.
    pub fn take_groups(&mut self) -> Groups {
        std::mem::take(&mut self.groups)
    }

    /// The function table so far.
    pub fn functions(&self, per_rank: bool) -> FunctionTable {
        self.functions.to_partial(per_rank)
    }

    /// The communication matrix so far.
    pub fn matrix(&self) -> MatrixPartial {
        self.matrix.to_partial()
    }
}

/// Where one rank's calls go.
pub struct OneSink<'a> {
    rank: Rank,
    of_rank: &'a mut OfRank,
    clock: &'a NodeClock,
    functions: &'a mut Functions,
    matrix: &'a mut MatrixLeaf,
}

impl Sink for OneSink<'_> {
    #[inline]
    fn call(&mut self, call: &Call, parts: &[Part]) {
        let net = self
            .of_rank
            .pauses
            .net(call.end.saturating_sub(call.duration), call.end);
        let duration_ns = self.clock.duration_ns(net.ticks);
        self.of_rank.mpi_ns = self.of_rank.mpi_ns.saturating_add(duration_ns);
        self.functions.record(self.rank, call, parts, duration_ns);
        self.matrix.record(self.rank, call, parts);
    }

    fn more(&mut self, _end: u64, parts: &[Part]) {
        self.functions.record_more(self.rank, parts);
        self.matrix.record_more(self.rank, parts);
    }
}
