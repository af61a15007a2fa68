//! Translates communicators and peers of the ranks below one place into ranks of the application.
//!
//! It knows the definitions of these ranks so far, and requests groups that are missing.
//!
//! Records name a peer as a rank *in a communicator*, and the communicator by the rank's own
//! number. Two kinds of definition lead to the rank of the application. Each member says which
//! communicator of the job its number stands for; of an intercommunicator also the id of the
//! *remote* group, as peers are ranks there. The members themselves are told by the communicator's
//! rank 0 alone, which may be below another place: its group is then requested from the tree
//! ([`Communicators::wanted`]) and learned from the answer ([`Communicators::learn`]). No place
//! holds more groups than it met peers on or than its own ranks told, and all of them are bounded.

use crate::groups::{self, Groups, Members};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use hashbrown::{HashMap, HashSet};
use invivo_proto::control::results::Group;
use invivo_proto::definition::Definition;
use invivo_proto::ids::{CommId, CommLocal, Rank};
use rustc_hash::FxBuildHasher;

/// Communicators of all ranks of one place of which the definition is kept: some 10 MB. Peers on
/// those defined later stay unknown.
pub const COMMUNICATORS_MAX: usize = 1 << 18;
/// Runs of all groups kept at one place: some 8 MB, enough for groups of any size that are made of
/// few runs. Peers on communicators whose group does not fit stay unknown.
pub const RUNS_MAX: usize = 1 << 18;
/// Communicators in one request, so that it is small; the next ones go into the next request.
pub const WANTED_MAX: usize = 256;

/// One communicator as one of its members knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The communicator; of an intercommunicator, the side that this rank is on.
    pub id: CommId,
    /// The group that peers are numbered in.
    pub peers: CommId,
    /// This rank's own number in it.
    pub rank: u32,
    /// How many ranks are in it; nothing of the world, which has all of the job.
    pub size: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub struct Communicators {
    memberships: HashMap<(Rank, CommLocal), Membership, FxBuildHasher>,
    groups: HashMap<CommId, Known, FxBuildHasher>,
    /// Runs in `groups`, [`RUNS_MAX`] at most.
    runs: usize,
    /// Those with processes that are no ranks of the job; [`COMMUNICATORS_MAX`] at most.
    outside: HashSet<(Rank, CommLocal), FxBuildHasher>,
    /// Where a peer was met beyond what is known of the group, with the highest such peer.
    unknown: BTreeMap<(Rank, CommLocal), u32>,
    /// The last one requested: the next request begins behind it.
    asked: Option<CommId>,
}

/// A group as reported so far, and its index for look-ups.
#[derive(Clone, Debug, Default)]
struct Known {
    group: Group,
    members: Members,
}

impl Communicators {
    /// Takes over a definition of `rank`. A malformed one is ignored.
    pub fn define(&mut self, rank: Rank, definition: &Definition<'_>) {
        match *definition {
            Definition::Communicator {
                local,
                id,
                rank: own,
                size,
                remote,
            } if self.memberships.len() < COMMUNICATORS_MAX => {
                let membership = Membership {
                    id,
                    // Peers of an intercommunicator are ranks of the remote group.
                    peers: remote.unwrap_or(id),
                    rank: own,
                    size: Some(size),
                };
                self.memberships.insert((rank, local), membership);
            }
            Definition::Outside { local } if self.outside.len() < COMMUNICATORS_MAX => {
                self.outside.insert((rank, local));
                self.unknown.remove(&(rank, local));
            }
            Definition::Group { .. } => {
                let mut told = Groups::new();
                if groups::learn(&mut told, definition).is_ok() {
                    self.learn(told);
                }
            }
            _ => {}
        }
    }

    /// Takes over groups, or pieces of them, as long as there is room. One that does not fit is not
    /// requested again before another peer is met on it.
    pub fn learn(&mut self, told: Groups) {
        for (id, group) in told {
            // The join is made on a copy, so that a group that does not fit leaves the old one
            // intact.
            let before = self.groups.get(&id).map(|known| &known.group);
            let runs_before = before.map_or(0, groups::runs);
            let mut joined = before.cloned().unwrap_or_default();
            joined.merge(&group);
            let runs = self.runs - runs_before + groups::runs(&joined);
            if runs > RUNS_MAX {
                // Without this the group would be requested again with every question, and refused
                // again.
                let memberships = &self.memberships;
                self.unknown
                    .retain(|at, _| memberships.get(at).is_none_or(|of| of.peers != id));
                continue;
            }
            self.runs = runs;
            let known = Known {
                members: Members::of(&joined),
                group: joined,
            };
            self.groups.insert(id, known);
        }
    }

