//! Makes a page of the job's timeline from what the buffers of this place's ranks keep.

use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use crate::rank::CONTEXT_TAKES;
use crate::rank::Eagerness;
use crate::rank::timeline::Wanted;
use crate::time_point::Now;
use invivo_proto::control::timeline::{
    Piece, TIMELINE_LOCATIONS_MAX, TIMELINE_PAGE_MAX, Timeline, TimelinePosition,
};
use invivo_proto::control::tree::Query;
use invivo_tbon::job_time::JobClock;
use std::ops::Range;

/// The parameters of a page of the timeline.
#[derive(Clone, Debug)]
pub struct PageQuery {
    pub from: TimelinePosition,
    /// The stretch of job time.
    pub job_ns: Range<u64>,
    /// The newest calls of each location, at most.
    pub newest: u64,
    /// Calls and parts of the page, at most.
    pub max: u32,
}

impl PageQuery {
    /// Of a question for one.
    pub fn of(query: &Query) -> Option<PageQuery> {
        match *query {
            Query::Timeline {
                from,
                from_ns,
                to_ns,
                newest,
                max,
            } => Some(PageQuery {
                from,
                job_ns: from_ns..to_ns,
                newest,
                max,
            }),
            _ => None,
        }
    }
}

/// A page from a position on; empty where that is another place's. `is_over`: nothing is measured
/// any more.
pub fn page(
    now: Now,
    query: PageQuery,
    clock: &JobClock,
    is_paused: bool,
    is_over: bool,
    local: &mut LocalRanks,
) -> Timeline {
    // A communicator's members are told by one of them, which may have a later page.
    let is_here = local.index(query.from.location.rank).is_some();
    if is_here && query.from.after.is_none() {
        for one in &mut local.ranks {
            one.records.define(&mut local.feed);
        }
    }
    let mut timeline = pieces(now, query, clock, is_paused, is_over, local);
    for piece in &timeline.pieces {
        meet_unnamed(piece, local);
    }
    let moment = local.time_point(now, clock);
    let oldest_ns = timeline.pieces.iter().filter_map(begin_ns).min();
    timeline.clock_error_ns = match oldest_ns {
        Some(begin_ns) => moment.error_since_ns(begin_ns),
        None => moment.error_ns(),
    };
    timeline
}

/// Peers that nobody knows yet are to be asked for.
fn meet_unnamed(piece: &Piece, local: &mut LocalRanks) {
    let calls = piece.rows.iter().filter(|row| !row.is_region);
    let all = calls.flat_map(|row| {
        let parts = row.parts.iter().map(|part| &part.facts);
        parts.chain([&row.facts])
    });
    let unnamed = all.filter(|facts| !piece.peers.contains_key(&(facts.comm, facts.peer)));
    for facts in unnamed {
        let analyses = &mut local.feed.analyses;
        analyses.meet(piece.location.rank, facts.comm, facts.peer);
    }
}

/// When the first of its calls began, in job time.
fn begin_ns(piece: &Piece) -> Option<u64> {
    let rows = piece.rows.iter();
    let begins = rows.map(|row| row.end_ns.saturating_sub(row.duration_ns));
    let open = piece.open.iter().chain(&piece.open_regions);
    let samples = piece.samples.iter().map(|sample| sample.at_ns);
    begins
        .chain(open.map(|open| open.begin_ns))
        .chain(samples)
        .min()
}

fn pieces(
    now: Now,
    query: PageQuery,
    clock: &JobClock,
    is_paused: bool,
    is_over: bool,
    local: &mut LocalRanks,
) -> Timeline {
    let PageQuery {
        from,
        job_ns,
        newest,
        max,
    } = query;
    let Some(first) = local.index(from.location.rank) else {
        return Timeline::default();
    };
    let mut timeline = Timeline::default();

    let mut room = max.clamp(1, TIMELINE_PAGE_MAX) as usize;
    for index in first..local.ranks.len() {
        let rank = local.rank(index).0;
        // Ranks between those of this place have a page of their own.
        if index > first && local.rank(index - 1).0 + 1 != rank {
            timeline.next = behind(local, index);
            return timeline;
        }
        let Some(mut begin) =
            TimelinePosition::of(rank, local.layout.app()).map(|start| start.max(from))
        else {
            continue;
        };
        // The newest records belong to the timeline, so those in shared memory are taken first,
        // once for each rank. Ranks that end are read completely anyway.
        if begin.after.is_none() && local.ranks[index].life == Life::Alive && !is_over {
            local.ranks[index]
                .records
                .peek(now.ns, now.ticks, Eagerness::Now, &mut local.feed);
        }

        let one = &local.ranks[index];
        for thread in usize::from(begin.location.thread)..one.records.threads() {
            begin.location.thread = thread as u16;
            if room == 0 || timeline.pieces.len() == TIMELINE_LOCATIONS_MAX {
                timeline.next = Some(begin);
                return timeline;
            }

            let wanted = Wanted {
                job_ns: job_ns.clone(),
                after: begin.after.take(),
                newest,
                room,
            };
            let moment = local.time_point(now, clock);
            let (mut piece, next) =
                one.records
                    .piece(thread, &moment, &local.feed.analyses, &wanted);
            piece.state = one.state(piece.state, is_paused);
            if !local.feed.cuts.is_on() {
                // Nobody says what is left meanwhile.
                piece.open_regions.clear();
            }

            room = room.saturating_sub(takes(&piece));
            timeline.pieces.push(piece);
            if next.is_some() {
                timeline.next = Some(TimelinePosition {
                    after: next,
                    ..begin
                });
                return timeline;
            }
        }
    }

    // Behind the last rank of this place: the next page is another place's.
    timeline.next = behind(local, local.len());
    timeline
}

/// The place that what a piece has takes in a page, as so many calls.
fn takes(piece: &Piece) -> usize {
    let rows = piece.rows.iter().map(|row| 1 + row.parts.len());
    rows.sum::<usize>() + piece.samples.len() + piece.contexts.len() * CONTEXT_TAKES
}

/// The position behind the rank before the one with this number here.
fn behind(local: &LocalRanks, index: usize) -> Option<TimelinePosition> {
    let last = local.rank(index.checked_sub(1)?);
    TimelinePosition::of(last.0.checked_add(1)?, local.layout.app())
}
