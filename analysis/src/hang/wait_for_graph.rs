//! Builds the wait-for graph of a job: what each pending call needs, and from which ranks.

mod findings;

use super::deadlock_search::Node;
use super::pairs;
use super::surroundings::{SETTLED_NS, Surroundings};
use crate::groups::Members;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use invivo_proto::control::hang::{CollectiveCall, Doing, Hang, Operation, Partner, Pending, Side};
use invivo_proto::ids::{CommId, Rank};
use invivo_proto::mpi;

/// Members of a communicator that are written out. Of larger ones a receive from anybody may always
/// be met.
const MEMBERS_MAX: u64 = 4096;

/// The graph and what its nodes stand for: first the pending calls, then somebody who may come,
/// somebody who never will, and the collectives.
pub(super) struct WaitGraph<'a> {
    waits: &'a Hang,
    paired: Vec<Vec<bool>>,
    at: BTreeMap<Rank, usize>,
    finished: BTreeSet<Rank>,
    communicators: BTreeMap<CommId, Communicator>,
    pub(super) nodes: Vec<Node>,
}

struct Communicator {
    /// How many members it has, where that is known.
    size: Option<u64>,
    /// The members, where they are known and not too many.
    members: Option<BTreeSet<Rank>>,
    /// Every rank of the job is one.
    is_world: bool,
    /// Members by number, as far as they were reported.
    told: Option<Members>,
}

impl Communicator {
    fn has(&self, rank: Rank) -> bool {
        self.is_world
            || self
                .members
                .as_ref()
                .is_some_and(|members| members.contains(&rank))
    }

    fn rank(&self, number: i32) -> Option<Rank> {
        let number = u32::try_from(number).ok()?;
        if self.is_world {
            return Some(Rank(number));
        }
        self.told.as_ref()?.rank(number)
    }
}

impl<'a> WaitGraph<'a> {
    pub(super) fn new(waits: &'a Hang, around: &Surroundings<'_>) -> WaitGraph<'a> {
        let pending = &waits.pending;
        let finished = waits.classes.get(&Doing::Finished);
        let mut graph = WaitGraph {
            waits,
            paired: pairs::paired(pending),
            at: pending
                .iter()
                .enumerate()
                .map(|(n, one)| (one.rank, n))
                .collect(),
            finished: finished
                .map(|class| class.named.iter().copied().collect())
                .unwrap_or_default(),
            communicators: BTreeMap::new(),
            nodes: Vec::new(),
        };

        graph.learn(around);

        // One node for each collective and each part in it: all ranks with that part need the same.
        let mut collectives = BTreeMap::new();
        for one in pending {
            if let Doing::Collective(collective) = one.doing {
                // Two helper nodes lie between calls and collectives: `free` and the one that is
                // gone.
                let next = pending.len() + 2 + collectives.len();
                collectives
                    .entry((collective, graph.part(collective, one.rank)))
                    .or_insert(next);
            }
        }

        let mut nodes: Vec<Node> = pending
            .iter()
            .enumerate()
            .map(|(n, one)| match one.doing {
                // The snapshot is not taken at one instant: a young call may be over already.
                Doing::Messages(_) | Doing::Collective(_) if one.since_ns < SETTLED_NS => {
                    Node::Free
                }
                Doing::Collective(collective) => Node::Waits(vec![vec![
                    collectives[&(collective, graph.part(collective, one.rank))],
                ]]),
                Doing::Messages(_) => graph.messages(n, one),
                Doing::Finished => Node::Gone,
                _ => Node::Free,
            })
            .collect();
        nodes.extend([Node::Free, Node::Gone]);

