//! The table of call sites: calls, durations, bytes and waiting by function and place in the
//! program.
//!
//! Leaf state: for each rank one row per function and site, reached through an index by the rank's
//! own number of the site. What the function table says of bytes holds here as well: a receive that
//! an `MPI_Wait` completes counts where it was posted, whose site its completion repeats.
//!
//! Ranks number sites in the order in which they meet them, so that their numbers mean nothing to
//! others. Rows of different ranks are joined by the file's name, its build id, and the address in
//! it.

use crate::code_files::CodeFiles;
use crate::functions::{Row, add, bytes};
use crate::history::cover;
use crate::rank_rows::RankRows;
use crate::waits::{self, Sums};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::local::Module;
use invivo_proto::control::sites::{Place, ROWS_MAX, Site, SiteStats, SiteTable};
use invivo_proto::definition::{Definition, SITES_MAX};
use invivo_proto::ids::{Rank, RegionId, SiteId};
use invivo_proto::record::{Call, Part};

/// Rows of one rank by site. A place in the program calls one function nearly always; a rank with
/// more rows than twice its sites counts the rest as calls from other sites.
const RANK_ROWS_MAX: usize = 2 * SITES_MAX as usize;

/// What rows of a rank are about.
pub type At = (SiteId, RegionId);

/// The call sites of the ranks below one place. Its size is bounded by the limits above.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    files: CodeFiles,
    ranks: Vec<OfRank>,
    /// Where the rank stands whose call came last: records come in packets, so the next is mostly
    /// its too.
    latest: usize,
}

#[derive(Clone, Debug)]
struct OfRank {
    rank: Rank,
    /// By the rank's own number: the rank's number of the file, and the address.
    sites: BTreeMap<SiteId, (u32, u64)>,
    /// By [`slot`]: the number of the first row plus one, 0 for none.
    index: Vec<u32>,
    rows: Vec<SiteRow>,
}

/// One function at one site of one rank.
#[derive(Clone, Debug)]
struct SiteRow {
    row: Row,
    site: SiteId,
    /// The next row of the site: its number plus one, 0 for none.
    next: u32,
}

/// A table whose rows have no names yet, and where these can be looked up.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub table: SiteTable,
    /// Of each row whose code is in a file: the file, and a rank that was there.
    pub code: BTreeMap<Site, (Module, Rank)>,
}

/// Where a site stands in the index.
#[inline(always)]
fn slot(site: SiteId) -> usize {
    // A number that no rank gives is one of the others.
    usize::from(site.0.min(SITES_MAX + 1))
}

