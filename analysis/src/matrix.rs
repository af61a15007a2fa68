//! The point-to-point communication matrix: messages and bytes from each rank to each other rank, once as the
//! senders tell it and once as the receivers do.
//!
//! Leaf state: for each (rank, communicator as the rank numbers it, peer as the communicator numbers it) the
//! messages and bytes of both directions, in a hash table. A message counts as sent when it is posted
//! (`Send`, `PostSend`), as received when it has come (`Recv`, `CompletedRecv`); either may be a call or a
//! part of one. Special peers are no ranks, and nothing moves between a rank and `MPI_PROC_NULL`: negative
//! peers have no cell.
//!
//! Names are resolved in two steps, as the knowledge lies in two places. The rank's own definitions give the
//! communicator its number in the job ([`MatrixLeaf::to_partial`]); of an intercommunicator that is the number
//! of the *remote* group, as peers are ranks there. At the root the groups give the peers their ranks
//! ([`resolve`]). What cannot be resolved is counted as such and put into no other cell.

use crate::groups::{Groups, Members};
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use hashbrown::HashMap;
use invivo_proto::control::results::{CommKey, Matrix, MatrixPartial, Traffic};
use invivo_proto::definition::Definition;
use invivo_proto::ids::{CommId, CommLocal, Rank};
use invivo_proto::mpi::peer;
use invivo_proto::record::{Call, Facts, Kind, Part};
use rustc_hash::FxBuildHasher;

/// Cells of one place's matrix: 13 MB of memory, and a partial result of at most 10 MB, which fits into one
/// control message. What goes to further pairs is counted as not resolved.
pub const CELLS_MAX: usize = 1 << 17;
/// Communicators of all ranks of one place of which the definition is kept: some 8 MB. Traffic on those
/// defined later is counted as not resolved.
pub const COMMUNICATORS_MAX: usize = 1 << 18;

/// The matrix of the ranks below one place.
#[derive(Clone, Debug, Default)]
pub struct MatrixLeaf {
    cells: HashMap<Cell, Directions, FxBuildHasher>,
    /// Where the peers on a communicator have their ranks, world and self apart.
    communicators: BTreeMap<(Rank, CommLocal), CommId>,
}

