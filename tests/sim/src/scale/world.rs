//! Generates the calls of all ranks as a function of a seed.
//!
//! Every number that differs from rank to rank comes from a permutation `h(j) = (a * j + b) mod M`
//! of the ranks of a kind: seemingly at random, and yet sums, sums of squares, extremes and the
//! worst ranks are known without looking at any rank.

use super::permutation::Permutation;
use crate::case::stream;
use invivo_analysis::grid;
use invivo_proto::control::grid::{Axes, Grid, GridQuery};
use invivo_proto::control::metric::Kind;
use invivo_proto::ids::{CommLocal, Rank, RegionId};
use invivo_proto::mpi::peer;
use invivo_proto::record::{Call, Facts, RecordKind};

/// One rank in so many goes through packets.
pub const FED_EVERY: u32 = 16;
/// Functions that every rank calls; the first sends, the second receives.
pub const FUNCTIONS: u16 = 24;
/// Ranks that every rank sends to, evenly spread over the job.
pub const PARTNERS: u32 = 64;
/// Messages from a rank to each of its partners, where leaf results are generated: some minutes of
/// a real job.
const MESSAGES_GENERATED: u64 = 8192;
/// The same where they go through packets.
const MESSAGES_FED: u64 = 1;
/// Calls of each other function, generated and fed.
const CALLS: [u64; 2] = [8192, 8];
/// Bytes of a message.
pub const MESSAGE_BYTES: u64 = 80 << 10;
/// The shortest duration of a call, in ns; each function has a little more.
const SHORTEST_NS: u64 = 1_000_000;
/// What the slowest rank's calls take longer, in ns, about.
const SPREAD_NS: u64 = 1 << 24;
/// A rank's calls are by turns so much longer and shorter than their mean, in ns.
pub const SWING_NS: u64 = 500;

/// How a rank's results come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the formulas.
    Generated,
    /// Out of packets.
    Fed,
}

impl Source {
    /// Both.
    pub const ALL: [Source; 2] = [Source::Generated, Source::Fed];
}

/// All ranks.
#[derive(Clone, Debug)]
pub struct World {
    /// Ranks of the job: a multiple of [`FED_EVERY`] and of [`PARTNERS`].
    pub ranks: u32,
    /// By source and function.
    slowness: [Vec<Permutation>; 2],
    /// Who has how much time in MPI, of all ranks.
    pub waiting: Permutation,
    /// Who takes how long to do a command, of all ranks.
    pub obeying: Permutation,
}

impl World {
    /// The world of a seed.
    ///
    /// # Panics
    /// When `ranks` is no multiple of [`PARTNERS`].
    pub fn new(ranks: u32, seed: u64) -> World {
        assert!(ranks > 0 && ranks.is_multiple_of(PARTNERS), "{ranks} ranks");
        let mut rng = stream(seed, "scale");
        let slowness = Source::ALL.map(|source| {
            let modulus = u64::from(ranks_of(ranks, source));
            (0..FUNCTIONS)
                .map(|_| Permutation::random(&mut rng, modulus))
                .collect()
        });
        World {
            ranks,
            slowness,
            waiting: Permutation::random(&mut rng, u64::from(ranks)),
            obeying: Permutation::random(&mut rng, u64::from(ranks)),
        }
    }

    /// What some ranks did over time: each another thing in each column.
    pub fn grid(&self, asked: &GridQuery, ranks: impl Iterator<Item = Rank>) -> Grid {
        let axes = Axes::of(asked, self.ranks);
        let mut grid = grid::empty(axes);
        for rank in ranks {
            let value = |column| {
                let other = (rank.0 ^ column) % self.ranks;
                // With a number of bytes that does not depend on how many ranks share a cell.
                (1 << 33) + self.waiting.at(u64::from(other))
            };
            let columns = (0..axes.columns).map(|column| (value(column), axes.width_ns));
            grid::add_rank(&mut grid, rank, Kind::Accumulated, columns);
        }
        grid
    }

    /// Ranks that go through packets.
    pub fn fed(&self) -> u32 {
        self.count(Source::Fed)
    }

    /// Ranks of a source.
    pub fn count(&self, source: Source) -> u32 {
        ranks_of(self.ranks, source)
    }

    /// Ranks of a source below `rank`.
    pub fn below(&self, rank: u32, source: Source) -> u32 {
        let fed = rank.div_ceil(FED_EVERY);
        match source {
            Source::Fed => fed,
            Source::Generated => rank - fed,
        }
    }

    /// Where a rank's results come from.
    pub fn source(&self, rank: Rank) -> Source {
        if rank.0.is_multiple_of(FED_EVERY) {
            Source::Fed
        } else {
            Source::Generated
        }
    }

    /// The `index`th rank of a source.
    pub fn rank(&self, source: Source, index: u64) -> Rank {
        let (index, others) = (index as u32, FED_EVERY - 1);
        match source {
            Source::Fed => Rank(index * FED_EVERY),
            // The inverse of `below`: every block of FED_EVERY ranks begins with a fed one.
            Source::Generated => Rank(index / others * FED_EVERY + index % others + 1),
        }
    }

    /// Calls of `function` by each rank of a source: an even number.
    pub fn calls(&self, source: Source, function: u16) -> u64 {
        if function < 2 {
            u64::from(PARTNERS) * self.messages(source)
        } else {
            CALLS[source as usize]
        }
    }

