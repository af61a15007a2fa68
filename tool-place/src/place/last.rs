//! The place's part in the last seconds of the job: a page of what its ranks' buffers keep.

use super::answers::state;
use super::{Life, Now, Place};
use crate::rank::Eagerness;
use crate::rank::last::Wanted;
use invivo_proto::control::timeline::{
    TIMELINE_LOCATIONS_MAX, TIMELINE_PAGE_MAX, Timeline, TimelinePosition,
};
use std::ops::Range;

impl Place {
    /// A page from a position on; nothing where that is another place's.
    pub(super) fn last(
        &mut self,
        now: Now,
        from: TimelinePosition,
        job_ns: Range<u64>,
        newest: u64,
        max: u32,
    ) -> Timeline {
        let Some(first) = self.index(from.location.rank) else {
            return Timeline::default();
        };
        let mut last = Timeline {
            clock_error_ns: self.moment(now).error_ns(),
            ..Timeline::default()
        };
        let is_paused = self.pauses.status(now.ns).is_some();
        let mut room = max.clamp(1, TIMELINE_PAGE_MAX) as usize;
        for index in first..self.ranks.len() {
            let rank = self.first + index as u32;
            let Some(mut begin) =
                TimelinePosition::of(rank, self.layout.app()).map(|start| start.max(from))
            else {
                continue;
            };
            // What the rank has written belongs to its last seconds, whether it has been read
            // before or not. Ranks that end are read by everything else.
            if begin.after.is_none() && self.ranks[index].life == Life::Alive && !self.is_over() {
                self.ranks[index]
                    .records
                    .peek(now.ns, now.ticks, Eagerness::Now, &mut self.feed);
            }
            let one = &self.ranks[index];
            for thread in usize::from(begin.location.thread)..one.records.threads() {
                begin.location.thread = thread as u16;
                if room == 0 || last.pieces.len() == TIMELINE_LOCATIONS_MAX {
                    last.next = Some(begin);
                    return last;
                }
                let wanted = Wanted {
                    job_ns: job_ns.clone(),
                    after: begin.after.take(),
                    newest,
                    room,
                };
                let moment = self.moment(now);
                let (mut piece, next) =
                    one.records
                        .piece(thread, &moment, self.feed.analyses.communicators(), &wanted);
                piece.state = state(one.life, piece.state, is_paused);
                let rows = piece.rows.iter();
                room = room.saturating_sub(rows.map(|row| 1 + row.parts.len()).sum());
                last.pieces.push(piece);
                if next.is_some() {
                    last.next = Some(TimelinePosition {
                        after: next,
                        ..begin
                    });
                    return last;
                }
            }
        }
        let behind = self.first + self.ranks.len() as u32;
        last.next = TimelinePosition::of(behind, self.layout.app());
        last
    }
}
