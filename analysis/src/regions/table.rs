//! The table of regions: rows of all ranks, joined, and the merge of two tables.

use super::row::Row;
use super::{Known, OfRank, Regions, row_of};
use crate::history::cover;
use crate::rank_rows::{RankRows, Sum};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::local::Module;
use invivo_proto::control::regions::{ROWS_MAX, Region, RegionStats, RegionTable};
use invivo_proto::control::sites::Place;
use invivo_proto::ids::{Rank, RegionId};
use invivo_proto::record::REGIONS_END;

/// A table whose rows have no names yet, and where these can be looked up.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub table: RegionTable,
    /// Of each row whose function is in a file: the file, and a rank that has it.
    pub code: BTreeMap<Region, (Module, Rank)>,
}

impl Regions {
    /// The rows so far. Regions that are open count as far as their threads have been followed.
    pub fn rows(&self) -> RankRows<RegionId, Row> {
        let of_rank = |of: &OfRank| {
            let rank = of.rank;
            let rows = of.rows_now().into_iter().enumerate();
            let rows = rows.filter(|(_, row)| !row.is_empty());
            let rows = rows.map(|(number, row)| {
                let region = RegionId(REGIONS_END + number as u16);
                ((rank, region), row)
            });
            rows.collect::<Vec<_>>()
        };
        RankRows::new(self.ranks.iter().flat_map(of_rank).collect())
    }

    /// The rows so far; from now on it counts anew. What is open goes on.
    pub fn take(&mut self) -> RankRows<RegionId, Row> {
        let rows = self.rows();
        for (rank, region, row) in rows.iter() {
            self.of_rank(rank).taken(row_of(region)).add(row);
        }
        self.begin_anew();
        rows
    }

    /// The table so far, as [`Regions::table`] makes it.
    pub fn find(&self, rows_max: u32, is_off: impl Fn(Rank, RegionId) -> bool) -> Found {
        self.table(&self.rows(), rows_max, is_off)
    }

    /// The table of these rows: those `rows_max` that have the most time
    /// ([`invivo_proto::control::regions::ROWS_MAX`] at most). `is_off` says which a rank does not
    /// record.
    pub fn table(
        &self,
        rows: &RankRows<RegionId, Row>,
        rows_max: u32,
        is_off: impl Fn(Rank, RegionId) -> bool,
    ) -> Found {
        let mut found = Found::default();
        found.table.rows_max = rows_max.min(ROWS_MAX);
        // Several numbers of a rank may be of one region: of a library that was loaded again.
        let mut sums: BTreeMap<(Rank, Region), (Row, bool)> = BTreeMap::new();
        // Rows of a rank stand together.
        let mut latest: Option<&OfRank> = None;
        for (rank, number, row) in rows.iter() {
            if latest.is_none_or(|of| of.rank != rank) {
                latest = self.ranks.iter().find(|of| of.rank == rank);
            }
            let Some(of_rank) = latest else { continue };
            let (region, module) = self.region(of_rank, number);
            if let Some(module) = module {
                let here = || (module.clone(), rank);
                found.code.entry(region.clone()).or_insert_with(here);
            }
            let (sum, off) = sums.entry((rank, region)).or_default();
            sum.add(row);
            *off |= is_off(rank, number);
        }
        for ((rank, region), (row, off)) in sums {
            let stats = RegionStats {
                off: u32::from(off),
                ..row.stats(rank)
            };
            add_row(&mut found.table.rows, region, stats);
        }
        cut(&mut found.table);
        let Found { table, code } = &mut found;
        code.retain(|region, _| table.rows.contains_key(region));
        found
    }

    /// What a rank's region is, and in which file.
    fn region(&self, of_rank: &OfRank, region: RegionId) -> (Region, Option<&Module>) {
        match of_rank.known.get(&region) {
            Some(Known::Marked(name)) => (Region::Marked(name.clone()), None),
            Some(Known::Function(number, offset)) => {
                let (place, module) = self.files.place(of_rank.rank, *number, *offset);
                (Region::Function(place), module)
            }
            // A definition that was lost tells nothing either.
            None => (Region::Function(Place::Others), None),
        }
    }
}

impl OfRank {
    /// The rows with what regions that are open have spent so far.
    fn rows_now(&self) -> Vec<Row> {
        let mut rows = self.rows.clone();
        for thread in &self.threads {
            let mut seen = alloc::collections::BTreeSet::new();
            for open in &thread.open {
                let row = row_of(open.region);
                // The outermost of each.
                if seen.insert(row) {
                    if rows.len() <= row {
                        rows.resize(row + 1, Row::default());
                    }
                    rows[row].all.add(thread.spent.since(open.before));
                }
            }
        }
        rows
    }
}

fn add(into: &mut RegionStats, from: &RegionStats) {
    if from.ranks == 0 {
        return;
    }
    if into.ranks == 0 {
        (into.most, into.least) = (from.most, from.least);
    }
    into.visits = into.visits.saturating_add(from.visits);
    into.time_ns = into.time_ns.saturating_add(from.time_ns);
    into.own_ns = into.own_ns.saturating_add(from.own_ns);
    into.mpi_ns = into.mpi_ns.saturating_add(from.mpi_ns);
    into.own_mpi_ns = into.own_mpi_ns.saturating_add(from.own_mpi_ns);
    into.ranks = into.ranks.saturating_add(from.ranks);
    into.off = into.off.saturating_add(from.off);
    into.most = [into.most, from.most]
        .into_iter()
        .min_by_key(|(rank, ns)| (Reverse(*ns), *rank))
        .unwrap_or_default();
    into.least = [into.least, from.least]
        .into_iter()
        .min_by_key(|(rank, ns)| (*ns, *rank))
        .unwrap_or_default();
}

/// Adds a row.
fn add_row(rows: &mut BTreeMap<Region, RegionStats>, region: Region, from: RegionStats) {
    let into = rows.entry(region).or_default();
    add(into, &from);
    // Where one knows more than the other, in whatever order they come.
    if from.named > into.named {
        into.named = from.named;
    }
}

/// Keeps the rows with the most time, and sums up the others.
fn cut(table: &mut RegionTable) {
    let most = table.rows_max as usize;
    if table.rows.len() <= most {
        return;
    }
    let rows = core::mem::take(&mut table.rows);
    let mut rows: Vec<(Region, RegionStats)> = rows.into_iter().collect();
    rows.sort_by_key(|(_, row)| Reverse(row.time_ns));
    for (_, row) in rows.drain(most..) {
        add(&mut table.left_out, &row);
        table.rows_left_out += 1;
    }
    table.rows = rows.into_iter().collect();
}

/// Adds the rows of `from`, which is about other ranks. Sums of all rows, those left out included,
/// are the same for every shape of the tree; which rows stay is not, where some have to go.
pub fn merge(into: &mut RegionTable, from: RegionTable) {
    cover(&mut into.past, from.past);
    // The table of nobody asks for no rows; all others of one question ask for the same.
    into.rows_max = into.rows_max.max(from.rows_max);
    for (region, row) in from.rows {
        add_row(&mut into.rows, region, row);
    }
    add(&mut into.left_out, &from.left_out);
    into.rows_left_out = into.rows_left_out.saturating_add(from.rows_left_out);
    into.unnamed = into.unnamed.saturating_add(from.unnamed);
    let (sum, more) = (&mut into.unrecorded, from.unrecorded);
    sum.dropped = sum.dropped.saturating_add(more.dropped);
    sum.repaired = sum.repaired.saturating_add(more.repaired);
    sum.too_deep = sum.too_deep.saturating_add(more.too_deep);
    cut(into);
}