        // The map is ordered by key, the nodes must be in the order of their numbers.
        let mut in_order: Vec<(usize, (CollectiveCall, CollectivePart))> =
            collectives.into_iter().map(|(what, n)| (n, what)).collect();
        in_order.sort_unstable();
        nodes.extend(
            in_order
                .into_iter()
                .map(|(_, (collective, part))| graph.collective(collective, part)),
        );
        graph.nodes = nodes;
        graph
    }

    /// Looks up the communicators of all pending operations.
    fn learn(&mut self, around: &Surroundings<'_>) {
        for one in &self.waits.pending {
            let of_calls = one.operations.iter().map(|operation| operation.comm);
            let of_collective = match one.doing {
                Doing::Collective(collective) => Some(collective.comm),
                _ => None,
            };
            for comm in of_calls.chain(of_collective) {
                self.communicators.entry(comm).or_insert_with(|| {
                    let is_world = comm == CommId::WORLD;
                    // The world has no group of its own: rank and member are the same number.
                    let told = (around.members)(comm).filter(|_| !is_world);
                    let size = if is_world {
                        Some(u64::from(around.ranks))
                    } else {
                        told.as_ref().map(Members::reach)
                    };
                    let listed = size.filter(|&size| size <= MEMBERS_MAX);
                    let rank = |number: u32| match &told {
                        Some(told) => told.rank(number),
                        None => Some(Rank(number)),
                    };
                    Communicator {
                        size,
                        members: listed.map(|size| (0..size as u32).filter_map(rank).collect()),
                        is_world,
                        told,
                    }
                });
            }
        }
    }

    fn free(&self) -> usize {
        self.waits.pending.len()
    }

    fn node(&self, rank: Rank) -> usize {
        match self.at.get(&rank) {
            Some(&at) => at,
            None if self.finished.contains(&rank) => self.free() + 1,
            None => self.free(),
        }
    }

    /// A call that waits for messages.
    fn messages(&self, n: usize, one: &Pending) -> Node {
        let waited = one
            .operations
            .iter()
            .zip(&self.paired[n])
            .filter(|(operation, _)| operation.waited);
        let mut needs: Vec<Vec<usize>> = waited
            .map(|(operation, &paired)| {
                if paired {
                    vec![self.free()]
                } else {
                    self.targets(one, operation)
                }
            })
            .collect();
        // MPI_Waitany and the like need any one of their requests: all targets become one need.
        if one.any {
            let mut targets = needs.concat();
            // One of the requests that were cut may complete.
            if one.more_operations || needs.is_empty() {
                targets.push(self.free());
            }
            needs = vec![targets];
        }

        Node::Waits(needs)
    }

    /// The nodes that can complete an operation without a partner.
    fn targets(&self, one: &Pending, operation: &Operation) -> Vec<usize> {
        let free = vec![self.free()];
        // A rank with more operations than it reported may have posted the partner.
        let of = |rank: Rank| match self.at.get(&rank) {
            Some(&at) if self.waits.pending[at].more_operations => self.free(),
            _ => self.node(rank),
        };

        match (operation.side, operation.peer) {
            // Nothing is known of the other side: to claim a deadlock here would be a guess.
            (Side::Other, _) | (_, Partner::Nobody | Partner::Unknown) => free,
            (_, Partner::Rank(rank)) => vec![of(rank)],
            (_, Partner::Any) => {
                let Some(members) = self
                    .communicators
                    .get(&operation.comm)
                    .and_then(|comm| comm.members.as_ref())
                else {
                    return free;
                };
                members
                    .iter()
                    .filter(|&&rank| rank != one.rank)
                    .map(|&rank| of(rank))
                    .collect()
            }
        }
    }

    /// What a rank's part in a collective is.
    fn part(&self, collective: CollectiveCall, rank: Rank) -> CollectivePart {
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
    fn collective(&self, collective: CollectiveCall, part: CollectivePart) -> Node {
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
    fn lacks(&self, collective: CollectiveCall, rank: Rank) -> Option<usize> {
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

    /// Members of a communicator with a fully reported call.
    fn members_told(&self, comm: CommId) -> impl Iterator<Item = &'a Pending> {
        let comm = &self.communicators[&comm];
        self.waits
            .pending
            .iter()
            .filter(move |one| comm.has(one.rank))
    }
}

/// The dependencies between the ranks of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CollectiveShape {
    OneToAll,
    AllToOne,
    AllToAll,
    /// Each rank needs some of those before it.
    Chain,
}

/// What one rank needs in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CollectivePart {
    Everybody,
    Root,
    Somebody,
}

fn shape(collective: CollectiveCall) -> CollectiveShape {
    let name = mpi::name(collective.region);
    // Large-count variants of MPI-4 synchronise like their originals.
    match name.strip_suffix("_c").unwrap_or(name) {
        "MPI_Bcast" | "MPI_Scatter" | "MPI_Scatterv" => CollectiveShape::OneToAll,
        "MPI_Gather" | "MPI_Gatherv" | "MPI_Reduce" => CollectiveShape::AllToOne,
        "MPI_Scan" | "MPI_Exscan" => CollectiveShape::Chain,
        _ => CollectiveShape::AllToAll,
    }
}

/// Whether a rank has come to a collective, or been there; nothing where that is not known.
fn has_come(collective: CollectiveCall, one: &Pending) -> Option<bool> {
    if one.doing == Doing::Collective(collective) {
        return Some(true);
    }
    match one.passed.get(&collective.comm) {
        Some(&next) => Some(next > collective.ordinal),
        // From some collectives ranks leave before others come; from those of all to all nobody
        // does.
        None => (shape(collective) == CollectiveShape::AllToAll).then_some(false),
    }
}