impl Sites {
    /// A rank defined something.
    pub fn learn(&mut self, rank: Rank, definition: &Definition<'_>) {
        match *definition {
            Definition::Module { .. } => self.files.learn(rank, definition),
            Definition::Site {
                site,
                module,
                offset,
            } if site.0 <= SITES_MAX => {
                self.of_rank(rank).sites.insert(site, (module, offset));
            }
            _ => {}
        }
    }

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
        let row = of_rank.row(call.facts.site, call.facts.region);
        row.call(&call.facts, duration_ns, clipped, rank);
        of_rank.parts(parts);
    }

    /// Counts more parts of a call that was counted before.
    pub fn record_more(&mut self, rank: Rank, parts: &[Part]) {
        self.of_rank(rank).parts(parts);
    }

    /// Forgets every call. What the ranks defined stays.
    pub fn reset(&mut self) {
        for of_rank in &mut self.ranks {
            of_rank.index.clear();
            of_rank.rows.clear();
        }
    }

    /// The rows so far.
    pub fn rows(&self) -> RankRows<At> {
        let of_rank = |of: &OfRank| {
            let rank = of.rank;
            let rows = of.rows.iter().map(move |SiteRow { row, site, .. }| {
                let at = (*site, row.region);
                ((rank, at), row.stats(rank))
            });
            rows.collect::<Vec<_>>()
        };
        RankRows::new(self.ranks.iter().flat_map(of_rank).collect())
    }

    /// The rows so far; from now on it counts anew. What the ranks defined stays.
    pub fn take(&mut self) -> RankRows<At> {
        let rows = self.rows();
        for of_rank in &mut self.ranks {
            // The memory is used again.
            for row in of_rank.rows.drain(..) {
                of_rank.index[slot(row.site)] = 0;
            }
        }
        rows
    }

    /// The table so far, as [`Sites::table`] makes it.
    pub fn find(&self, rows_max: u32, waits: Option<&Sums>) -> Found {
        self.table(&self.rows(), rows_max, waits)
    }

    /// The table of these rows: those `rows_max` that have the most time ([`ROWS_MAX`] at most),
    /// with the waiting of these ranks, where that is known.
    pub fn table(&self, rows: &RankRows<At>, rows_max: u32, waits: Option<&Sums>) -> Found {
        let mut found = Found::default();
        found.table.rows_max = rows_max.min(ROWS_MAX);
        // Rows of a rank stand together.
        let mut latest: Option<&OfRank> = None;
        for (rank, (site, region), stats) in rows.iter() {
            if latest.is_none_or(|of| of.rank != rank) {
                latest = self.known(rank);
            }
            let (place, module) = self.place(latest, site);
            let site = Site { place, region };
            if let Some(module) = module {
                let here = || (module.clone(), rank);
                found.code.entry(site.clone()).or_insert_with(here);
            }
            let stats = SiteStats {
                stats: *stats,
                ranks: 1,
                ..SiteStats::default()
            };
            add_row(&mut found.table.rows, site, stats);
        }
        if let Some(waits) = waits {
            for rank in waits.ranks() {
                self.wait_at(rank, waits, &mut found);
            }
        }
        cut(&mut found.table);
        found
            .code
            .retain(|site, _| found.table.rows.contains_key(site));
        found
    }

    /// Adds the waiting of a rank to the rows of its calls. Where these were not counted, because
    /// the table was off then, it has rows of its own.
    fn wait_at(&self, rank: Rank, waits: &Sums, found: &mut Found) {
        let of_rank = self.known(rank);
        for ((region, site), state, from) in waits.at_sites(rank) {
            let (place, module) = self.place(of_rank, site);
            let site = Site { place, region };
            if let Some(module) = module {
                let here = || (module.clone(), rank);
                found.code.entry(site.clone()).or_insert_with(here);
            }
            let row = found.table.rows.entry(site).or_default();
            waits::merge_at_site(row.waits.entry(state).or_default(), from);
        }
    }

    /// Where a site of a rank is, and in which file.
    fn place(&self, of_rank: Option<&OfRank>, site: SiteId) -> (Place, Option<&Module>) {
        if site == SiteId::NONE {
            return (Place::NotNoted, None);
        }
        // A definition that was lost tells nothing either.
        let known = of_rank.and_then(|of| Some((of.rank, of.sites.get(&site)?)));
        let Some((rank, (number, offset))) = known else {
            return (Place::Others, None);
        };
        self.files.place(rank, *number, *offset)
    }

    /// What is known of a rank.
    fn known(&self, rank: Rank) -> Option<&OfRank> {
        self.ranks.iter().find(|of| of.rank == rank)
    }

    #[inline(always)]
    fn of_rank(&mut self, rank: Rank) -> &mut OfRank {
        if self
            .ranks
            .get(self.latest)
            .is_none_or(|latest| latest.rank != rank)
        {
            self.latest = self.find_rank(rank);
        }
        &mut self.ranks[self.latest]
    }

    #[cold]
    fn find_rank(&mut self, rank: Rank) -> usize {
        // A linear search: it runs only when the packet of another rank begins, and a place has few
        // ranks.
        let known = self.ranks.iter().position(|of| of.rank == rank);
        known.unwrap_or_else(|| {
            self.ranks.push(OfRank {
                rank,
                sites: BTreeMap::new(),
                index: Vec::new(),
                rows: Vec::new(),
            });
            self.ranks.len() - 1
        })
    }
}

