//! Examines a rank at a cut: which calls are open across it, and whether all before it is taken.
//!
//! [`RankRecords::stand`] tells for a hold whether the rank has reached the end of its `MPI_Init`.

use super::ledger_report::region;
use super::{Eagerness, Feed, RankRecords, slots};
use crate::cuts::CutNumber;
use crate::memory::{Memory, Slot};
use crate::pause::Stand;
use crate::recording::Seen;
use invivo_proto::mpi::is_initialisation;
use invivo_proto::shm::{Status, inside, phase, recording};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// What a status page said before the packets were looked at.
struct Flags {
    /// A call that may be open and began before the point: where it began.
    open: Option<Open>,
    packets: u64,
}

/// A call that has not left, or whose record is not written yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// Noted, with its begin.
    Since(u64),
    /// Entered while nothing was recorded, before recording was switched on: it will be recorded
    /// from there.
    Unseen,
}

impl RankRecords {
    /// Takes what is there, and reports what is open across `at` (in ticks), which has passed, and
    /// what was clipped by these cuts.
    pub fn look(
        &mut self,
        at: u64,
        cuts: &Range<CutNumber>,
        now_ns: u64,
        now_ticks: u64,
        feed: &mut Feed,
    ) -> Seen {
        let Some(memory) = &self.memory else {
            return Seen {
                all_taken: true,
                ..Seen::default()
            };
        };
        // Flags before packets: a thread that is not in a call now has committed every record of
        // before.
        let word = memory.page().control.recording.load(Ordering::Acquire);
        let flags: Vec<Flags> = memory
            .locations()
            .map(|status| Flags {
                open: open(status, at, word),
                packets: status.packets.load(Ordering::Acquire),
            })
            .collect();

        let there: Vec<Slot> = slots(memory).collect();
        self.peek(now_ns, now_ticks, Eagerness::Now, feed);
        let mut seen = Seen {
            all_taken: true,
            open: 0,
            clipped: self.clipped_by(cuts),
        };

        for (thread, flags) in flags.iter().enumerate() {
            // By the numbers of before: records that came during the scan are behind the cut.
            seen.all_taken &= self.has_taken(thread, flags.packets, &there);
            // What looked open and has been read meanwhile had ended.
            let last_begin = self
                .locations
                .get(thread)
                .and_then(|l| l.intake.last_begin());
            let recorded = |open: Open| match open {
                Open::Since(begin) => last_begin >= Some(begin),
                Open::Unseen => false,
            };
            seen.open += u64::from(flags.open.is_some_and(|open| !recorded(open)));
        }
        seen
    }

    /// Calls that these cuts clipped, as far as they have been read.
    pub fn clipped_by(&self, cuts: &Range<CutNumber>) -> u64 {
        let locations = self.locations.iter();
        locations
            .map(|location| location.cut_off.clipped_by(cuts))
            .sum()
    }

    /// Whether what was committed when `there` was seen is taken: `packets` were opened then.
    fn has_taken(&self, thread: usize, packets: u64, there: &[Slot]) -> bool {
        let (next, at) = self
            .locations
            .get(thread)
            .map_or((0, 0), |location| location.intake.wants());
        if next >= packets {
            return true;
        }
        let of_location =
            |slot: &&Slot| usize::from(slot.location) == thread && slot.sequence == next;
        // A packet that was in no slot is on its way over MPI.
        next + 1 == packets
            && there
                .iter()
                .find(of_location)
                .is_some_and(|slot| at >= slot.committed)
    }

    /// Where the rank is as far as a hold is concerned. `was_closed` says that its gate was closed
    /// before it could have passed it: a rank that seems to have just passed is on its way to the
    /// gate then.
    pub fn stand(&self, was_closed: bool) -> Stand {
        let Some(page) = self.memory.as_ref().map(Memory::page) else {
            return Stand::Before;
        };
        match page.phase.load(Ordering::Acquire) {
            phase::STARTING => return Stand::Before,
            phase::RUNNING => {}
            _ => return Stand::Past,
        }
        let status = &page.status[0];
        let is_inside = status.inside.load(Ordering::Acquire);
        // The rank runs, but its first thread has no status page yet.
        if status.tid.load(Ordering::Acquire) == 0 {
            return Stand::Before;
        }
        if region(status).0 == 0 {
            // The call that initialises is named before the rank runs: this is a later one, which
            // is not recorded.
            return Stand::Past;
        }
        match is_inside {
            _ if !is_initialisation(region(status)) => Stand::Past,
            inside::HELD_AT_LEAVE => Stand::Behind,
            inside::MPI => Stand::Before,
            inside::APPLICATION if was_closed => Stand::Before,
            _ => Stand::Past,
        }
    }
}

/// The call that a page shows, if it began before `at`. Its record may be written already: callers
/// compare with what they have read.
fn open(status: &Status, at: u64, word: u32) -> Option<Open> {
    if status.inside.load(Ordering::Acquire) != inside::MPI {
        return None;
    }
    let noted = status.entered_at.load(Ordering::Acquire);
    if status.region.load(Ordering::Relaxed) != 0 {
        return (noted < at).then_some(Open::Since(noted));
    }
    // Without a region, `entered_at` is the recording word as the call found it: off. A greater
    // word now means on, or off again in a later epoch.
    // Where the program has switched recording off it will not be recorded.
    let noted = recording::position(noted as u32);
    (!recording::is_off_by_program(word) && noted < recording::position(word))
        .then_some(Open::Unseen)
}
