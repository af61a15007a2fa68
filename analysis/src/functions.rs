//! The MPI function table: calls, their durations, and bytes, by function and rank.
//!
//! Leaf state: for each rank one row per function that it called, reached through an index by region. The
//! columns are those of mpiP's and Score-P's profiles.
//!
//! **Bytes belong to the operation, not to the call that happens to end it.** What an `MPI_Isend` sends counts
//! in the row of `MPI_Isend` when it is posted; what an `MPI_Irecv` receives counts in the row of `MPI_Irecv`
//! when an `MPI_Wait` completes it, since a completion repeats its operation's region; `MPI_Wait` moves
//! nothing. A persistent send counts under the call that starts it, a persistent receive under the region that
//! its completion names. A message to or from `MPI_PROC_NULL` moves no bytes, a receive counts what came and
//! not the room for it, and an operation that was cancelled receives nothing.

use crate::moments;
use alloc::vec::Vec;
use invivo_proto::control::results::{FunctionStats, FunctionTable};
use invivo_proto::ids::{Rank, RegionId};
use invivo_proto::mpi::peer;
use invivo_proto::record::{Call, Facts, Kind, Part};

const NO_CALLS: FunctionStats = FunctionStats {
    time: moments::EMPTY,
    bytes_out: 0,
    bytes_in: 0,
};

/// The function table of the ranks below one place. Its size is bounded by the number of regions there are.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    ranks: Vec<OfRank>,
    /// Where the rank stands whose call came last: records come in packets, so the next is mostly its too.
    latest: usize,
}

#[derive(Clone, Debug)]
struct OfRank {
    rank: Rank,
    /// By region: the row's number plus one, 0 for none.
    index: Vec<u32>,
    rows: Vec<(RegionId, FunctionStats)>,
}

impl Functions {
    /// Counts a call that took `duration_ns` (pauses subtracted), and its parts.
    #[inline]
    pub fn record(&mut self, rank: Rank, call: &Call, parts: &[Part], duration_ns: u64) {
        let of_rank = self.of_rank(rank);
        let row = of_rank.row(call.facts.region);
        moments::insert(&mut row.time, duration_ns, rank);
        let (bytes_out, bytes_in) = bytes(&call.facts);
        add_bytes(row, bytes_out, bytes_in);
        of_rank.parts(parts);
    }

    /// Counts more parts of a call that was counted before.
    pub fn record_more(&mut self, rank: Rank, parts: &[Part]) {
        self.of_rank(rank).parts(parts);
    }

    /// The table so far, with a row for each rank and function beside the merged ones if asked for.
    pub fn to_partial(&self, per_rank: bool) -> FunctionTable {
        let mut table = FunctionTable::default();
        for of_rank in &self.ranks {
            for (region, stats) in &of_rank.rows {
                add(&mut table, (None, *region), stats);
                if per_rank {
                    add(&mut table, (Some(of_rank.rank), *region), stats);
                }
            }
        }
        table
    }

    #[inline(always)]
    fn of_rank(&mut self, rank: Rank) -> &mut OfRank {
        if self
            .ranks
            .get(self.latest)
            .is_none_or(|latest| latest.rank != rank)
        {
            self.latest = self.find(rank);
        }
        &mut self.ranks[self.latest]
    }

    #[cold]
    fn find(&mut self, rank: Rank) -> usize {
        self.ranks.iter().position(|r| r.rank == rank).unwrap_or_else(|| {
            self.ranks.push(OfRank {
                rank,
                index: Vec::new(),
                rows: Vec::new(),
            });
            self.ranks.len() - 1
        })
    }
}

impl OfRank {
    #[inline(always)]
    fn row(&mut self, region: RegionId) -> &mut FunctionStats {
        let at = match self.index.get(usize::from(region.0)) {
            Some(&number) if number != 0 => number as usize - 1,
            _ => self.new_row(region),
        };
        &mut self.rows[at].1
    }

    #[cold]
    fn new_row(&mut self, region: RegionId) -> usize {
        let at = usize::from(region.0);
        if self.index.len() <= at {
            self.index.resize(at + 1, 0);
        }
        self.rows.push((region, NO_CALLS));
        self.index[at] = self.rows.len() as u32;
        self.rows.len() - 1
    }

    #[inline(always)]
    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            let (bytes_out, bytes_in) = bytes(&part.facts);
            if bytes_out | bytes_in != 0 {
                add_bytes(self.row(part.facts.region), bytes_out, bytes_in);
            }
        }
    }
}

/// What an operation moved by the time of this record: (out, in).
#[inline(always)]
fn bytes(facts: &Facts) -> (u64, u64) {
    match facts.kind {
        Kind::Send | Kind::PostSend if facts.peer != peer::NULL => (facts.bytes_out, 0),
        Kind::Recv | Kind::CompletedRecv if facts.peer != peer::NULL => (0, facts.bytes_in),
        Kind::Collective => (facts.bytes_out, facts.bytes_in),
        Kind::PostCollective => (facts.bytes_out, 0),
        Kind::CompletedCollective => (0, facts.bytes_in),
        _ => (0, 0),
    }
}

