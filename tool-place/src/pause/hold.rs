//! Hold: keeps ranks at the end of `MPI_Init`, from the start of the job or on command.
//!
//! No process is stopped: a rank runs until it is there, and the closed gate keeps it in the call.

use super::action::PauseAction;
use super::hold_state::{Hold, Stand};
use super::requested::{Asked, fail};
use super::{Pauses, Presence, until};
use invivo_proto::ids::{CommandId, Rank};
use std::collections::BTreeSet;

impl Pauses {
    /// The job begins: its ranks are held for so long at most, or not at all.
    pub fn begin(&mut self, now_ns: u64, hold_lease_ns: u64) -> Vec<PauseAction> {
        self.begun = true;
        let present: Vec<Rank> = self.with(Presence::Present).collect();
        if hold_lease_ns == 0 {
            return match present.is_empty() {
                true => Vec::new(),
                false => vec![PauseAction::Free { ranks: present }],
            };
        }
        self.hold_for(now_ns, hold_lease_ns)
    }

    /// Ranks whose position is to be reported by [`Pauses::stood`] until they are held.
    pub fn awaited(&self) -> Vec<Rank> {
        let asked = self.hold.as_ref().and_then(|hold| hold.asked.as_ref());
        let present = |rank: &Rank| self.lives.get(rank) == Some(&Presence::Present);
        asked
            .map(|asked| asked.waiting.iter().copied().filter(present).collect())
            .unwrap_or_default()
    }

    /// Where a rank is whose gate was closed by [`PauseAction::Hold`].
    pub fn stood(&mut self, now_ns: u64, rank: Rank, stand: Stand) -> Vec<PauseAction> {
        let paused = self.pause.is_some();
        let Some(hold) = &mut self.hold else {
            return Vec::new();
        };
        let mut actions = Vec::new();
        match stand {
            Stand::Before => {
                hold.ranks.insert(rank);
            }
            Stand::Behind => {
                hold.ranks.insert(rank);
                hold.answered(now_ns, rank, None);
            }
            Stand::Past => {
                hold.ranks.remove(&rank);
                // Its gate was closed before it was known how far the rank is: open it again.
                hold.answered(now_ns, rank, Some("is past MPI_Init; use pause"));
                if !paused {
                    actions.push(PauseAction::Free { ranks: vec![rank] });
                }
            }
        }
        actions.extend(Asked::acknowledge(&mut hold.asked));
        actions
    }

    pub(super) fn begin_hold(
        &mut self,
        now_ns: u64,
        command: CommandId,
        lease_ns: u64,
    ) -> Vec<PauseAction> {
        let mut acks = self.targets();
        let mut waiting = BTreeSet::new();
        for (rank, life) in &self.lives {
            match life {
                Presence::Done => fail(&mut acks, *rank, "has ended"),
                Presence::Absent | Presence::Present => {
                    waiting.insert(*rank);
                }
            }
        }
        let mut actions = self.hold_for(now_ns, lease_ns);
        if let Some(hold) = &mut self.hold {
            actions.extend(Asked::conclude(&mut hold.asked, "another hold came first"));
            hold.asked = Some(Asked {
                command,
                pausing: false,
                began_ns: now_ns,
                waiting,
                acks,
            });
            actions.extend(Asked::acknowledge(&mut hold.asked));
        }
        actions
    }

    /// A hold is in force, for so long from now.
    fn hold_for(&mut self, now_ns: u64, lease_ns: u64) -> Vec<PauseAction> {
        // The gate's word must not be 0, and supervisors close the gates of a job that begins held
        // with 1.
        self.generation = self.generation.max(1);
        let hold = self.hold.get_or_insert(Hold {
            lease_end_ns: 0,
            ranks: BTreeSet::new(),
            asked: None,
        });
        // A hold on top of a hold has the newer lease, even where that is shorter.
        hold.lease_end_ns = now_ns.saturating_add(lease_ns);
        let present: Vec<Rank> = self.with(Presence::Present).collect();
        match &self.hold {
            Some(hold) if !present.is_empty() => vec![self.close_for_hold(now_ns, hold, present)],
            _ => Vec::new(),
        }
    }

    pub(super) fn close_for_hold(&self, now_ns: u64, hold: &Hold, ranks: Vec<Rank>) -> PauseAction {
        PauseAction::Hold {
            ranks,
            generation: self.generation,
            until_ns: self.held_until(now_ns, hold),
        }
    }

    /// The gate of a rank that is paused and held stays closed for the longer of the two.
    pub(super) fn held_until(&self, now_ns: u64, hold: &Hold) -> u64 {
        let paused = self
            .pause
            .map_or(0, |pause| until(now_ns, pause.lease_end_ns));
        until(now_ns, hold.lease_end_ns).max(paused)
    }

    /// How long a hold keeps this rank's gate closed, if it does.
    pub(super) fn held_rank_until(&self, now_ns: u64, rank: Rank) -> Option<u64> {
        let hold = self
            .hold
            .as_ref()
            .filter(|hold| hold.ranks.contains(&rank))?;
        Some(until(now_ns, hold.lease_end_ns))
    }

    /// Ranks whose gate a hold keeps closed.
    pub(super) fn held(&self) -> Vec<Rank> {
        let hold = self.hold.as_ref();
        hold.map(|hold| hold.ranks.iter().copied().collect())
            .unwrap_or_default()
    }

    pub(super) fn finished_held(&mut self, now_ns: u64, rank: Rank) -> Option<PauseAction> {
        let hold = self.hold.as_mut()?;
        hold.ranks.remove(&rank);
        hold.answered(now_ns, rank, Some("has ended"));
        Asked::acknowledge(&mut hold.asked)
    }

    pub(super) fn tick_held(&mut self, now_ns: u64) -> Vec<PauseAction> {
        let mut actions = Vec::new();
        if self
            .hold
            .as_ref()
            .is_some_and(|hold| now_ns >= hold.lease_end_ns)
        {
            let freed = self.end_hold("has not come to the end of MPI_Init in time", &mut actions);
            // During a pause the same gates stay closed for that.
            if self.pause.is_none() && !freed.is_empty() {
                actions.push(PauseAction::Free { ranks: freed });
            }
        }
        actions
    }

    /// No hold any more. The ranks whose gates it has kept closed.
    pub(super) fn end_hold(&mut self, why: &str, actions: &mut Vec<PauseAction>) -> Vec<Rank> {
        let Some(mut hold) = self.hold.take() else {
            return Vec::new();
        };
        actions.extend(Asked::conclude(&mut hold.asked, why));
        hold.ranks.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
