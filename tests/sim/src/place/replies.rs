//! Acknowledgements of a simulated place.

use super::SimPlace;
use super::steering::{Due, Moment, Reply};
use crate::agenda::{MS, Time};
use crate::history::{Obeyed, Outcome};
use crate::plant::Plant;
use crate::rank::SimRank;
use invivo_proto::control::tree::{self, Acks, FAILURES_MAX};
use invivo_proto::ids::{CommandId, Rank};

/// The longest that supervisors take to act: well below the tree's time-out for a place.
const ACT_NS_MAX: Time = 400 * MS;

impl SimPlace {
    /// Of a command that supervisors do: some ranks refuse, some are held in MPI.
    pub(super) fn acted(&mut self, id: CommandId) -> Reply {
        // Supervisors answer later: other commands may come meanwhile.
        let after = self.rng.u64(..ACT_NS_MAX);
        let rng = &mut self.rng;
        let outcome = |rank: &SimRank| {
            let outcome = match rng.u32(..20) {
                0 => Outcome::Failed("refused in simulation".to_owned()),
                1..5 => Outcome::HeldInMpi,
                5 => Outcome::Partly,
                _ => Outcome::Done,
            };
            (rank.rank, outcome, rng.u64(..=after))
        };

        let obeyed = Obeyed {
            ranks: self.ranks.iter().map(outcome).collect(),
            ..Obeyed::default()
        };

        self.reply(id, obeyed, after)
    }

    pub(super) fn done(
        &self,
        now: Moment,
        due: Due,
        from: Option<tree::Cut>,
        clipped: u64,
    ) -> Reply {
        let obeyed = Obeyed {
            ranks: self.all(Outcome::Done, now.time - due.arrived),
            from,
            clipped,
            ..Obeyed::default()
        };
        self.reply(due.command, obeyed, 0)
    }

    pub(super) fn refused_all(&self, command: CommandId, why: &str) -> Reply {
        let obeyed = Obeyed {
            ranks: self.all(Outcome::Failed(why.to_owned()), 0),
            ..Obeyed::default()
        };
        self.reply(command, obeyed, 0)
    }

    pub(super) fn all(&self, outcome: Outcome, took: Time) -> Vec<(Rank, Outcome, Time)> {
        self.ranks
            .iter()
            .map(|rank| (rank.rank, outcome.clone(), took))
            .collect()
    }

    pub(super) fn reply(&self, command: CommandId, mut obeyed: Obeyed, after: Time) -> Reply {
        obeyed.ranks.sort_unstable_by_key(|&(rank, ..)| rank);
        let mut acks = Acks {
            targets: obeyed.ranks.len() as u32,
            from: obeyed.from,
            to: obeyed.to,
            complete_ns: obeyed.complete_ns,
            clipped: obeyed.clipped,
            open: obeyed.open,
            ..Acks::default()
        };

        for (rank, outcome, ns) in &obeyed.ranks {
            match outcome {
                Outcome::Failed(_) if self.plant == Some(Plant::AckFailure) => acks.done += 1,
                Outcome::Failed(why) if acks.failures.len() < FAILURES_MAX => {
                    acks.failures.push((*rank, why.clone()));
                }
                Outcome::Failed(_) => {}
                Outcome::Done => acks.done += 1,
                Outcome::HeldInMpi => {
                    (acks.done, acks.held_in_mpi) = (acks.done + 1, acks.held_in_mpi + 1)
                }
                Outcome::Partly => (acks.done, acks.partly) = (acks.done + 1, acks.partly + 1),
            }
            // Of equals the first, which is the lowest: the ranks are sorted.
            if acks.slowest.is_none_or(|(_, slowest)| *ns > slowest) {
                acks.slowest = Some((*rank, *ns));
            }
        }

        Reply {
            command,
            obeyed,
            acks,
            after,
        }
    }
}
