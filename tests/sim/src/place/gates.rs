//! The gates of a place's ranks: closed for a lease, which is renewed while the root is heard, and
//! open by themselves afterwards.

use super::SimPlace;
use super::lease::GATE_NS;
use crate::agenda::Time;

impl SimPlace {
    /// Closes the gates of these ranks, for a lease.
    pub(super) fn close(&mut self, ranks: impl Iterator<Item = usize>, local: u64, lease_ns: u64) {
        // A second pause renews the lease, also where it is shorter.
        self.gates.lease_until = local.saturating_add(lease_ns);
        let until = self.gates.lease_until.min(local + GATE_NS);
        for index in ranks {
            self.ranks[index].control.gate_until = until;
        }
    }

    /// Ranks that start held are so until this lease ends.
    pub fn hold_from_start(&mut self, local: u64, lease_ns: u64) {
        let closed: Vec<usize> = (0..self.ranks.len())
            .filter(|&index| self.ranks[index].control.gate_until > local)
            .collect();
        self.close(closed.into_iter(), local, lease_ns);
    }

    /// The root is alive: closed gates stay closed while the lease lasts.
    pub fn push(&mut self, local: u64) {
        if self.gates.lease_until == 0 {
            // Held from the start, and not told yet for how long.
            return;
        }
        let until = self.gates.lease_until.min(local + GATE_NS);
        for rank in &mut self.ranks {
            if rank.control.gate_until > local {
                // Only gates that are still closed: one that has opened by itself stays open.
                rank.control.gate_until = until.max(local);
            }
        }
    }

    /// Opens all gates.
    pub fn open(&mut self) {
        self.gates.lease_until = 0;
        for rank in &mut self.ranks {
            rank.control.gate_until = 0;
        }
    }

    /// When the last closed gate opens by itself, by the host's clock.
    pub fn closed_until(&self) -> Option<u64> {
        let until = self
            .ranks
            .iter()
            .map(|rank| rank.control.gate_until)
            .max()?;
        (until > 0).then_some(until)
    }

    /// The ranks whose gate is open now and who stood at it: their indices, and since when they
    /// stood.
    pub fn released(&mut self, local: u64) -> Vec<(usize, Time)> {
        let mut released = Vec::new();
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            if rank.control.gate_until <= local
                && let Some(since) = rank.standing.take()
            {
                released.push((index, since));
            }
        }
        released
    }
}
