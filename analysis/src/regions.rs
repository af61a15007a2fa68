//! Time by region of the program: stretches that it marks, and functions that were instrumented.
//!
//! Leaf state: for each thread the regions that are open, for each rank one row per region. Time is
//! given in stretches, from one record of the thread to the next; each belongs to the region that
//! was entered last. A region's time with all that lies below it is the difference of what its
//! thread has spent at its leave and at its enter, as in gprof's and Score-P's profiles; of a
//! region that calls itself the outermost alone counts.
//!
//! Ranks number regions in the order in which they meet them. Rows of different ranks are joined
//! by the name that the program gave, or by the function's file and address.

mod met;
mod row;
mod table;

pub use met::{Met, What};
pub use row::{Row, Spent};
pub use table::{Found, merge};

use crate::code_files::CodeFiles;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use invivo_proto::definition::Definition;
use invivo_proto::ids::{LocationId, Rank, RegionId};
use invivo_proto::record::{OPEN_MAX, OpenRegion, REGIONS_END, REGIONS_MAX};

/// Rows of a rank: one for each number that it gives, and one for all others.
const ROWS_MAX: usize = REGIONS_MAX as usize + 1;

/// The regions of the ranks below one place.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    files: CodeFiles,
    ranks: Vec<OfRank>,
    /// Where the rank stands whose record came last: records come in packets, so the next is
    /// mostly its too.
    latest: usize,
}

#[derive(Clone, Debug)]
struct OfRank {
    rank: Rank,
    /// By the rank's own number.
    known: BTreeMap<RegionId, Known>,
    /// By the rank's own number: [`row_of`].
    rows: Vec<Row>,
    /// What rows had that were taken, likewise.
    taken: Vec<Row>,
    /// By number.
    threads: Vec<Thread>,
}

/// What a rank's region is.
#[derive(Clone, Debug)]
enum Known {
    Marked(String),
    /// The rank's number of the file, and the address in it.
    Function(u32, u64),
}

/// A thread and its open regions, the outermost first: [`OPEN_MAX`] at most.
#[derive(Clone, Debug, Default)]
struct Thread {
    open: Vec<Open>,
    /// How often each region is open, by its row.
    nested: Vec<u16>,
    /// Where its last stretch ended, in ticks.
    last: u64,
    spent: Spent,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    region: RegionId,
    begin: u64,
    /// What its thread had spent when it was entered.
    before: Spent,
}

/// A visit of a region that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    pub region: RegionId,
    /// When it was entered, in ticks.
    pub begin: u64,
    /// How many regions were open around it.
    pub depth: u8,
}

/// Where a region's row stands.
#[inline(always)]
fn row_of(region: RegionId) -> usize {
    // A number that no rank gives is one of the others.
    usize::from(region.0.wrapping_sub(REGIONS_END).min(REGIONS_MAX))
}

impl Regions {
    /// A rank defined something.
    pub fn learn(&mut self, rank: Rank, definition: &Definition<'_>) {
        self.files.learn(rank, definition);
        if let Definition::Region {
            region,
            module,
            offset,
            name,
        } = *definition
            && row_of(region) < usize::from(REGIONS_MAX)
        {
            let known = match name.is_empty() {
                true => Known::Function(module, offset),
                false => Known::Marked(String::from_utf8_lossy(name).to_string()),
            };
            self.of_rank(rank).known.insert(region, known);
        }
    }

    /// Where the last stretch of a thread ended, in ticks; nothing while it is in no region.
    #[inline]
    pub fn inside_since(&mut self, location: LocationId) -> Option<u64> {
        let thread = self.of_rank(location.rank).thread(location.thread);
        (!thread.open.is_empty()).then_some(thread.last)
    }

    /// A thread has spent this until then (ticks), in the region that it entered last.
    #[inline]
    pub fn spend(&mut self, location: LocationId, until: u64, spent: Spent) {
        let of_rank = self.of_rank(location.rank);
        let thread = of_rank.thread(location.thread);
        thread.last = thread.last.max(until);
        if let Some(innermost) = thread.open.last() {
            thread.spent.add(spent);
            let row = row_of(innermost.region);
            of_rank.row(row).own.add(spent);
        }
    }

    /// A thread enters a region at that time (ticks); `counts` where that is recorded.
    #[inline]
    pub fn enter(&mut self, location: LocationId, region: RegionId, time: u64, counts: bool) {
        let of_rank = self.of_rank(location.rank);
        let row = row_of(region);
        of_rank.row(row).visits += u64::from(counts);
        of_rank.thread(location.thread).push(region, time);
    }

    /// A thread leaves the region that it entered last, at that time (ticks). The visit that has
    /// ended, if one was known to be open.
    #[inline]
    pub fn leave(&mut self, location: LocationId, time: u64) -> Option<Visit> {
        let of_rank = self.of_rank(location.rank);
        let thread = of_rank.thread(location.thread);
        thread.last = thread.last.max(time);
        let innermost = *thread.open.last()?;
        let (row, spent) = thread.pop()?;
        let depth = thread.depth();
        of_rank.row(row).all.add(spent);
        Some(Visit {
            region: innermost.region,
            begin: innermost.begin,
            depth,
        })
    }

    /// The regions of a thread that are open, the outermost first, and when each was entered
    /// (ticks).
    pub fn open(&self, location: LocationId) -> impl Iterator<Item = (RegionId, u64)> {
        let of_rank = self.ranks.iter().find(|of| of.rank == location.rank);
        let thread = of_rank.and_then(|of| of.threads.get(usize::from(location.thread)));
        let open = thread.into_iter().flat_map(|thread| &thread.open);
        open.map(|open| (open.region, open.begin))
    }

