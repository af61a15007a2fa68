//! The point-to-point communication matrix: messages and bytes from each rank to each other rank.
//!
//! Senders and receivers are counted apart, in blocks of neighbouring ranks.
//!
//! Leaf state: for each (rank, communicator as the rank numbers it, peer as the communicator
//! numbers it) the messages and bytes of both directions, in rows that a hash table finds. A small
//! table in front of it holds the rows met last: records come in packets of one rank, which speaks
//! with few others at a time. A message counts as sent
//! when it is posted (`Send`, `PostSend`), as received when it has come (`Recv`, `CompletedRecv`);
//! either may be a call or a part of one. Special peers are no ranks, and nothing moves between a
//! rank and `MPI_PROC_NULL`: negative peers have no cell.
//!
//! The place gives the peers their ranks of the application ([`Communicators`]) and adds up the
//! cells of each block. What goes up the tree so has at most as many rows and columns as were asked
//! for, whatever the number of ranks, and partial matrices are added. Traffic whose peer is not
//! known (yet) is `unresolved`, that on communicators with processes which are no ranks of the job
//! is `outside`; neither is put into a cell.

use crate::communicators::Communicators;
use crate::groups::Groups;
use crate::history::cover;
use crate::rank_rows::{RankRows, Sum};
use alloc::vec::Vec;
use hashbrown::HashMap;
use invivo_proto::control::results::{Matrix, Traffic};
use invivo_proto::definition::Definition;
use invivo_proto::ids::{CommId, CommLocal, Rank};
use invivo_proto::mpi::peer;
use invivo_proto::record::{Call, Facts, Part, RecordKind};
use rustc_hash::FxBuildHasher;

/// Cells of one place's matrix: 11 MB of memory. What goes to further pairs is counted as not
/// resolved.
pub const CELLS_MAX: usize = 1 << 17;
/// Rows and columns of a matrix, whatever was asked for: 13 MB where every cell has traffic and
/// every number is as long as it can be, so that a matrix fits into one control message.
pub const SIDE_MAX: u32 = 512;

/// The matrix of the ranks below one place.
#[derive(Clone, Debug, Default)]
pub struct MatrixLeaf {
    cells: Vec<(Cell, Directions)>,
    /// Where in `cells` each stands.
    index: HashMap<Cell, u32, FxBuildHasher>,
    recent: Recent,
    communicators: Communicators,
}

// What the memory in the comment above is computed from: 2^17 cells, and a table of 2^18 buckets
// and a byte each.
const _: () = assert!(size_of::<(Cell, Directions)>() == 48);
const _: () = assert!(size_of::<(Cell, u32)>() == 16);

/// The cells met last, by the lowest bits of their peers; a cell that is not there may still be in
/// the matrix.
#[derive(Clone, Debug)]
struct Recent([(Cell, u32); RECENT]);

/// 1 KiB, of a first cache level that decoding and storing use as well; ranks that speak with more
/// others at a time are rare.
const RECENT: usize = 64;

impl Default for Recent {
    fn default() -> Recent {
        Recent([(Cell::NONE, 0); RECENT])
    }
}

impl Recent {
    #[inline(always)]
    fn slot(at: &Cell) -> usize {
        // Communicators of two, of which a rank may have many, have the same peers.
        (at.peer as u32).wrapping_add(at.comm.0.wrapping_mul(5)) as usize % RECENT
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Cell {
    rank: Rank,
    comm: CommLocal,
    peer: i32,
}

impl Cell {
    /// No message's.
    const NONE: Cell = Cell {
        rank: Rank(u32::MAX),
        comm: CommLocal::NONE,
        peer: peer::NONE,
    };
}

/// Traffic with one peer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Directions {
    sent: Traffic,
    received: Traffic,
}

impl Sum for Directions {
    fn add(&mut self, from: &Directions) {
        self.sent.add(from.sent);
        self.received.add(from.received);
    }
}

/// A peer of a rank: the communicator as the rank numbers it, and the peer in that.
pub type With = (CommLocal, i32);

impl Directions {
    fn messages(&self) -> u64 {
        self.sent.messages.saturating_add(self.received.messages)
    }
}

impl MatrixLeaf {
    /// Takes over a definition of `rank`, if it is one of a communicator or group.
    pub fn learn(&mut self, rank: Rank, definition: &Definition<'_>) {
        self.communicators.define(rank, definition);
    }

    /// Takes over groups that other places reported.
    pub fn learn_groups(&mut self, groups: Groups) {
        self.communicators.learn(groups);
    }

    /// Communicators on which a peer was met and whose group is missing; see
    /// [`Communicators::wanted`].
    pub fn wanted(&mut self) -> Vec<CommId> {
        self.communicators.wanted()
    }

    /// A peer was met, otherwise than in a message; see [`Communicators::meet`].
    pub fn meet(&mut self, rank: Rank, comm: CommLocal, peer: i32) {
        self.communicators.meet(rank, comm, peer);
    }