// What the memory in the comment above is computed from: a table of 2^18 buckets and a byte each.
const _: () = assert!(size_of::<(Cell, Directions)>() == 48);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Cell {
    rank: Rank,
    comm: CommLocal,
    peer: i32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Directions {
    sent: Traffic,
    received: Traffic,
}

impl MatrixLeaf {
    /// Takes over what a definition of `rank` says about its communicators.
    pub fn learn(&mut self, rank: Rank, definition: &Definition<'_>) {
        if let Definition::Communicator {
            local, id, remote, ..
        } = *definition
            && self.communicators.len() < COMMUNICATORS_MAX
        {
            self.communicators.insert((rank, local), remote.unwrap_or(id));
        }
    }

    /// Counts what a call and its parts moved.
    #[inline]
    pub fn record(&mut self, rank: Rank, call: &Call, parts: &[Part]) {
        self.moved(rank, &call.facts);
        self.record_more(rank, parts);
    }

    /// Counts more parts of a call that was counted before.
    #[inline]
    pub fn record_more(&mut self, rank: Rank, parts: &[Part]) {
        for part in parts {
            self.moved(rank, &part.facts);
        }
    }

    #[inline(always)]
    fn moved(&mut self, rank: Rank, facts: &Facts) {
        if facts.peer < 0 {
            return;
        }
        let at = Cell {
            rank,
            comm: facts.comm,
            peer: facts.peer,
        };
        match facts.kind {
            Kind::Send | Kind::PostSend => count(&mut self.cell(at).sent, facts.bytes_out),
            Kind::Recv | Kind::CompletedRecv => count(&mut self.cell(at).received, facts.bytes_in),
            _ => {}
        }
    }

    #[inline(always)]
    fn cell(&mut self, at: Cell) -> &mut Directions {
        // A full table still counts what it has cells for; the rest of a rank shares one cell.
        let full = self.cells.len() >= CELLS_MAX && !self.cells.contains_key(&at);
        let at = if full {
            Cell {
                comm: CommLocal::NONE,
                peer: peer::NONE,
                ..at
            }
        } else {
            at
        };
        self.cells.entry(at).or_default()
    }

    /// The matrix so far, communicators by their numbers in the job where their definition has come.
    pub fn to_partial(&self) -> MatrixPartial {
        let mut partial = MatrixPartial::default();
        for (cell, directions) in &self.cells {
            let (key, peer) = self.name(cell);
            for (traffic, side) in [
                (directions.sent, &mut partial.sent),
                (directions.received, &mut partial.received),
            ] {
                if traffic.messages != 0 {
                    add(side.entry((cell.rank, key, peer)).or_default(), traffic);
                }
            }
        }
        partial
    }

    fn name(&self, cell: &Cell) -> (CommKey, i32) {
        match (cell.comm, i32::try_from(cell.rank.0)) {
            (CommLocal::WORLD, _) => (CommKey::Group(CommId::WORLD), cell.peer),
            // The only member of self is the rank itself, which the world knows.
            (CommLocal::SELF, Ok(rank)) if cell.peer == 0 => (CommKey::Group(CommId::WORLD), rank),
            (CommLocal::SELF, _) => (CommKey::Unknown(cell.rank, cell.comm), cell.peer),
            (comm, _) => match self.communicators.get(&(cell.rank, comm)) {
                Some(id) => (CommKey::Group(*id), cell.peer),
                None => (CommKey::Unknown(cell.rank, comm), cell.peer),
            },
        }
    }
}

/// Adds the cells of `from`.
pub fn merge(into: &mut MatrixPartial, from: MatrixPartial) {
    for (into, from) in [(&mut into.sent, from.sent), (&mut into.received, from.received)] {
        for (key, traffic) in from {
            add(into.entry(key).or_default(), traffic);
        }
    }
}

/// Gives the peers their ranks in a world of `ranks` ranks. Traffic of both directions whose peer has none is
/// summed in `unresolved`.
pub fn resolve(partial: &MatrixPartial, groups: &Groups, ranks: u32) -> Matrix {
    let mut matrix = Matrix::default();
    let mut known = Known {
        groups,
        ranks,
        members: BTreeMap::new(),
    };
    for (&(rank, key, peer), &traffic) in &partial.sent {
        match known.rank(key, peer) {
            Some(to) => add(matrix.sent.entry((rank, to)).or_default(), traffic),
            None => add(&mut matrix.unresolved, traffic),
        }
    }
    for (&(rank, key, peer), &traffic) in &partial.received {
        match known.rank(key, peer) {
            Some(from) => add(matrix.received.entry((from, rank)).or_default(), traffic),
            None => add(&mut matrix.unresolved, traffic),
        }
    }
    matrix
}

/// Groups, made ready for questions when first asked for.
struct Known<'a> {
    groups: &'a Groups,
    ranks: u32,
    members: BTreeMap<CommId, Members>,
}

impl Known<'_> {
    fn rank(&mut self, key: CommKey, peer: i32) -> Option<Rank> {
        let CommKey::Group(id) = key else { return None };
        let peer = u32::try_from(peer).ok()?;
        // The world needs no group: its ranks are the application's.
        let rank = if id == CommId::WORLD {
            Rank(peer)
        } else {
            let members = match self.members.entry(id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(Members::of(self.groups.get(&id)?)),
            };
            members.rank(peer)?
        };
        (rank.0 < self.ranks).then_some(rank)
    }
}

#[inline(always)]
fn count(into: &mut Traffic, bytes: u64) {
    add(into, Traffic { messages: 1, bytes });
}

#[inline(always)]
fn add(into: &mut Traffic, from: Traffic) {
    into.messages = into.messages.saturating_add(from.messages);
    into.bytes = into.bytes.saturating_add(from.bytes);
}

#[cfg(test)]
mod tests;
