//! The MPI function table: calls, their durations, and bytes, by function and rank.
//!
//! Leaf state: for each rank one row per function that it called, reached through an index by
//! region. The columns are those of mpiP's and Score-P's profiles.
//!
//! **Bytes belong to the operation, not to the call that happens to end it.** What an `MPI_Isend`
//! sends counts in the row of `MPI_Isend` when it is posted; what an `MPI_Irecv` receives counts in
//! the row of `MPI_Irecv` when an `MPI_Wait` completes it, since a completion repeats its
//! operation's region; `MPI_Wait` moves nothing. A persistent send counts under the call that
//! starts it, a persistent receive under the region that its completion names. A message to or from
//! `MPI_PROC_NULL` moves no bytes, a receive counts what came and not the room for it, and an
//! operation that was cancelled receives nothing.

use crate::histogram;
use crate::history::cover;
use crate::moments;
use crate::rank_rows::{RankRows, Sum};
use crate::sums::Sums;
use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::results::{FunctionStats, FunctionTable};
use invivo_proto::ids::{Rank, RegionId};
use invivo_proto::mpi::peer;
use invivo_proto::record::{Call, Facts, Part, RecordKind};

/// Rows by rank of one table, whatever was asked for: 12 MB where every number is as long as it can
/// be, so that a table fits into one control message.
pub const RANK_ROWS_MAX: u32 = 1 << 17;

/// The function table of the ranks below one place. Its size is bounded by the number of regions
/// there are.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    ranks: Vec<OfRank>,
    /// Where the rank stands whose call came last: records come in packets, so the next is mostly
    /// its too.
    latest: usize,
}

#[derive(Clone, Debug)]
struct OfRank {
    rank: Rank,
    /// By region: the row's number plus one, 0 for none.
    index: Vec<u32>,
    rows: Vec<Row>,
}

/// One function on one rank.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub region: RegionId,
    time: Sums,
    bytes_out: u64,
    bytes_in: u64,
    clipped: u64,
}

impl Row {
    pub fn new(region: RegionId) -> Row {
        Row {
            region,
            time: Sums::default(),
            bytes_out: 0,
            bytes_in: 0,
            clipped: 0,
        }
    }

    /// Counts a call of the function, which moved this.
    #[inline(always)]
    pub fn call(&mut self, facts: &Facts, duration_ns: u64, clipped: bool, rank: Rank) {
        self.time.add(duration_ns, rank);
        self.clipped += u64::from(clipped);
        let (bytes_out, bytes_in) = bytes(facts);
        self.add_bytes(bytes_out, bytes_in);
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty() && self.bytes_out | self.bytes_in == 0
    }

    pub fn stats(&self, rank: Rank) -> FunctionStats {
        FunctionStats {
            time: self.time.moments(rank),
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
            clipped: self.clipped,
        }
    }

    #[inline(always)]
    pub fn add_bytes(&mut self, bytes_out: u64, bytes_in: u64) {
        self.bytes_out = self.bytes_out.saturating_add(bytes_out);
        self.bytes_in = self.bytes_in.saturating_add(bytes_in);
    }
}

impl Functions {
    /// Counts a call that took `duration_ns` (pauses subtracted), and its parts. `clipped` where
    /// that is only the part of it behind or before a cut.
    #[inline]
    pub fn record(
        &mut self,
        rank: Rank,
        call: &Call,
        parts: &[Part],
        duration_ns: u64,
        clipped: bool,
    ) {
        let of_rank = self.of_rank(rank);
        // The time belongs to the call that was made, the bytes of its parts to their own regions.
        let row = of_rank.row(call.facts.region);
        row.call(&call.facts, duration_ns, clipped, rank);
        of_rank.parts(parts);
    }

    /// Counts more parts of a call that was counted before.
    pub fn record_more(&mut self, rank: Rank, parts: &[Part]) {
        self.of_rank(rank).parts(parts);
    }

    /// Forgets every call.
    pub fn reset(&mut self) {
        *self = Functions::default();
    }

    /// The rows so far.
    pub fn rows(&self) -> RankRows<RegionId> {
        let of_rank = |of: &OfRank| {
            let rank = of.rank;
            let rows = of.rows.iter();
            let rows = rows.map(move |row| ((rank, row.region), row.stats(rank)));
            rows.collect::<Vec<_>>()
        };
        RankRows::new(self.ranks.iter().flat_map(of_rank).collect())
    }

    /// The rows so far; from now on it counts anew.
    pub fn take(&mut self) -> RankRows<RegionId> {
        let rows = self.rows();
        for of_rank in &mut self.ranks {
            // The memory is used again.
            for row in of_rank.rows.drain(..) {
                of_rank.index[usize::from(row.region.0)] = 0;
            }
        }
        rows
    }

