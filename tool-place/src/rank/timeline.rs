//! A rank's piece of the timeline: the calls kept of some seconds, and the call that is open.
//!
//! Pieces fit into a page and come with the names of communicators and peers.

use super::RankRecords;
use super::buffers::{CONTEXT_TAKES, counters, losses, row, sample};
use super::ledger_report::region;
use crate::analyses::Analyses;
use crate::time_point::TimePoint;
use invivo_analysis::buffers::merge_losses;
use invivo_analysis::communicators::Communicators;
use invivo_otfx::{BinError, Buffer, Contents, EventClass, Head};
use invivo_proto::control::buffers::{Cursor, RowFacts};
use invivo_proto::control::contexts::Contexts;
use invivo_proto::control::timeline::{Member, OpenCall, Piece};
use invivo_proto::ids::{LocationId, RegionId};
use invivo_proto::mpi::ABORT;
use invivo_proto::shm::{Status, inside};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// What is wanted of a location.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Calls that ended in it or later, and began before its end; in job time.
    pub job_ns: Range<u64>,
    /// Behind which call the piece begins.
    pub after: Option<Cursor>,
    /// The newest calls, at most.
    pub newest: u64,
    /// Calls and parts, at most.
    pub room: usize,
}

impl RankRecords {
    /// Its locations, the first of which every rank has.
    pub fn threads(&self) -> usize {
        let pages = self
            .memory
            .as_ref()
            .map_or(0, |memory| memory.locations().count());
        self.locations.len().max(pages).max(1)
    }

    /// A piece of one of its locations, and where the next one begins, if there is more than fits.
    /// A call that does not fit into an empty page is given all the same: its parts have a limit of
    /// their own.
    pub fn piece(
        &self,
        thread: usize,
        moment: &TimePoint<'_>,
        analyses: &Analyses,
        wanted: &Wanted,
    ) -> (Piece, Option<Cursor>) {
        let communicators = analyses.communicators();
        let mut piece = Piece {
            location: LocationId {
                rank: self.rank,
                thread: thread as u16,
            },
            ..Piece::default()
        };

        let buffer = self
            .locations
            .get(thread)
            .and_then(|one| one.store.buffer());
        if let Some(buffer) = buffer {
            let halvings = self.halvings_known();
            let give = |context, to: &mut Contexts| self.give_context(context, to);
            match fill(&mut piece, buffer, moment, wanted, halvings, give) {
                Ok(next) if next.is_some() => {
                    self.name_all(&mut piece, communicators);
                    return (piece, next);
                }
                Ok(_) => {}
                Err(_) => piece.is_broken = true,
            }
        }
        self.name_all(&mut piece, communicators);
        self.describe(&mut piece, thread, moment, analyses, wanted.job_ns.end);
        (piece, None)
    }

    /// What is said once for a location, with its last piece. `before_ns`: where the time ends that
    /// is asked for.
    pub(super) fn describe(
        &self,
        piece: &mut Piece,
        thread: usize,
        moment: &TimePoint<'_>,
        analyses: &Analyses,
        before_ns: u64,
    ) {
        let location = self.locations.get(thread);
        let before = moment.ticks_of(before_ns);
        let open_regions = analyses.regions_open(piece.location);
        let open_regions = open_regions.filter(|(_, begin)| *begin < before);
        let occupant = location.map_or(0, |location| location.store.occupant());
        piece.open_regions = open_regions
            .map(|(region, begin_ticks)| OpenCall {
                region,
                begin_ns: moment.job_of_ticks(begin_ticks),
                begin_ticks,
                occupant,
            })
            .collect();
        if let Some(buffer) = location.and_then(|location| location.store.buffer()) {
            piece.counters = counters(buffer, EventClass::Call);
            piece.regions_counted = counters(buffer, EventClass::Region);
            piece.samples_counted = counters(buffer, EventClass::Sample);
            merge_losses(&mut piece.losses, losses(buffer, moment));
            let gone_until = buffer
                .events_gone_until()
                .max(location.and_then(|one| one.before.gone_until));
            piece.gone_until_ns = gone_until.map(|ticks| moment.job_of_ticks(ticks));
        }

        piece.is_complete = true;
        piece.tick_ps = moment.tick_ps();
        let not_kept = location.map_or(0, |location| location.store.not_kept());
        let is_kept = location.is_some_and(|location| location.store.buffer().is_some());
        piece.not_kept = (not_kept != 0 || (location.is_some() && !is_kept)).then_some(not_kept);
        piece.state = self.status(moment.ticks(), moment.node()).state;

        match &self.memory {
            Some(memory) => {
                if let Some(status) = memory.page().status.get(thread) {
                    piece.ledger = self.ledger_of(memory, thread, status);
                    let last_begin = location.and_then(|location| location.intake.last_begin());
                    piece.open = open(status, last_begin, before).map(|(of, begin)| OpenCall {
                        region: of,
                        begin_ns: moment.job_of_ticks(begin),
                        begin_ticks: begin,
                        occupant: memory.occupant(thread),
                    });
                }
            }
            None => {
                if let Some(location) = location {
                    piece.ledger = location.taken();
                }
            }
        }
    }

    /// Names the communicators and peers of a piece's calls.
    fn name_all(&self, piece: &mut Piece, communicators: &Communicators) {
        let Piece {
            rows, comms, peers, ..
        } = piece;
        let mut name = |facts: &RowFacts| {
            if comms.contains_key(&facts.comm) && peers.contains_key(&(facts.comm, facts.peer)) {
                return;
            }
            if let Some(of) = communicators.membership(self.rank, facts.comm) {
                comms.entry(facts.comm).or_insert(Member {
                    id: of.id,
                    peers: of.peers,
                    rank: of.rank,
                });
            }
            if let Some(rank) = communicators.peer(self.rank, facts.comm, facts.peer) {
                peers.insert((facts.comm, facts.peer), rank);
            }
        };
        for row in rows.iter_mut().filter(|row| !row.is_region) {
            name(&row.facts);
            row.parts.iter().for_each(|part| name(&part.facts));
        }
    }
}

