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

mod of_rank;

use crate::code_files::CodeFiles;
use crate::functions::add;
use crate::histogram;
use crate::history::cover;
use crate::iterations::{self, Clock};
use crate::rank_rows::{RankRows, Sum};
use crate::waits::{self, Sums};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::histogram::Distribution;
use invivo_proto::control::iterations::{Begin, Iterations, Lengths};
use invivo_proto::control::local::Module;
use invivo_proto::control::sites::{Place, ROWS_MAX, Site, SiteStats, SiteTable};
use invivo_proto::definition::{Definition, SITES_MAX};
use invivo_proto::ids::{LocationId, Rank, SiteId};
use invivo_proto::record::{Call, Part};
pub use of_rank::{At, Counts};
use of_rank::{OfRank, RANK_ROWS_MAX};

/// With what iterations of a rank begin.
pub type Beginning = (At, Begin);

/// The call sites of the ranks below one place. Its size is bounded by the limits above.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    files: CodeFiles,
    ranks: Vec<OfRank>,
    /// Where the rank stands whose call came last: records come in packets, so the next is mostly
    /// its too.
    latest: usize,
}

/// A table whose rows have no names yet, and where these can be looked up.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub table: SiteTable,
    /// Of each row whose code is in a file: the file, and a rank that was there.
    pub code: BTreeMap<Site, (Module, Rank)>,
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

    /// Counts a call of a thread, and its parts. `net` gives the ticks between two, pauses
    /// subtracted.
    #[inline]
    pub fn record(
        &mut self,
        of: LocationId,
        call: &Call,
        parts: &[Part],
        counts: &Counts,
        net: impl Fn(u64, u64) -> u64,
    ) {
        let of_rank = self.of_rank(of.rank);
        of_rank.call(of.thread, call, counts, net);
        of_rank.parts(parts);
    }

    /// Records of all threads of a rank, or of all ranks where none is named, may be missing.
    pub fn interrupt_all(&mut self, rank: Option<Rank>) {
        let ranks = self.ranks.iter_mut();
        let ranks = ranks.filter(|of| rank.is_none_or(|rank| of.rank == rank));
        ranks.for_each(OfRank::interrupt_all);
    }

    /// Records of a thread are missing before what follows, or that is another thread's: its
    /// iterations do not go on.
    pub fn interrupt(&mut self, of: LocationId) {
        self.of_rank(of.rank).interrupt(of.thread);
    }

    /// Counts more parts of a call that was counted before.
    pub fn record_more(&mut self, rank: Rank, parts: &[Part]) {
        self.of_rank(rank).parts(parts);
    }

    /// Forgets every call. What the ranks defined stays.
    pub fn reset(&mut self) {
        self.ranks.iter_mut().for_each(OfRank::reset);
    }

    /// The rows so far.
    pub fn rows(&self) -> RankRows<At> {
        let mut all = Vec::new();
        for of in &self.ranks {
            all.extend(of.rows().map(|(at, row)| ((of.rank, at), row)));
        }
        RankRows::new(all)
    }

    /// The iterations so far.
    pub fn iterations(&self, clock: &impl Clock) -> RankRows<Beginning, Lengths> {
        let mut all = Vec::new();
        for of in &self.ranks {
            let rows = of.iterations(clock);
            all.extend(rows.map(|(beginning, row)| ((of.rank, beginning), row)));
        }
        RankRows::new(all)
    }

    /// How durations and sizes are distributed so far.
    pub fn distributions(&self) -> RankRows<At, Distribution> {
        let mut all = Vec::new();
        for of in &self.ranks {
            let rows = of.distributions();
            all.extend(rows.map(|(at, row)| ((of.rank, at), row)));
        }
        RankRows::new(all)
    }

    /// From now on it counts anew. What the ranks defined stays.
    pub fn clear(&mut self) {
        self.ranks.iter_mut().for_each(OfRank::clear);
    }

    /// The table of these rows: those `rows_max` that have the most time ([`ROWS_MAX`] at most),
    /// with how these calls are distributed, the iterations that begin there, and the waiting of
    /// these ranks, where that is known.
    pub fn table(
        &self,
        rows: &RankRows<At>,
        distributions: &RankRows<At, Distribution>,
        iterations: &RankRows<Beginning, Lengths>,
        rows_max: u32,
        waits: Option<&Sums>,
    ) -> Found {
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
        for (rank, (site, region), of) in distributions.iter() {
            if latest.is_none_or(|of| of.rank != rank) {
                latest = self.known(rank);
            }
            let (place, _) = self.place(latest, site);
            // Calls of the same time are in the same rows.
            if let Some(row) = found.table.rows.get_mut(&Site { place, region }) {
                histogram::add(&mut row.distribution, of);
            }
        }
        for (rank, ((site, region), begin), lengths) in iterations.iter() {
            if latest.is_none_or(|of| of.rank != rank) {
                latest = self.known(rank);
            }
            let (place, _) = self.place(latest, site);
            // Several places that nobody knows are none to come to again.
            let is_known = !matches!(place, Place::Others | Place::NotNoted);
            let site = Site { place, region };
            // Calls of the same time are in the same rows.
            if is_known && let Some(row) = found.table.rows.get_mut(&site) {
                let into = row.iterations.entry(begin).or_insert(Iterations::EMPTY);
                iterations::merge(into, &iterations::of_rank(lengths));
            }
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
            self.ranks.push(OfRank::new(rank));
            self.ranks.len() - 1
        })
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
            histogram::add(&mut into.distribution, &from.distribution);
            for (begin, from) in &from.iterations {
                let into = into.iterations.entry(*begin).or_insert(Iterations::EMPTY);
                iterations::merge(into, from);
            }
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
pub fn limit<V: Sum>(rows: &mut RankRows<At, V>) {
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
        let whole = (row.waits.iter()).filter(|(state, _)| state.part_of().is_none());
        whole.for_each(|(_, of)| table.waits_left_out.add(&of.waited));
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