    /// The table so far, as [`table`] makes it.
    pub fn to_partial(&self, rank_rows_max: u32) -> FunctionTable {
        table(&self.rows(), rank_rows_max)
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
        // A linear search: it runs only when the packet of another rank begins, and a place has few
        // ranks.
        self.ranks
            .iter()
            .position(|r| r.rank == rank)
            .unwrap_or_else(|| {
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
    fn row(&mut self, region: RegionId) -> &mut Row {
        let at = match self.index.get(usize::from(region.0)) {
            // Numbers are stored plus one, so that a new index filled with zeros is empty.
            Some(&number) if number != 0 => number as usize - 1,
            _ => self.new_row(region),
        };
        &mut self.rows[at]
    }

    #[cold]
    fn new_row(&mut self, region: RegionId) -> usize {
        let at = usize::from(region.0);
        if self.index.len() <= at {
            self.index.resize(at + 1, 0);
        }
        self.rows.push(Row::new(region));
        self.index[at] = self.rows.len() as u32;
        self.rows.len() - 1
    }

    #[inline(always)]
    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            let (bytes_out, bytes_in) = bytes(&part.facts);
            // An empty message has a row as well: its size is known.
            if bytes_out | bytes_in != 0 || size(&part.facts).is_some() {
                self.row(part.facts.region).add_bytes(bytes_out, bytes_in);
            }
        }
    }
}

/// What an operation moved by the time of this record: (out, in).
#[inline(always)]
pub fn bytes(facts: &Facts) -> (u64, u64) {
    match facts.kind {
        RecordKind::Send | RecordKind::PostSend if facts.peer != peer::NULL => (facts.bytes_out, 0),
        RecordKind::Recv | RecordKind::CompletedRecv if facts.peer != peer::NULL => {
            (0, facts.bytes_in)
        }
        RecordKind::Collective => (facts.bytes_out, facts.bytes_in),
        // One-sided calls and files; other plain calls say 0.
        RecordKind::Plain if facts.peer != peer::NULL => (facts.bytes_out, facts.bytes_in),
        // What a nonblocking collective receives is known only when it completes.
        RecordKind::PostCollective => (facts.bytes_out, 0),
        RecordKind::CompletedCollective => (0, facts.bytes_in),
        _ => (0, 0),
    }
}

/// What an operation moved or is to move, if this record is the one by which it is counted: the
/// larger of what the rank sends and receives. Of messages also the empty ones.
#[inline(always)]
pub fn size(facts: &Facts) -> Option<u64> {
    let (out, into) = match facts.kind {
        // What it will receive is known as well.
        RecordKind::PostCollective => (facts.bytes_out, facts.bytes_in),
        _ => bytes(facts),
    };
    let is_message = match facts.kind {
        RecordKind::Send | RecordKind::PostSend => facts.peer != peer::NULL,
        RecordKind::Recv | RecordKind::CompletedRecv => facts.peer != peer::NULL,
        // It was counted when it was posted.
        RecordKind::CompletedCollective => return None,
        _ => false,
    };
    (is_message || out | into != 0).then_some(out.max(into))
}

/// The table of these rows, with those `rank_rows_max` rows by rank beside the merged ones that
/// have the most time ([`RANK_ROWS_MAX`] at most).
pub fn table(rows: &RankRows<RegionId>, rank_rows_max: u32) -> FunctionTable {
    let mut table = FunctionTable {
        rank_rows_max: rank_rows_max.min(RANK_ROWS_MAX),
        rank_rows_total: rows.len() as u64,
        ..FunctionTable::default()
    };
    for (_, region, stats) in rows.iter() {
        add(table.rows.entry(region).or_default(), stats);
    }
    // Cut at the leaf already: the message must stay small at every layer. The cut is exact,
    // since a rank's row is at one place only.
    let by_rank = rows.iter();
    let mut by_rank = by_rank
        .map(|(rank, region, stats)| ((rank, region), *stats))
        .collect();
    keep_longest(&mut by_rank, table.rank_rows_max);
    table.rank_rows = by_rank.into_iter().collect();
    table
}

impl Sum for FunctionStats {
    fn add(&mut self, from: &FunctionStats) {
        add(self, from);
    }
}

/// Adds `stats` to a row.
pub(crate) fn add(row: &mut FunctionStats, stats: &FunctionStats) {
    moments::merge(&mut row.time, &stats.time);
    row.bytes_out = row.bytes_out.saturating_add(stats.bytes_out);
    row.bytes_in = row.bytes_in.saturating_add(stats.bytes_in);
    row.clipped = row.clipped.saturating_add(stats.clipped);
}

/// One row by rank.
type RankRow = ((Rank, RegionId), FunctionStats);

/// Keeps the rows with the most time; of equal ones those of the lower rank, then of the lower
/// region.
fn keep_longest(rows: &mut Vec<RankRow>, most: u32) {
    let order = |(key, stats): &RankRow| (Reverse(stats.time.sum_ns), *key);
    let most = most as usize;
    if most < rows.len() {
        if most != 0 {
            // A partial selection in linear time; the order among the kept rows does not matter,
            // they go into a map.
            rows.select_nth_unstable_by_key(most - 1, order);
        }
        rows.truncate(most);
    }
}

/// Adds the rows of `from`, which is about other ranks.
pub fn merge(into: &mut FunctionTable, from: FunctionTable) {
    for (region, stats) in &from.rows {
        add(into.rows.entry(*region).or_default(), stats);
    }
    cover(&mut into.past, from.past);
    // The table of nobody asks for no rows; all others of one question ask for the same.
    into.rank_rows_max = into.rank_rows_max.max(from.rank_rows_max);
    into.rank_rows_total = into.rank_rows_total.saturating_add(from.rank_rows_total);
    for (region, of) in &from.distributions {
        histogram::add(into.distributions.entry(*region).or_default(), of);
    }
    for (key, stats) in &from.rank_rows {
        add(into.rank_rows.entry(*key).or_default(), stats);
    }

    // The longest rows of a union are among the longest of its parts, so cutting at every node
    // gives what one cut at the root would.
    if into.rank_rows.len() > into.rank_rows_max as usize {
        let mut rows: Vec<RankRow> = core::mem::take(&mut into.rank_rows).into_iter().collect();
        keep_longest(&mut rows, into.rank_rows_max);
        into.rank_rows = rows.into_iter().collect();
    }
}

#[cfg(test)]
mod tests;