    /// What is known about the communicators.
    pub fn communicators(&self) -> &Communicators {
        &self.communicators
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

    /// Forgets all traffic; what is known about communicators stays.
    pub fn reset(&mut self) {
        self.cells = Vec::new();
        self.index = HashMap::default();
        self.recent = Recent::default();
    }

    #[inline(always)]
    fn moved(&mut self, rank: Rank, facts: &Facts) {
        // MPI_PROC_NULL, MPI_ANY_SOURCE and the like are negative.
        if facts.peer < 0 {
            return;
        }

        let at = Cell {
            rank,
            comm: facts.comm,
            peer: facts.peer,
        };

        match facts.kind {
            RecordKind::Send | RecordKind::PostSend => {
                count(&mut self.cell(at).sent, facts.bytes_out)
            }
            RecordKind::Recv | RecordKind::CompletedRecv => {
                count(&mut self.cell(at).received, facts.bytes_in)
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn cell(&mut self, at: Cell) -> &mut Directions {
        let (cell, index) = self.recent.0[Recent::slot(&at)];
        let index = if cell == at { index } else { self.find(at) };
        &mut self.cells[index as usize].1
    }

    #[inline(never)]
    fn find(&mut self, at: Cell) -> u32 {
        let index = match self.index.get(&at) {
            Some(&index) => index,
            None => self.new_cell(at),
        };
        self.recent.0[Recent::slot(&at)] = (at, index);
        index
    }

    /// A full table still counts what it has cells for; the rest of a rank shares one cell.
    #[cold]
    fn new_cell(&mut self, at: Cell) -> u32 {
        let at = if self.index.len() < CELLS_MAX {
            self.communicators.meet(at.rank, at.comm, at.peer);
            at
        } else {
            Cell {
                // No definition ever resolves this key, so its traffic is reported as unresolved.
                comm: CommLocal::NONE,
                peer: peer::NONE,
                ..at
            }
        };
        *self.index.entry(at).or_insert_with(|| {
            self.cells.push((at, Directions::default()));
            self.cells.len() as u32 - 1
        })
    }

    /// The cells so far.
    pub fn rows(&self) -> RankRows<With, Directions> {
        let cells = self.cells.iter().filter(|(_, of)| of.messages() != 0);
        let rows = cells.map(|(cell, of)| ((cell.rank, (cell.comm, cell.peer)), *of));
        RankRows::new(rows.collect())
    }

    /// The cells so far; from now on it counts anew.
    pub fn take(&mut self) -> RankRows<With, Directions> {
        let rows = self.rows();
        // Most of them are used again.
        for (_, of) in &mut self.cells {
            *of = Directions::default();
        }
        rows
    }

    /// The matrix so far, as [`MatrixLeaf::table`] makes it.
    pub fn to_partial(&self, ranks: u32, side_max: u32) -> Matrix {
        self.table(&self.rows(), ranks, side_max)
    }

    /// The matrix of these cells in a world of `ranks` ranks, in at most `side_max` rows and
    /// columns ([`SIDE_MAX`] at most): all places that are asked the same have the same blocks.
    pub fn table(&self, rows: &RankRows<With, Directions>, ranks: u32, side_max: u32) -> Matrix {
        let block = ranks.div_ceil(side_max.clamp(1, SIDE_MAX)).max(1);
        let mut matrix = Matrix {
            block_ranks: block,
            ..Matrix::default()
        };

        for (rank, (comm, peer), directions) in rows.iter() {
            let peer = self.communicators.peer(rank, comm, peer);
            // A peer beyond the world comes from a damaged definition; it must not create a cell.
            let Some(peer) = peer.filter(|peer| peer.0 < ranks && rank.0 < ranks) else {
                let nowhere = match self.communicators.is_outside(rank, comm) {
                    true => &mut matrix.outside,
                    false => &mut matrix.unresolved,
                };
                nowhere.add(directions.sent);
                nowhere.add(directions.received);
                continue;
            };
            let (own, peer) = (rank.0 / block, peer.0 / block);
            if directions.sent.messages != 0 {
                matrix
                    .sent
                    .entry((own, peer))
                    .or_default()
                    .add(directions.sent);
            }
            if directions.received.messages != 0 {
                let cell = matrix.received.entry((peer, own)).or_default();
                cell.add(directions.received);
            }
        }

        matrix
    }
}

/// Two matrices have other blocks: they answer different questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherBlocks;

/// Adds the cells of `from`. The matrix of nobody fits every other.
///
/// # Errors
/// When they have other blocks; `into` is as it was.
pub fn merge(into: &mut Matrix, from: Matrix) -> Result<(), OtherBlocks> {
    if from == Matrix::default() {
        return Ok(());
    }
    if *into == Matrix::default() {
        *into = from;
        return Ok(());
    }
    cover(&mut into.past, from.past);

    // Blocks of different width have no cells in common.
    if into.block_ranks != from.block_ranks {
        return Err(OtherBlocks);
    }

    for (into, from) in [
        (&mut into.sent, from.sent),
        (&mut into.received, from.received),
    ] {
        for (key, traffic) in from {
            into.entry(key).or_default().add(traffic);
        }
    }

    into.unresolved.add(from.unresolved);
    into.outside.add(from.outside);
    Ok(())
}

#[inline(always)]
fn count(into: &mut Traffic, bytes: u64) {
    into.add(Traffic { messages: 1, bytes });
}

#[cfg(test)]
mod tests;
