//! A place of the large tree: it has some of its ranks by its analyses, the others by the formulas.

use super::packets;
use super::waiting;
use super::world::{FUNCTIONS, PARTNERS, SWING_NS, Source, World};
use invivo_analysis::functions::{self, Functions};
use invivo_analysis::matrix::{self, MatrixLeaf};
use invivo_analysis::messages;
use invivo_analysis::status;
use invivo_proto::control::results::{
    Coverage, FunctionStats, FunctionTable, JobStatus, Ledger, Matrix, Messages, Moments,
    RankState, RankStatus, Traffic,
};
use invivo_proto::control::tree::{Acks, Cut, Partial, Query};
use invivo_proto::ids::Rank;
use invivo_proto::rank_set::RankSet;

/// Records that a rank's buffer keeps; the analyses have seen the others.
const KEPT: u64 = 100;

/// The leaf state of one place.
#[derive(Debug)]
pub struct Leaf {
    ranks: RankSet,
    functions: Functions,
    matrix: MatrixLeaf,
    /// Calls that went through packets.
    pub calls_fed: u64,
    /// Everything so far has been forgotten.
    forgotten: bool,
}

impl Leaf {
    /// Of a place with these ranks, the packets of those that have some already taken.
    pub fn new(world: &World, ranks: RankSet) -> Leaf {
        let (mut functions, mut matrix) = (Functions::default(), MatrixLeaf::default());
        let fed = ranks
            .iter()
            .filter(|&rank| world.source(rank) == Source::Fed);
        let calls_fed = fed
            .map(|rank| {
                let packets = packets::encode(rank, world.calls_of(rank));
                packets::feed(&packets, &mut functions, &mut matrix)
            })
            .sum();
        Leaf {
            ranks,
            functions,
            matrix,
            calls_fed,
            forgotten: false,
        }
    }

    /// Ranks of the place.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Forgets everything; the acknowledgement of it at a cut.
    pub fn reset(&mut self, world: &World, cut: Cut) -> Acks {
        self.functions.reset();
        self.matrix.reset();
        self.forgotten = true;
        let slowest = self.ranks.iter().map(|rank| (rank, world.obey_ns(rank)));
        Acks {
            targets: self.ranks(),
            done: self.ranks(),
            slowest: slowest.max_by_key(|&(rank, ns)| (ns, std::cmp::Reverse(rank))),
            from: Some(cut),
            ..Acks::default()
        }
    }

    /// Its part of an answer.
    pub fn answer(&self, world: &World, query: Query) -> (Partial, Coverage) {
        let partial = match query {
            Query::Functions { rank_rows_max, .. } => {
                Partial::Functions(self.table(world, rank_rows_max))
            }
            Query::Matrix { side_max, .. } => Partial::Matrix(self.traffic(world, side_max)),
            Query::Status => Partial::Status(self.status(world)),
            Query::Messages { .. } => Partial::Messages(Box::new(self.messages(world))),
            Query::Buffers => Partial::Buffers(Default::default()),
            Query::Records { .. } => Partial::Records(Default::default()),
            Query::Timeline { .. } => Partial::Timeline(Default::default()),
            Query::Hang { .. } => Partial::Hang(Default::default()),
            Query::Stacks { .. } => Partial::Stacks(Default::default()),
            Query::Profile { .. } => Partial::Profile(Default::default()),
            Query::Analyses => Partial::Analyses(Default::default()),
            Query::Grid(asked) => Partial::Grid(Box::new(world.grid(&asked, self.ranks.iter()))),
            Query::Sites { .. } => Partial::Sites(Default::default()),
            Query::Regions { .. } => Partial::Regions(Default::default()),
            Query::Selection => Partial::Selection(Default::default()),
            Query::Metrics => Partial::Metrics(Default::default()),
            Query::Save(_) => Partial::Saved(Default::default()),
            Query::WaitStates { ranks_max, .. } => {
                Partial::WaitStates(Box::new(waiting::part(world, self.ranks, ranks_max)))
            }
        };
        (partial, self.coverage(world))
    }

    fn generated(&self) -> impl Iterator<Item = Rank> {
        // After a reset nothing generated is left; fed ranks forgot theirs in the analyses.
        let ranks = if self.forgotten {
            RankSet::from(0..0)
        } else {
            self.ranks
        };
        ranks
            .iter()
            .filter(|rank| !rank.0.is_multiple_of(super::world::FED_EVERY))
    }

    fn table(&self, world: &World, rank_rows_max: u32) -> FunctionTable {
        let mut table = self.functions.to_partial(rank_rows_max);
        for rank in self.generated() {
            functions::merge(&mut table, table_of(world, rank, rank_rows_max));
        }
        table
    }