    /// How a rank is a member of one of its communicators, once that is defined.
    #[inline]
    pub fn membership(&self, rank: Rank, comm: CommLocal) -> Option<Membership> {
        let (id, own, size) = match comm {
            CommLocal::WORLD => (CommId::WORLD, rank.0, None),
            CommLocal::SELF => (of_self(rank), 0, Some(1)),
            _ => return self.memberships.get(&(rank, comm)).copied(),
        };
        Some(Membership {
            id,
            peers: id,
            rank: own,
            size,
        })
    }

    /// All memberships that were defined, in no order.
    pub fn memberships(&self) -> impl Iterator<Item = (Rank, CommLocal, Membership)> {
        let each = |(&(rank, comm), &of): (&(Rank, CommLocal), &Membership)| (rank, comm, of);
        self.memberships.iter().map(each)
    }

    /// All groups that are known, whole or in part, in no order.
    pub fn groups(&self) -> impl Iterator<Item = (CommId, &Group)> {
        self.groups.iter().map(|(id, known)| (*id, &known.group))
    }

    /// The rank of the application that `peer` is on a communicator of `rank`; nothing where no
    /// definition is known.
    #[inline]
    pub fn peer(&self, rank: Rank, comm: CommLocal, peer: i32) -> Option<Rank> {
        let peer = u32::try_from(peer).ok()?;
        match comm {
            // The world needs no group: its ranks are the application's. Self has one member.
            CommLocal::WORLD => Some(Rank(peer)),
            CommLocal::SELF => (peer == 0).then_some(rank),
            _ => {
                let group = self.memberships.get(&(rank, comm))?.peers;
                self.groups.get(&group)?.members.rank(peer)
            }
        }
    }

    /// Whether peers on a communicator of `rank` may be processes outside of the job: none of them
    /// is ever known.
    pub fn is_outside(&self, rank: Rank, comm: CommLocal) -> bool {
        self.outside.contains(&(rank, comm))
    }

    /// Notes that a rank communicates with a peer; where the peer is unknown, its group is
    /// requested.
    pub fn meet(&mut self, rank: Rank, comm: CommLocal, peer: i32) {
        let Ok(number) = u32::try_from(peer) else {
            return;
        };
        let told = matches!(comm, CommLocal::WORLD | CommLocal::SELF | CommLocal::NONE);
        if !told
            && self.peer(rank, comm, peer).is_none()
            && !self.is_outside(rank, comm)
            && self.unknown.len() < COMMUNICATORS_MAX
        {
            let highest = self.unknown.entry((rank, comm)).or_default();
            *highest = number.max(*highest);
        }
    }

    /// Whether the group of a communicator on which a peer was met is missing.
    pub fn is_missing(&self, id: CommId) -> bool {
        let reach = self.reach(id);
        self.unknown.iter().any(|(at, highest)| {
            let is_of_it = self.memberships.get(at).is_some_and(|of| of.peers == id);
            is_of_it && reach <= u64::from(*highest)
        })
    }

    /// Ranks from 0 on whose members are known.
    fn reach(&self, id: CommId) -> u64 {
        let known = self.groups.get(&id);
        known.map_or(0, |known| known.members.reach())
    }

    /// Communicators whose group is missing, at most [`WANTED_MAX`]; where there are more, the next
    /// question asks for the next ones. They are named again until they are known, so asking once
    /// in a second or so is enough.
    pub fn wanted(&mut self) -> Vec<CommId> {
        let (memberships, groups) = (&self.memberships, &self.groups);
        let mut missing = Vec::new();
        self.unknown.retain(|at, highest| {
            // Without its own definition the communicator has no name yet to ask by.
            let Some(membership) = memberships.get(at) else {
                return true;
            };
            let reach = groups
                .get(&membership.peers)
                .map_or(0, |known| known.members.reach());
            let known = reach > u64::from(*highest);
            if !known {
                missing.push(membership.peers);
            }
            !known
        });
        missing.sort_unstable();
        missing.dedup();
        let behind = self
            .asked
            .map_or(0, |asked| missing.partition_point(|id| *id <= asked));
        missing.rotate_left(behind);
        missing.truncate(WANTED_MAX);
        self.asked = missing.last().copied();
        missing
    }
}

/// An id for `MPI_COMM_SELF` of a rank that needs no definition: no list of numbers gives it.
fn of_self(rank: Rank) -> CommId {
    CommId {
        leader: rank,
        counter: u32::MAX,
    }
}

#[cfg(test)]
mod tests;
