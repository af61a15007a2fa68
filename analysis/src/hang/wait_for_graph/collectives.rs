//! What collectives need: who has come to one, and what a rank in it waits for.

use super::super::deadlock_search::Node;
use super::{CollectivePart, WaitGraph};
use alloc::vec;
use alloc::vec::Vec;
use invivo_proto::control::hang::{CollectiveCall, Doing, Operation, Pending};
use invivo_proto::ids::Rank;
use invivo_proto::mpi::{self, Needs};

impl WaitGraph<'_> {
    /// The node of a collective that a rank waits in.
    pub(super) fn collective_node(&self, collective: CollectiveCall, rank: Rank) -> usize {
        let part = self.part(collective, rank);
        let node = self.collectives.get(&(collective, part));
        node.copied().unwrap_or(self.free())
    }

    /// What a rank's part in a collective is.
    pub(super) fn part(&self, collective: CollectiveCall, rank: Rank) -> CollectivePart {
        let is_root = self.communicators[&collective.comm].rank(collective.root) == Some(rank);
        match (shape(collective), is_root) {
            (CollectiveShape::AllToAll, _) | (CollectiveShape::AllToOne, true) => {
                CollectivePart::Everybody
            }
            (CollectiveShape::OneToAll, false) => CollectivePart::Root,
            (CollectiveShape::OneToAll, true)
            | (CollectiveShape::AllToOne, false)
            | (CollectiveShape::Chain, _) => CollectivePart::Somebody,
        }
    }

    /// What a part in a collective needs of those who have not come.
    pub(super) fn collective(&self, collective: CollectiveCall, part: CollectivePart) -> Node {
        let comm = &self.communicators[&collective.comm];
        let free = vec![self.free()];
        if let (CollectivePart::Root, Some(root)) = (part, comm.rank(collective.root))
            && let Some(node) = self.lacks(collective, root)
        {
            return Node::Waits(vec![vec![node]]);
        }

        // An AND: each rank that has not come is a need of its own.
        if part == CollectivePart::Everybody {
            let told = self
                .waits
                .pending
                .iter()
                .map(|one| one.rank)
                .chain(self.finished.iter().copied());
            let lacking = told
                .filter(|&rank| comm.has(rank))
                .filter_map(|rank| self.lacks(collective, rank));
            return Node::Waits(lacking.map(|node| vec![node]).collect());
        }

        // A rank that is still in the call needs at least one of those who have not come; nobody
        // knows which. Where all have come it is on its way.
        let members = comm.members.iter().flatten();
        let lacking: Vec<usize> = members
            .filter_map(|&rank| self.lacks(collective, rank))
            .collect();
        let unknown = lacking.is_empty();
        Node::Waits(vec![if unknown { free } else { lacking }])
    }

    /// The node of a rank that a collective lacks, or nothing where it has come.
    pub(super) fn lacks(&self, collective: CollectiveCall, rank: Rank) -> Option<usize> {
        match self.at.get(&rank) {
            Some(&at) => match has_come(collective, &self.waits.pending[at]) {
                Some(true) => None,
                Some(false) => Some(at),
                // Its position in this communicator is unknown, so it may have passed the call.
                None => Some(self.free()),
            },
            // Out of a rooted one it may have gone long ago.
            None if self.finished.contains(&rank)
                && shape(collective) != CollectiveShape::AllToAll =>
            {
                Some(self.free())
            }
            None => Some(self.node(rank)),
        }
    }
}

/// The dependencies between the ranks of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectiveShape {
    OneToAll,
    AllToOne,
    AllToAll,
    /// Each rank needs some of those before it.
    Chain,
}

pub(super) fn shape(collective: CollectiveCall) -> CollectiveShape {
    let name = mpi::name(collective.region);
    // Large-count variants of MPI-4 synchronise like their originals.
    match name.strip_suffix("_c").unwrap_or(name) {
        // Of those that move data in a file, some ranks may come back before others come.
        _ if mpi::needs(collective.region) == Needs::SomeSharers => CollectiveShape::Chain,
        "MPI_Bcast" | "MPI_Scatter" | "MPI_Scatterv" | "MPI_Ibcast" | "MPI_Iscatter"
        | "MPI_Iscatterv" => CollectiveShape::OneToAll,
        "MPI_Gather" | "MPI_Gatherv" | "MPI_Reduce" | "MPI_Igather" | "MPI_Igatherv"
        | "MPI_Ireduce" => CollectiveShape::AllToOne,
        "MPI_Scan" | "MPI_Exscan" | "MPI_Iscan" | "MPI_Iexscan" => CollectiveShape::Chain,
        _ => CollectiveShape::AllToAll,
    }
}

/// Whether a rank has come to a collective, or been there; nothing where that is not known.
pub(super) fn has_come(collective: CollectiveCall, one: &Pending) -> Option<bool> {
    if one.doing == Doing::Collective(collective) {
        return Some(true);
    }
    // It may have begun another one in its place.
    let begun = one.operations.iter().filter_map(Operation::collective);
    let mut in_its_place = begun.filter(|begun| {
        (begun.comm, begun.ordinal, begun.shared)
            == (collective.comm, collective.ordinal, collective.shared)
    });
    if let Some(begun) = in_its_place.next() {
        return Some(begun == collective);
    }
    let next = match collective.shared {
        0 => one.passed.get(&collective.comm),
        shared => one.passed_shared.get(&(collective.comm, shared)),
    };
    let has_come = match next {
        Some(&next) => Some(next > collective.ordinal),
        // From some collectives ranks leave before others come, and non-blocking ones they only
        // begin; from those of all to all nobody leaves.
        None => {
            let is_blocking = mpi::needs(collective.region) != Needs::Nothing;
            let is_left_by_nobody = shape(collective) == CollectiveShape::AllToAll;
            (is_blocking && is_left_by_nobody).then_some(false)
        }
    };
    // A thread beside the one that is told may be there.
    has_come.filter(|has_come| *has_come || one.threads.in_mpi == 0)
}