    /// Messages from a rank of a source to each of its partners.
    pub fn messages(&self, source: Source) -> u64 {
        match source {
            Source::Generated => MESSAGES_GENERATED,
            Source::Fed => MESSAGES_FED,
        }
    }

    /// Who is how slow in a function, of the ranks of a source.
    pub fn slowness(&self, source: Source, function: u16) -> &Permutation {
        &self.slowness[source as usize][usize::from(function)]
    }

    /// What one step of slowness costs, in ns.
    pub fn step_ns(&self, source: Source) -> u64 {
        // The fewer ranks, the wider the steps: durations spread alike in jobs of any size.
        (SPREAD_NS / u64::from(self.count(source))).max(1)
    }

    /// The mean duration of a function's calls on a rank of slowness 0, in ns.
    pub fn base_ns(&self, function: u16) -> u64 {
        SHORTEST_NS + 1000 * u64::from(function)
    }

    /// The mean duration of a function's calls on a rank, in ns.
    pub fn mean_ns(&self, rank: Rank, function: u16) -> u64 {
        let source = self.source(rank);
        let index = u64::from(self.below(rank.0, source));
        let slowness = self.slowness(source, function).at(index);
        self.base_ns(function) + self.step_ns(source) * slowness
    }

    /// The function's number as a region.
    pub fn region(&self, function: u16) -> RegionId {
        RegionId(function + 1)
    }

    /// What one call of a function moves: bytes out and in.
    pub fn bytes(&self, function: u16) -> (u64, u64) {
        match function {
            0 => (MESSAGE_BYTES, 0),
            1 => (0, MESSAGE_BYTES),
            _ if function.is_multiple_of(2) => (MESSAGE_BYTES, MESSAGE_BYTES),
            _ => (0, 0),
        }
    }

    /// A rank's partner: whom it sends to, or (the other way round) receives from.
    pub fn partner(&self, rank: Rank, number: u32, sends: bool) -> Rank {
        let stride = self.ranks / PARTNERS * (number % PARTNERS);
        // Receivers walk the ring backwards, so that each send has its receive.
        let forward = if sends { stride } else { self.ranks - stride };
        Rank((rank.0 + forward % self.ranks) % self.ranks)
    }

    /// The calls of a rank in the order in which they end; `end` and `duration` in ns of its clock.
    pub fn calls_of(&self, rank: Rank) -> impl Iterator<Item = Call> {
        let source = self.source(rank);
        let mut end = 0;
        (0..FUNCTIONS).flat_map(move |function| {
            let mean_ns = self.mean_ns(rank, function);
            let mut calls = Vec::new();
            for number in 0..self.calls(source, function) {
                // Alternately above and below the mean: the variance is then exactly SWING_NS
                // squared.
                let duration = if number % 2 == 0 {
                    mean_ns + SWING_NS
                } else {
                    mean_ns - SWING_NS
                };
                end += duration;
                calls.push(Call {
                    facts: self.facts(rank, function, number),
                    end,
                    duration,
                    ..Call::default()
                });
            }
            calls
        })
    }

    fn facts(&self, rank: Rank, function: u16, number: u64) -> Facts {
        let (bytes_out, bytes_in) = self.bytes(function);
        let kind = match function {
            0 => RecordKind::Send,
            1 => RecordKind::Recv,
            _ if bytes_out > 0 => RecordKind::Collective,
            _ => RecordKind::Plain,
        };

        let peer = if function < 2 {
            let number = (number % u64::from(PARTNERS)) as u32;
            self.partner(rank, number, function == 0).0 as i32
        } else {
            peer::NONE
        };

        Facts {
            kind,
            region: self.region(function),
            comm: CommLocal::WORLD,
            peer,
            tag: 0,
            bytes_out,
            bytes_in,
            ..Facts::default()
        }
    }

    /// A rank's time in MPI, as its status tells, in ns.
    pub fn mpi_ns(&self, rank: Rank) -> u64 {
        (1 << 40) + self.waiting.at(u64::from(rank.0))
    }

    /// How long a rank takes to do a command, in ns.
    pub fn obey_ns(&self, rank: Rank) -> u64 {
        (1 << 20) + self.obeying.at(u64::from(rank.0))
    }
}

fn ranks_of(ranks: u32, source: Source) -> u32 {
    match source {
        Source::Fed => ranks / FED_EVERY,
        Source::Generated => ranks - ranks / FED_EVERY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_one_number_of_its_source() {
        let world = World::new(1024, 3);
        for source in Source::ALL {
            let ranks: Vec<Rank> = (0..u64::from(world.count(source)))
                .map(|index| world.rank(source, index))
                .collect();
            assert!(ranks.is_sorted_by(|a, b| a < b));
            for (index, rank) in ranks.iter().enumerate() {
                assert_eq!(world.source(*rank), source);
                assert_eq!(world.below(rank.0, source) as usize, index);
            }
        }

        assert_eq!(
            world.count(Source::Fed) + world.count(Source::Generated),
            1024
        );
    }

    #[test]
    fn who_is_sent_to_receives() {
        let world = World::new(1024, 3);
        for number in 0..PARTNERS {
            let to = world.partner(Rank(1000), number, true);
            assert_eq!(world.partner(to, number, false), Rank(1000));
        }
    }
}