    /// How many regions of a thread are open.
    #[inline]
    pub fn depth(&mut self, location: LocationId) -> u8 {
        self.of_rank(location.rank).thread(location.thread).depth()
    }

    /// These regions of a thread are open, as it says itself; false where that is not what was
    /// followed here: something is missing of before.
    pub fn is_open(&mut self, location: LocationId, open: &[OpenRegion]) -> bool {
        let thread = self.of_rank(location.rank).thread(location.thread);
        let mut both = thread.open.iter().zip(open);
        thread.open.len() == open.len() && both.all(|(here, there)| here.region == there.region)
    }

    /// Follows a thread from here on, where these are open at that time (ticks).
    pub fn follow(&mut self, location: LocationId, time: u64, open: &[OpenRegion]) {
        let of_rank = self.of_rank(location.rank);
        let thread = of_rank.thread(location.thread);
        let same =
            thread.open.iter().zip(open).take_while(|(here, there)| {
                here.region == there.region && here.begin == there.begin
            });
        let same = same.count();
        while of_rank.thread(location.thread).open.len() > same {
            if let Some((row, spent)) = of_rank.thread(location.thread).pop() {
                of_rank.row(row).all.add(spent);
            }
        }
        let thread = of_rank.thread(location.thread);
        for region in open.iter().skip(same) {
            thread.push(region.region, region.begin);
        }
        thread.last = time;
    }

    /// Something of a thread is missing, or it is another thread from here on: which regions are
    /// open is not known.
    pub fn lose(&mut self, location: LocationId) {
        let of_rank = self.of_rank(location.rank);
        while let Some((row, spent)) = of_rank.thread(location.thread).pop() {
            of_rank.row(row).all.add(spent);
        }
    }

    /// Forgets all time. What the ranks defined stays, and which regions are open.
    pub fn reset(&mut self) {
        self.begin_anew();
        self.ranks.iter_mut().for_each(|of| of.taken.clear());
    }

    /// Rows are counted from zero, and what is open from now.
    fn begin_anew(&mut self) {
        for of_rank in &mut self.ranks {
            of_rank.rows.clear();
            for thread in &mut of_rank.threads {
                let spent = thread.spent;
                thread.open.iter_mut().for_each(|open| open.before = spent);
            }
        }
    }

    #[inline(always)]
    fn of_rank(&mut self, rank: Rank) -> &mut OfRank {
        let is_latest = |latest: &OfRank| latest.rank == rank;
        if !self.ranks.get(self.latest).is_some_and(is_latest) {
            self.latest = self.find_rank(rank);
        }
        &mut self.ranks[self.latest]
    }

    #[cold]
    fn find_rank(&mut self, rank: Rank) -> usize {
        // A linear search: it runs only when the packet of another rank begins, and a place has
        // few ranks.
        let known = self.ranks.iter().position(|of| of.rank == rank);
        known.unwrap_or_else(|| {
            self.ranks.push(OfRank {
                rank,
                known: BTreeMap::new(),
                rows: Vec::new(),
                taken: Vec::new(),
                threads: Vec::new(),
            });
            self.ranks.len() - 1
        })
    }
}

impl OfRank {
    #[inline(always)]
    fn thread(&mut self, number: u16) -> &mut Thread {
        let number = usize::from(number);
        if self.threads.len() <= number {
            self.threads.resize_with(number + 1, Thread::default);
        }
        &mut self.threads[number]
    }

    #[inline(always)]
    fn row(&mut self, row: usize) -> &mut Row {
        row_in(&mut self.rows, row)
    }

    fn taken(&mut self, row: usize) -> &mut Row {
        row_in(&mut self.taken, row)
    }
}

#[inline(always)]
fn row_in(rows: &mut Vec<Row>, row: usize) -> &mut Row {
    if rows.len() <= row {
        let room = (row + 1).next_power_of_two().min(ROWS_MAX);
        rows.resize(room, Row::default());
    }
    &mut rows[row]
}

impl Thread {
    /// How many regions are open; of [`OPEN_MAX`] one less.
    #[inline(always)]
    fn depth(&self) -> u8 {
        u8::try_from(self.open.len()).unwrap_or(u8::MAX)
    }

    fn push(&mut self, region: RegionId, begin: u64) {
        // Ranks record none that lies deeper.
        if self.open.len() >= OPEN_MAX {
            return;
        }
        let row = row_of(region);
        if self.nested.len() <= row {
            let room = (row + 1).next_power_of_two().min(ROWS_MAX);
            self.nested.resize(room, 0);
        }
        self.nested[row] = self.nested[row].saturating_add(1);
        self.open.push(Open {
            region,
            begin,
            before: self.spent,
        });
        self.last = self.last.max(begin);
    }

    /// Closes the innermost region; gives its row, and what was spent in it: nothing where it is
    /// open once more further out.
    fn pop(&mut self) -> Option<(usize, Spent)> {
        let open = self.open.pop()?;
        let row = row_of(open.region);
        let nested = self.nested.get_mut(row)?;
        *nested = nested.saturating_sub(1);
        let spent = match *nested {
            0 => self.spent.since(open.before),
            _ => Spent::default(),
        };
        Some((row, spent))
    }
}

#[cfg(test)]
mod tests;
