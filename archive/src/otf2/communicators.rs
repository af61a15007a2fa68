//! The communicators of an observation, as an archive numbers them.

use crate::saved::SavedObservation;
use crate::saved::format::{CommId, Membership};
use crate::saved::groups::WORLD;
use std::collections::{BTreeMap, HashMap};

/// The number of a rank's communicator `MPI_COMM_SELF`.
const SELF_NUMBER: u32 = 1;
/// The communicator that stands for every rank's own.
pub const SELF: u32 = 0;

/// A communicator, or both sides of an intercommunicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comm {
    Intra(CommId),
    Inter(CommId, CommId),
}

impl Comm {
    fn of(membership: &Membership) -> Comm {
        let (own, peers) = (membership.id, membership.peers);
        if own == peers {
            Comm::Intra(own)
        } else {
            // Both sides name the same one.
            Comm::Inter(own.min(peers), own.max(peers))
        }
    }
}

/// The numbers of the communicators that were saved.
#[derive(Debug)]
pub struct Communicators {
    numbers: BTreeMap<Comm, u32>,
    /// By rank, and its own number for the communicator.
    of_ranks: HashMap<(u32, u32), u32>,
}

impl Communicators {
    /// Of an observation.
    pub fn of(saved: &SavedObservation) -> Communicators {
        let mut numbers = BTreeMap::from([(Comm::Intra(WORLD), 0)]);
        let is_self = |of: &Membership| of.number == SELF_NUMBER;
        for (_, of) in saved.memberships().filter(|(_, of)| !is_self(of)) {
            numbers.insert(Comm::of(of), 0);
        }
        // In the order of their names, so that the same observation gives the same archive.
        for (number, of) in (SELF + 1..).zip(numbers.values_mut()) {
            *of = number;
        }
        let number = |of: &Membership| {
            if is_self(of) {
                SELF
            } else {
                numbers[&Comm::of(of)]
            }
        };
        let memberships = saved.memberships();
        let of_ranks = memberships
            .map(|(rank, of)| ((rank, of.number), number(of)))
            .collect();
        Communicators { numbers, of_ranks }
    }

    /// All of them but those of single ranks, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&Comm, u32)> {
        self.numbers.iter().map(|(comm, number)| (comm, *number))
    }

    /// The number of what a rank calls so.
    pub fn number(&self, rank: u32, number: u32) -> Option<u32> {
        self.of_ranks.get(&(rank, number)).copied()
    }
}