#[inline(always)]
fn add_bytes(row: &mut FunctionStats, bytes_out: u64, bytes_in: u64) {
    row.bytes_out = row.bytes_out.saturating_add(bytes_out);
    row.bytes_in = row.bytes_in.saturating_add(bytes_in);
}

fn add(table: &mut FunctionTable, key: (Option<Rank>, RegionId), stats: &FunctionStats) {
    let row = table.rows.entry(key).or_insert(NO_CALLS);
    moments::merge(&mut row.time, &stats.time);
    add_bytes(row, stats.bytes_out, stats.bytes_in);
}

/// Adds the rows of `from`.
pub fn merge(into: &mut FunctionTable, from: FunctionTable) {
    for (key, stats) in from.rows {
        add(into, key, &stats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::tests::nearly_equal;
    use crate::testing::{self, Recorded};
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    /// One pass over everything for each row of the table, by another wording of the rules.
    fn naive(all: &[Recorded], rank: Option<Rank>, region: RegionId) -> FunctionStats {
        let mut row = NO_CALLS;
        for recorded in all.iter().filter(|r| rank.is_none_or(|rank| r.rank == rank)) {
            if recorded.call.facts.region == region {
                moments::insert(&mut row.time, recorded.duration_ns, recorded.rank);
            }
            for facts in recorded.facts().filter(|facts| facts.region == region) {
                let message = facts.peer != peer::NULL;
                row.bytes_out += match facts.kind {
                    Kind::Send | Kind::PostSend => facts.bytes_out * u64::from(message),
                    Kind::Collective | Kind::PostCollective => facts.bytes_out,
                    _ => 0,
                };
                row.bytes_in += match facts.kind {
                    Kind::Recv | Kind::CompletedRecv => facts.bytes_in * u64::from(message),
                    Kind::Collective | Kind::CompletedCollective => facts.bytes_in,
                    _ => 0,
                };
            }
        }
        row
    }

    proptest! {
        #[test]
        fn the_table_equals_a_direct_count(all in testing::recorded(), per_rank: bool) {
            let mut functions = Functions::default();
            for r in &all {
                functions.record(r.rank, &r.call, &r.parts, r.duration_ns);
            }
            let mut expected = BTreeMap::new();
            for r in &all {
                for facts in r.facts() {
                    for rank in [None, Some(r.rank)].into_iter().take(1 + usize::from(per_rank)) {
                        let row = naive(&all, rank, facts.region);
                        if row.time.count + row.bytes_out + row.bytes_in != 0 {
                            expected.insert((rank, facts.region), row);
                        }
                    }
                }
            }
            let table = functions.to_partial(per_rank);
            prop_assert!(table.rows.keys().eq(expected.keys()));
            for (key, row) in &table.rows {
                let other = &expected[key];
                prop_assert_eq!((row.bytes_out, row.bytes_in), (other.bytes_out, other.bytes_in));
                prop_assert!(nearly_equal(&row.time, &other.time), "{row:?} {other:?}");
            }
        }
    }

    const ISEND: RegionId = RegionId(1);
    const IRECV: RegionId = RegionId(2);
    const WAITALL: RegionId = RegionId(3);

    fn facts(kind: Kind, region: RegionId, bytes_out: u64, bytes_in: u64) -> Facts {
        Facts {
            kind,
            region,
            bytes_out,
            bytes_in,
            ..Facts::default()
        }
    }

    #[test]
    fn bytes_belong_to_the_operation() {
        let mut functions = Functions::default();
        let call = |facts| Call {
            facts,
            ..Call::default()
        };
        let part = |facts| Part {
            facts,
            ..Part::default()
        };
        functions.record(Rank(7), &call(facts(Kind::PostSend, ISEND, 100, 0)), &[], 10);
        functions.record(Rank(7), &call(facts(Kind::PostRecv, IRECV, 0, 1000)), &[], 20);
        functions.record(
            Rank(7),
            &call(facts(Kind::Plain, WAITALL, 0, 0)),
            &[
                part(facts(Kind::CompletedSend, ISEND, 100, 0)),
                part(facts(Kind::CompletedRecv, IRECV, 0, 64)),
            ],
            30,
        );
        let rows = functions.to_partial(false).rows;
        let row = |region| {
            let row = &rows[&(None, region)];
            (row.time.count, row.time.sum_ns, row.bytes_out, row.bytes_in)
        };
        assert_eq!(row(ISEND), (1, 10, 100, 0));
        assert_eq!(row(IRECV), (1, 20, 0, 64));
        assert_eq!(row(WAITALL), (1, 30, 0, 0));
        assert_eq!(rows[&(None, WAITALL)].time.max_rank, Rank(7));
    }

    #[test]
    fn messages_to_nobody_move_nothing() {
        let mut functions = Functions::default();
        let to_nobody = Facts {
            peer: peer::NULL,
            ..facts(Kind::Send, ISEND, 100, 0)
        };
        functions.record(
            Rank(0),
            &Call {
                facts: to_nobody,
                ..Call::default()
            },
            &[],
            1,
        );
        let row = functions.to_partial(false).rows[&(None, ISEND)];
        assert_eq!((row.time.count, row.bytes_out), (1, 0));
    }
}
