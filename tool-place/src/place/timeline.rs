//! The place's part in the timeline of the job: a page of what its ranks' buffers keep.

use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use crate::rank::Eagerness;
use crate::rank::last::Wanted;
use crate::time_point::Now;
use invivo_proto::control::last::{LAST_LOCATIONS_MAX, LAST_PAGE_MAX, Last, Position};
use invivo_tbon::clock::JobClock;
use std::ops::Range;

/// What a page of the timeline is asked for with.
#[derive(Clone, Debug)]
pub struct PageQuery {
    pub from: Position,
    /// The stretch of job time.
    pub job_ns: Range<u64>,
    /// The newest calls of each location, at most.
    pub newest: u64,
    /// Calls and parts of the page, at most.
    pub max: u32,
}

/// A page from a position on; nothing where that is another place's. `is_over` says that nothing is
/// measured any more.
pub fn page(
    now: Now,
    query: PageQuery,
    clock: &JobClock,
    is_paused: bool,
    is_over: bool,
    local: &mut LocalRanks,
) -> Last {
    let PageQuery {
        from,
        job_ns,
        newest,
        max,
    } = query;
    let Some(first) = local.index(from.location.rank) else {
        return Last::default();
    };
    let mut last = Last {
        clock_error_ns: local.time_point(now, clock).error_ns(),
        ..Last::default()
    };
    let mut room = max.clamp(1, LAST_PAGE_MAX) as usize;
    for index in first..local.ranks.len() {
        let rank = local.rank(index).0;
        let Some(mut begin) = Position::of(rank, local.layout.app()).map(|start| start.max(from))
        else {
            continue;
        };
        // What the rank has written belongs to its last seconds, whether it has been read
        // before or not. Ranks that end are read by everything else.
        if begin.after.is_none() && local.ranks[index].life == Life::Alive && !is_over {
            local.ranks[index]
                .records
                .peek(now.ns, now.ticks, Eagerness::Now, &mut local.feed);
        }
        let one = &local.ranks[index];
        for thread in usize::from(begin.location.thread)..one.records.threads() {
            begin.location.thread = thread as u16;
            if room == 0 || last.pieces.len() == LAST_LOCATIONS_MAX {
                last.next = Some(begin);
                return last;
            }
            let wanted = Wanted {
                job_ns: job_ns.clone(),
                after: begin.after.take(),
                newest,
                room,
            };
            let moment = local.time_point(now, clock);
            let (mut piece, next) = one.records.piece(
                thread,
                &moment,
                local.feed.analyses.communicators(),
                &wanted,
            );
            piece.state = one.state(piece.state, is_paused);
            let rows = piece.rows.iter();
            room = room.saturating_sub(rows.map(|row| 1 + row.parts.len()).sum());
            last.pieces.push(piece);
            if next.is_some() {
                last.next = Some(Position {
                    after: next,
                    ..begin
                });
                return last;
            }
        }
    }
    let behind = local.rank(local.len()).0;
    last.next = Position::of(behind, local.layout.app());
    last
}
