//! A rank's part of a save: its buffers frozen, what is known of them at that moment, and their
//! bins.

use super::RankRecords;
use crate::analyses::Analyses;
use crate::store::Gone;
use crate::time_point::TimePoint;
use invivo_analysis::communicators::{Communicators, Membership};
use invivo_proto::control::saved::{CLOCK_POINTS_MAX, SAVED_COMMS_MAX, SavedLocation};
use invivo_proto::control::timeline::{Member, Piece};
use invivo_proto::ids::{CommLocal, LocationId};
use std::ops::Range;

/// A location whose buffer is frozen, if it has one.
#[derive(Debug)]
pub struct FrozenLocation {
    /// What is known of it.
    pub about: SavedLocation,
    /// Bytes of the bins that are held; nothing where there is no buffer.
    pub bytes: Option<u64>,
}

impl RankRecords {
    /// Freezes the buffer of one of its locations, and says what is known of it. Bins of calls that
    /// ended before the begin are not held.
    pub fn freeze(
        &mut self,
        thread: usize,
        moment: &TimePoint<'_>,
        analyses: &Analyses,
        job_ns: &Range<u64>,
    ) -> FrozenLocation {
        let since = moment.ticks_of(job_ns.start);
        let mut bytes = None;
        let mut oldest = moment.ticks();
        if let Some(location) = self.locations.get_mut(thread) {
            let span = location
                .store
                .buffer()
                .and_then(|buffer| buffer.fill().span);
            oldest = span.map_or(oldest, |(oldest, _)| oldest.min(moment.ticks()));
            bytes = location.store.freeze(since);
        }
        let mut piece = Piece {
            location: LocationId {
                rank: self.rank,
                thread: thread as u16,
            },
            ..Piece::default()
        };
        self.describe(&mut piece, thread, moment, analyses, job_ns.end);
        FrozenLocation {
            about: SavedLocation {
                piece,
                comms_left_out: 0,
                pauses: Vec::new(),
                paces: Vec::new(),
                clock: clock_points(moment, oldest.max(since.min(moment.ticks()))),
            },
            bytes,
        }
    }

    /// Appends the next bin of a location's frozen buffer; its chain, or nothing behind the last.
    ///
    /// # Errors
    /// When the buffer has gone to another thread: what is left of it is lost.
    pub fn next_bin(&mut self, thread: usize, into: &mut Vec<u8>) -> Result<Option<u32>, Gone> {
        match self.locations.get_mut(thread) {
            Some(location) => location.store.next_bin(into),
            None => Err(Gone),
        }
    }

    /// Lets a frozen buffer go.
    pub fn thaw(&mut self, thread: usize) {
        if let Some(location) = self.locations.get_mut(thread) {
            location.store.thaw();
        }
    }
}

/// Tells what a rank's numbers of communicators mean; how many there is no room for.
pub fn name_communicators(
    piece: &mut Piece,
    known: &Communicators,
    memberships: &[(CommLocal, Membership)],
) -> u64 {
    let rank = piece.location.rank;
    let always = [CommLocal::WORLD, CommLocal::SELF];
    let always = always.map(|comm| (comm, known.membership(rank, comm)));
    let always = always
        .into_iter()
        .filter_map(|(comm, of)| Some((comm, of?)));
    let room = SAVED_COMMS_MAX.min(memberships.len());
    for (comm, of) in always.chain(memberships[..room].iter().copied()) {
        let member = Member {
            id: of.id,
            peers: of.peers,
            rank: of.rank,
        };
        piece.comms.insert(comm, member);
    }
    (memberships.len() - room) as u64
}

/// Points from some ticks to now, at equal distances, with the job time that each stands for.
fn clock_points(moment: &TimePoint<'_>, from: u64) -> Vec<(u64, u64)> {
    let steps = CLOCK_POINTS_MAX as u64 - 1;
    let width = moment.ticks().saturating_sub(from);
    let at = |step: u64| from + (u128::from(width) * u128::from(step) / u128::from(steps)) as u64;
    let mut points: Vec<(u64, u64)> = Vec::new();
    for step in 0..=steps {
        let ticks = at(step);
        let job_ns = moment.job_of_ticks(ticks);
        // Clocks are measured anew meanwhile: time never runs backwards in what is saved.
        match points.last() {
            Some(last) if ticks <= last.0 => {}
            Some(last) => points.push((ticks, job_ns.max(last.1))),
            None => points.push((ticks, job_ns)),
        }
    }
    points
}
