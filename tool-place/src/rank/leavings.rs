//! What a tool place that died has left in a rank's memory, and how far it is taken.

use crate::memory::{Memory, Slot};

/// Of one rank.
#[derive(Debug, Default)]
pub struct Leavings {
    /// The definitions from the rank's start on have been read.
    has_definitions: bool,
    /// The last look found nothing new.
    is_calm: bool,
}

impl Leavings {
    /// The definitions that came, at first with those that the dead place had taken.
    pub fn definitions(&mut self, memory: &Memory, out: &mut Vec<u8>) -> Option<()> {
        match std::mem::replace(&mut self.has_definitions, true) {
            true => memory.definitions(out),
            false => memory.all_definitions(out),
        }
    }

    /// One look has been made, which took something or not.
    pub fn looked(&mut self, took: bool) {
        self.is_calm = !took;
    }

    /// Whether all is taken: the rank has been told to record no more.
    pub fn are_taken(&self) -> bool {
        self.is_calm
    }
}

/// The packets of the pool, those that have gone from it included.
pub fn slots(memory: &Memory) -> impl Iterator<Item = Slot> + '_ {
    (0..memory.packets()).filter_map(|index| memory.last_packet(index))
}
