//! Rows of one rank by call site, each reached through an index by the rank's own number of the
//! site. Rows stay when what they count is taken: iterations go on.

use crate::functions::{Row, bytes, size};
use crate::histogram::Counting;
use crate::iterations::{AtSite, Clock, Stream};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use invivo_proto::control::histogram::Distribution;
use invivo_proto::control::iterations::{Begin, Lengths};
use invivo_proto::control::results::FunctionStats;
use invivo_proto::definition::SITES_MAX;
use invivo_proto::ids::{Rank, RegionId, SiteId};
use invivo_proto::record::{Call, Part};
use invivo_proto::shm::LOCATIONS_MAX;

/// Rows of one rank by site. A place in the program calls one function nearly always; a rank with
/// more rows than twice its sites counts the rest as calls from other sites.
pub(super) const RANK_ROWS_MAX: usize = 2 * SITES_MAX as usize;

/// What rows of a rank are about.
pub type At = (SiteId, RegionId);
/// Threads of a rank whose iterations are followed: those that it has first.
const THREADS_MAX: usize = LOCATIONS_MAX;

#[derive(Clone, Debug)]
pub(super) struct OfRank {
    pub(super) rank: Rank,
    /// By the rank's own number: the rank's number of the file, and the address.
    pub(super) sites: BTreeMap<SiteId, (u32, u64)>,
    /// By [`slot`]: the number of the first row plus one, 0 for none.
    pub(super) index: Vec<u32>,
    pub(super) rows: Vec<SiteRow>,
    /// By thread: what it has called.
    streams: Vec<Stream>,
}

/// One function at one site of one rank.
#[derive(Clone, Debug)]
pub(super) struct SiteRow {
    row: Row,
    durations: Counting,
    sizes: Counting,
    iterations: AtSite,
    site: SiteId,
    /// The next row of the site: its number plus one, 0 for none.
    next: u32,
}

impl SiteRow {
    /// Whether nothing was counted, not even an empty message that was posted before.
    fn is_empty(&self) -> bool {
        self.row.is_empty() && self.sizes.is_empty()
    }
}

/// Where a site stands in the index.
#[inline(always)]
fn slot(site: SiteId) -> usize {
    // A number that no rank gives is one of the others.
    usize::from(site.0.min(SITES_MAX + 1))
}

/// What counts of a call.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// How long it took, pauses subtracted.
    pub duration_ns: u64,
    /// The same in ticks.
    pub ticks: u64,
    /// That is only the part of it behind or before a cut.
    pub clipped: bool,
    /// Since when calls have been counted without a gap, in ticks.
    pub since: u64,
}

/// A thread calls first; whether it is followed.
#[cold]
fn begin_stream(streams: &mut Vec<Stream>, thread: u16) -> bool {
    let threads = usize::from(thread) + 1;
    let is_followed = threads <= THREADS_MAX;
    if is_followed {
        streams.resize(threads, Stream::default());
    }
    is_followed
}

impl OfRank {
    pub(super) fn new(rank: Rank) -> OfRank {
        OfRank {
            rank,
            sites: BTreeMap::new(),
            index: Vec::new(),
            rows: Vec::new(),
            streams: Vec::new(),
        }
    }

    /// Counts a call of a thread.
    #[inline(always)]
    pub(super) fn call(
        &mut self,
        thread: u16,
        call: &Call,
        counts: &Counts,
        net: impl Fn(u64, u64) -> u64,
    ) {
        let Call { facts, .. } = call;
        let at = self.row(facts.site, facts.region);
        let row = &mut self.rows[at];
        row.row
            .call(facts, counts.duration_ns, counts.clipped, self.rank);
        row.durations.add(counts.duration_ns);
        if let Some(size) = size(facts) {
            row.sizes.add(size);
        }
        if self.streams.len() <= usize::from(thread) && !begin_stream(&mut self.streams, thread) {
            return;
        }
        let stream = &mut self.streams[usize::from(thread)];
        // One that was cut began and ended when nobody knows.
        if counts.clipped {
            return stream.interrupt();
        }
        let begin = call.end.saturating_sub(call.duration);
        let iterations = &mut row.iterations;
        iterations.call((thread, &mut *stream), begin, counts.since, net);
        stream.end_call(counts.ticks);
    }

    /// Records of a thread are missing, or what follows is of another one.
    pub(super) fn interrupt(&mut self, thread: u16) {
        if let Some(stream) = self.streams.get_mut(usize::from(thread)) {
            stream.interrupt();
        }
    }

    /// Records of all threads may be missing.
    pub(super) fn interrupt_all(&mut self) {
        self.streams.iter_mut().for_each(Stream::interrupt);
    }

    /// Forgets every call. What was defined stays.
    pub(super) fn reset(&mut self) {
        self.index.clear();
        self.rows.clear();
        self.streams.clear();
    }

    /// The rows that count something.
    pub(super) fn rows(&self) -> impl Iterator<Item = (At, FunctionStats)> {
        let rows = self.rows.iter().filter(|of| !of.is_empty());
        rows.map(|SiteRow { row, site, .. }| ((*site, row.region), row.stats(self.rank)))
    }

    /// How the calls of each of these rows are distributed.
    pub(super) fn distributions(&self) -> impl Iterator<Item = (At, Distribution)> {
        let rows = self.rows.iter().filter(|of| !of.is_empty());
        rows.map(|of| {
            let time = of.row.stats(self.rank).time;
            let distribution = Distribution {
                durations: of.durations.histogram(),
                shortest_ns: time.min_ns,
                longest_ns: time.max_ns,
                sizes: of.sizes.histogram(),
            };
            ((of.site, of.row.region), distribution)
        })
    }

    /// Iterations that begin with calls of a row.
    pub(super) fn iterations(
        &self,
        clock: &impl Clock,
    ) -> impl Iterator<Item = ((At, Begin), Lengths)> {
        // What was called at others is no place to come to again.
        let rows = self.rows.iter().filter(|of| of.site != SiteId::OTHERS);
        rows.flat_map(move |of| {
            let at = (of.site, of.row.region);
            let lengths = of.iterations.lengths(self.rank, clock);
            lengths.map(move |(begin, lengths)| ((at, begin), lengths))
        })
    }

    /// Counts anew.
    pub(super) fn clear(&mut self) {
        for of in &mut self.rows {
            of.row = Row::new(of.row.region);
            of.durations.clear();
            of.sizes.clear();
            of.iterations.clear();
        }
    }

    /// Where the row of a function at a site is.
    #[inline(always)]
    fn row(&mut self, site: SiteId, region: RegionId) -> usize {
        let first = self
            .index
            .get(slot(site))
            .map_or(0, |first| *first as usize);
        match first.checked_sub(1) {
            Some(at) if self.rows[at].row.region == region => at,
            _ => self.other_row(site, region, first),
        }
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
            durations: Counting::default(),
            sizes: Counting::default(),
            iterations: AtSite::new(self.rows.len() as u32),
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
    pub(super) fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            let (bytes_out, bytes_in) = bytes(&part.facts);
            let size = size(&part.facts);
            if bytes_out | bytes_in != 0 || size.is_some() {
                let at = self.row(part.facts.site, part.facts.region);
                self.rows[at].row.add_bytes(bytes_out, bytes_in);
                if let Some(size) = size {
                    self.rows[at].sizes.add(size);
                }
            }
        }
    }
}