    fn traffic(&self, world: &World, side_max: u32) -> Matrix {
        let mut sum = self.matrix.to_partial(world.ranks, side_max);
        let block = sum.block_ranks;
        // Merged as a partial of its own, so that the real merge is part of the test.
        let mut generated = Matrix {
            block_ranks: block,
            ..Matrix::default()
        };

        for rank in self.generated() {
            let messages = world.messages(Source::Generated);
            let traffic = Traffic {
                messages,
                bytes: messages * super::world::MESSAGE_BYTES,
            };
            for number in 0..PARTNERS {
                let (to, from) = (
                    world.partner(rank, number, true),
                    world.partner(rank, number, false),
                );
                let sent = generated
                    .sent
                    .entry((rank.0 / block, to.0 / block))
                    .or_default();
                sent.add(traffic);
                let received = generated
                    .received
                    .entry((from.0 / block, rank.0 / block))
                    .or_default();
                received.add(traffic);
            }
        }

        matrix::merge(&mut sum, generated).expect("the same blocks");
        sum
    }

    fn status(&self, world: &World) -> JobStatus {
        let mut status = JobStatus::default();
        for rank in self.ranks.iter() {
            let state = state(rank);
            status.states[state as usize] += 1;
            status.named.push(named(world, rank));
        }
        status::keep_extremes(&mut status.named);
        status.recording.on = self.ranks();
        status
    }

    /// Each rank has sent what its first function did, each message as long under way as that call.
    fn messages(&self, world: &World) -> Messages {
        let mut sum = messages::EMPTY;
        let ranks = if self.forgotten {
            RankSet::from(0..0)
        } else {
            self.ranks
        };

        for rank in ranks.iter() {
            let row = row(world, rank, 0);
            let sent = Traffic {
                messages: row.time.count,
                bytes: row.bytes_out,
            };
            let of_rank = Messages {
                sent,
                received: sent,
                matched: sent,
                transfer: row.time,
                ..messages::EMPTY
            };
            messages::merge(&mut sum, &of_rank);
        }

        sum
    }

    fn coverage(&self, world: &World) -> Coverage {
        let ledger = self
            .ranks
            .iter()
            .map(|rank| ledger(world, world.source(rank)))
            .fold(Ledger::default(), |mut sum, one| {
                invivo_tbon::coverage::add(&mut sum, &one);
                sum
            });
        Coverage {
            ranks: self.ranks(),
            ranks_reporting: self.ranks(),
            lag_ns: 100_000_000,
            ledger,
            packets_mpi: u64::from(self.ranks()),
            buffer_bytes: u64::from(self.ranks()) << 20,
            ..Coverage::default()
        }
    }
}

/// The table of one generated rank.
fn table_of(world: &World, rank: Rank, rank_rows_max: u32) -> FunctionTable {
    let mut table = FunctionTable {
        rank_rows_max,
        rank_rows_total: u64::from(FUNCTIONS),
        ..FunctionTable::default()
    };
    for function in 0..FUNCTIONS {
        let region = world.region(function);
        let row = row(world, rank, function);
        table.rows.insert(region, row);
        table.rank_rows.insert((rank, region), row);
    }
    table
}

/// One rank's row of one function.
pub fn row(world: &World, rank: Rank, function: u16) -> FunctionStats {
    let calls = world.calls(world.source(rank), function);
    let mean_ns = world.mean_ns(rank, function);
    let (bytes_out, bytes_in) = world.bytes(function);
    FunctionStats {
        time: Moments {
            count: calls,
            sum_ns: calls * mean_ns,
            mean_ns: mean_ns as f64,
            // Every call is SWING_NS away from the mean.
            m2: (calls * SWING_NS * SWING_NS) as f64,
            min_ns: mean_ns - SWING_NS,
            max_ns: mean_ns + SWING_NS,
            max_rank: rank,
        },
        bytes_out: calls * bytes_out,
        bytes_in: calls * bytes_in,
        clipped: 0,
    }
}

/// What a rank is doing: one in four is in MPI.
pub fn state(rank: Rank) -> RankState {
    if rank.0.is_multiple_of(4) {
        RankState::InMpi
    } else {
        RankState::Computing
    }
}

/// A rank's line of the status.
pub fn named(world: &World, rank: Rank) -> RankStatus {
    RankStatus {
        rank,
        state: state(rank),
        region: world.region(0),
        since_ns: world.mean_ns(rank, 0),
        entered: ledger(world, world.source(rank)).entered,
        mpi_ns: world.mpi_ns(rank),
    }
}

/// Where the records of a rank are.
pub fn ledger(world: &World, source: Source) -> Ledger {
    let entered: u64 = (0..FUNCTIONS)
        .map(|function| world.calls(source, function))
        .sum();
    // One call is open and two are dropped; the rest is split into kept and reduced.
    let kept = KEPT.min(entered - 3);
    Ledger {
        entered,
        open: 1,
        kept,
        reduced: entered - kept - 3,
        dropped: [2, 0, 0],
        ..Ledger::default()
    }
}
