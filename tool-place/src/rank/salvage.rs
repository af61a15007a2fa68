//! Takes the records that a place which died has left in a rank's memory.
//!
//! Whatever the pool holds is taken, in its order: the open packet, those that wait or are on their
//! way to the dead place, and those that it has had and whose slots are not in use again. Between
//! two of them packets may be gone: nothing is waited for, and the calls that are missing in the
//! end are those that the place had.

use super::RankRecords;
use super::leavings::Leavings;
use crate::memory::{Memory, Slot};

impl RankRecords {
    /// Its supervisor attached, with its memory, after the death of the place that it had.
    pub fn salvage(&mut self, memory: Memory) {
        self.attach(memory);
        self.leavings = Some(Leavings::default());
    }

    /// Whether only what a dead place has left of it is taken.
    pub fn is_salvaged(&self) -> bool {
        self.leavings.is_some()
    }

    /// One look is over, and `took` something or not: packets that were opened and are in no slot
    /// are gone.
    pub(super) fn salvaged(&mut self, slots: &[Slot], took: bool) {
        for thread in 0..self.locations.len() {
            let opened = self.opened(thread);
            let intake = &mut self.locations[thread].intake;
            let (next, _) = intake.wants();
            let is_ahead =
                |slot: &Slot| usize::from(slot.location) == thread && slot.sequence >= next;
            if !slots.iter().any(is_ahead) {
                intake.skip_to(opened);
            }
        }
        if let Some(leavings) = &mut self.leavings {
            leavings.looked(took);
        }
    }
}