impl OfRank {
    #[inline(always)]
    fn row(&mut self, site: SiteId, region: RegionId) -> &mut Row {
        let first = self
            .index
            .get(slot(site))
            .map_or(0, |first| *first as usize);
        let at = match first.checked_sub(1) {
            Some(at) if self.rows[at].row.region == region => at,
            _ => self.other_row(site, region, first),
        };
        &mut self.rows[at].row
    }

    /// The row of a function that is not the first one that was called at the site.
    #[cold]
    fn other_row(&mut self, site: SiteId, region: RegionId, first: usize) -> usize {
        let (mut next, mut last) = (first, None);
        while let Some(at) = next.checked_sub(1) {
            if self.rows[at].row.region == region {
                return at;
            }
            last = Some(at);
            next = self.rows[at].next as usize;
        }
        if self.rows.len() >= RANK_ROWS_MAX && slot(site) != slot(SiteId::OTHERS) {
            // The regions are few: these rows come to an end.
            let first = self.index.get(slot(SiteId::OTHERS));
            let first = first.map_or(0, |first| *first as usize);
            return self.other_row(SiteId::OTHERS, region, first);
        }
        self.rows.push(SiteRow {
            row: Row::new(region),
            site,
            next: 0,
        });
        let number = self.rows.len() as u32;
        match last {
            Some(last) => self.rows[last].next = number,
            None => {
                if self.index.len() <= slot(site) {
                    self.index.resize(slot(site) + 1, 0);
                }
                self.index[slot(site)] = number;
            }
        }
        number as usize - 1
    }

    #[inline(always)]
    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            let (bytes_out, bytes_in) = bytes(&part.facts);
            if bytes_out | bytes_in != 0 {
                self.row(part.facts.site, part.facts.region)
                    .add_bytes(bytes_out, bytes_in);
            }
        }
    }
}

/// Adds a row.
fn add_row(rows: &mut BTreeMap<Site, SiteStats>, site: Site, from: SiteStats) {
    match rows.get_mut(&site) {
        None => {
            rows.insert(site, from);
        }
        Some(into) => {
            add(&mut into.stats, &from.stats);
            into.ranks = into.ranks.saturating_add(from.ranks);
            for (state, from) in &from.waits {
                waits::merge_at_site(into.waits.entry(*state).or_default(), from);
            }
            // Where one knows more than the other, in whatever order they come.
            if from.named > into.named {
                into.named = from.named;
            }
        }
    }
}

/// Keeps as many rows of each rank as it may have; calls at further sites count as at others.
pub fn limit(rows: &mut RankRows<At>) {
    rows.limit(RANK_ROWS_MAX, |(_, region)| (SiteId::OTHERS, region));
}

/// Keeps the rows with the most time, and sums up the others.
fn cut(table: &mut SiteTable) {
    let most = table.rows_max as usize;
    if table.rows.len() <= most {
        return;
    }
    let mut rows: Vec<(Site, SiteStats)> = core::mem::take(&mut table.rows).into_iter().collect();
    rows.sort_by_key(|(_, row)| Reverse(row.stats.time.sum_ns));
    for (_, row) in rows.drain(most..) {
        add(&mut table.left_out, &row.stats);
        for of in row.waits.values() {
            table.waits_left_out.add(&of.waited);
        }
        table.rows_left_out += 1;
    }
    table.rows = rows.into_iter().collect();
}

/// Adds the rows of `from`, which is about other ranks. Sums of all rows, those left out included,
/// are the same for every shape of the tree; which rows stay is not, where some have to go.
pub fn merge(into: &mut SiteTable, from: SiteTable) {
    cover(&mut into.past, from.past);
    // The table of nobody asks for no rows; all others of one question ask for the same.
    into.rows_max = into.rows_max.max(from.rows_max);
    for (site, row) in from.rows {
        add_row(&mut into.rows, site, row);
    }
    add(&mut into.left_out, &from.left_out);
    into.waits_left_out.add(&from.waits_left_out);
    into.rows_left_out = into.rows_left_out.saturating_add(from.rows_left_out);
    into.unnamed = into.unnamed.saturating_add(from.unnamed);
    cut(into);
}

#[cfg(test)]
mod tests;