/// The call that a page shows, with its begin in ticks: entered before `before`, and not recorded
/// yet. `MPI_Abort` has no record, and the page names it outside of MPI.
fn open(status: &Status, last_begin: Option<u64>, before: u64) -> Option<(RegionId, u64)> {
    let begin = status.entered_at.load(Ordering::Acquire);
    let is_inside = status.inside.load(Ordering::Acquire) == inside::MPI;
    let of = region(status);
    if !(is_inside || of == ABORT) || last_begin == Some(begin) {
        return None;
    }
    // Where no region is noted the time is none, either.
    let begin = if of.0 == 0 { 0 } else { begin };
    (begin < before).then_some((of, begin))
}

/// Fills a piece with what fits; where the next piece begins, if there is more.
fn fill(
    piece: &mut Piece,
    buffer: &Buffer,
    moment: &TimePoint<'_>,
    wanted: &Wanted,
    halvings: u32,
    give_context: impl Fn(u32, &mut Contexts) -> usize,
) -> Result<Option<Cursor>, BinError> {
    let ticks = moment.ticks_of(wanted.job_ns.start)..moment.ticks_of(wanted.job_ns.end);
    // Only the first piece counts the calls that are left out; later ones go on from the cursor.
    let mut after = wanted.after;
    if after.is_none() {
        (after, piece.left_out) = before_newest(buffer, &ticks, wanted.newest)?;
    }

    let after = after.unwrap_or_default();
    let left_out = finer_than(buffer, &ticks, halvings, wanted.newest);
    let mut at = Cursor::default();
    let mut room = wanted.room;
    let mut reader = buffer.read_since(ticks.start.max(after.end_ticks));
    while let Some(contents) = reader.next()? {
        pass(&mut at, contents);
        if at <= after || !lies_in(contents, &ticks) {
            continue;
        }
        let (row, sample) = (row(contents, moment), sample(contents, moment));
        if sample.as_ref().is_some_and(|of| of.ordinal & left_out != 0) {
            continue;
        }
        let takes = 1 + row.as_ref().map_or(0, |row| row.parts.len());
        if takes > room && !(piece.rows.is_empty() && piece.samples.is_empty()) {
            // The cursor is behind the record before this one.
            at.given -= 1;
            return Ok(Some(at));
        }

        room = room.saturating_sub(takes);
        piece.rows.extend(row);
        if let Some(sample) = sample {
            let new = give_context(sample.context, &mut piece.contexts);
            room = room.saturating_sub(new * CONTEXT_TAKES);
            piece.samples.push(sample);
        }
    }
    Ok(None)
}

/// The bits of the ordinals of samples that are left out where there are more than `most` in a
/// time: so every second, fourth... one is given, at equal distances. How many there are is
/// estimated, so that it is the same for all pieces of a location, and no piece has to count.
fn finer_than(buffer: &Buffer, ticks: &Range<u64>, halvings: u32, most: u64) -> u64 {
    let kept = buffer.ledger_of(EventClass::Sample).kept;
    let (oldest, newest) = buffer.fill().span.unwrap_or_default();
    let within = ticks
        .end
        .min(newest)
        .saturating_sub(ticks.start.max(oldest));
    let all = newest.saturating_sub(oldest).max(1);
    let count = (u128::from(kept) * u128::from(within) / u128::from(all)) as u64;
    let halved = (0..u64::BITS - 1)
        .find(|by| count >> by <= most)
        .unwrap_or(0);
    match halved {
        0 => 0,
        _ => (1 << (halvings.max(buffer.halvings()) + halved).min(u64::BITS - 1)) - 1,
    }
}

/// Where to begin so that the newest `newest` calls are given, and how many are left out before.
fn before_newest(
    buffer: &Buffer,
    ticks: &Range<u64>,
    newest: u64,
) -> Result<(Option<Cursor>, u64), BinError> {
    let newest = usize::try_from(newest).unwrap_or(usize::MAX);
    // As many as the buffer can hold at most: some bytes each.
    let mut last: VecDeque<Cursor> = VecDeque::new();
    let (mut at, mut left_out, mut behind) = (Cursor::default(), 0, None);
    let mut reader = buffer.read_since(ticks.start);
    while let Some(contents) = reader.next()? {
        pass(&mut at, contents);
        // Samples do not count: those of the time of these calls are given.
        if lies_in(contents, ticks) && !matches!(contents.head, Head::Sample { .. }) {
            last.push_back(at);
            if last.len() > newest {
                behind = last.pop_front();
                left_out += 1;
            }
        }
    }
    Ok((behind, left_out))
}

/// Moves a cursor to behind this record.
fn pass(at: &mut Cursor, contents: &Contents) {
    let end_ticks = contents.head.end();
    if end_ticks > at.end_ticks {
        *at = Cursor {
            end_ticks,
            given: 0,
        };
    }
    at.given += 1;
}

/// Whether it is a call, the rest of one, a visit of a region, or a sample, of this time.
fn lies_in(contents: &Contents, ticks: &Range<u64>) -> bool {
    matches!(
        contents.head,
        Head::Call(_) | Head::Rest { .. } | Head::Region(_) | Head::Sample { .. }
    ) && contents.head.end() >= ticks.start
        && contents.head.begin() < ticks.end
}
